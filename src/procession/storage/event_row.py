"""An event's row beside its lane's, as the console reads them."""

from dataclasses import dataclass
from typing import Any, Self

from procession.core.event import EventState


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """Columns in the order of `:event` in sql/console.sql."""

    tenant: int
    tenant_name: str
    id: str
    lane: int
    lane_name: str
    lane_key: str
    seq: int | None
    state: str | None
    channel: str
    provider_id: str
    kind: str
    accepted_at: int
    late: int
    ended_at: int | None
    reason: str | None
    turn: str | None
    held_until: int | None
    cursor: int
    phase: str
    due_at: int | None
    worker: str
    parked: str | None
    deaths: int
    lane_turn: str | None
    turn_last: int | None
    aside_seq: int | None
    tries: int
    try_open: int
    try_at: int | None
    replaying: int
    merging: int

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Self:
        return cls(**dict(zip(cls.__slots__, row, strict=True)))

    @property
    def shown_state(self) -> EventState:
        """Only what is exceptional is written on the row; the cursor says the rest."""
        if self.state == "replaying":
            return EventState.WAITING
        if self.state is not None:
            return EventState(self.state)
        assert self.seq is not None
        return EventState.DONE if self.seq <= self.cursor else EventState.WAITING

    @property
    def open_events(self) -> int:
        """How many events the lane's open turn has."""
        if self.lane_turn is None or self.turn_last is None:
            return 0
        return 1 if self.aside_seq is not None else self.turn_last - self.cursor

    @property
    def in_open_turn(self) -> bool:
        if self.lane_turn is None or self.turn_last is None or self.seq is None:
            return False
        if self.aside_seq is not None:
            return self.seq == self.aside_seq
        return self.cursor < self.seq <= self.turn_last
