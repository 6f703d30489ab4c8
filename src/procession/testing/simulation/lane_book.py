"""One lane's turns, in the auditor's books."""

from dataclasses import dataclass, field
from datetime import datetime

from procession.core.ids import EventId, LaneId, TenantId
from procession.core.lane import Lease


@dataclass(slots=True, kw_only=True, eq=False)
class LaneBook:
    tenant: TenantId
    lane: LaneId
    epoch: int = 0
    held_until: datetime | None = None
    worker: str = ""
    turn: tuple[EventId, ...] = ()
    tries: int = 0
    deaths: int = 0
    deaths_alone: int = 0
    open_try: bool = False
    open_alone: bool = False
    cursor: int = 0
    replays: set[EventId] = field(default_factory=set)
    replayed: bool = False
    settled: tuple[int, EventId] | None = None
    state: bytes | None = None
    steps: dict[EventId, dict[tuple[str, int], bytes]] = field(default_factory=dict)
    parked: bool = False
    paused_until: datetime | None = None
    not_before: datetime | None = None
    played: int = 0
    """Turns that advanced after a handler had played them."""

    def is_held(self, lease: Lease, era: int) -> bool:
        return self.held_until is not None and lease.epoch == self.epoch and lease.era == era

    def let_go(self) -> None:
        self.held_until, self.worker, self.open_try, self.open_alone = None, "", False, False

    def end_turn(self) -> None:
        self.turn, self.not_before = (), None
        self.tries = self.deaths = self.deaths_alone = 0
