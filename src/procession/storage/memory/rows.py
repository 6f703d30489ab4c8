"""The rows of the reference store: plain mutable values, found by key. Everything that a real store keeps in tables."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from procession.core.effect import DoubtPolicy, EffectDraft, EffectState, Receipt
from procession.core.event import EventState, NewEvent, Quarantined, Sighting
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, QuarantineId, TenantId, WorkerId
from procession.core.lane import Phase, Side
from procession.ports.console import AuditRow, TryView
from procession.ports.directory import Snapshot

FOREVER = datetime.max.replace(tzinfo=UTC)

NOBODY = WorkerId("")

LaneKey = tuple[TenantId, LaneId, Side]


@dataclass(slots=True, kw_only=True)
class EventRow:
    new: NewEvent
    state: EventState
    accepted_at: datetime
    seq: int | None = None
    placed_at: datetime | None = None
    """When it took its seq: windows count from here."""
    late: bool = False
    held_until: datetime | None = None
    ended_at: datetime | None = None
    reason: str = ""
    turn: EventId | None = None


@dataclass(slots=True, kw_only=True)
class TurnRow:
    """What was tried for one turn, and when it ended."""

    events: tuple[EventId, ...]
    first_try_at: datetime
    log: list[TryView] = field(default_factory=list)
    ended_at: datetime | None = None


@dataclass(slots=True, kw_only=True)
class LaneRow:
    """One side of one lane."""

    tenant: TenantId
    lane: LaneId
    side: Side
    key: str
    channel: ChannelName
    last: int = 0
    """The newest seq (or oseq) given out."""
    cursor: int = 0
    """All up to here have ended."""
    phase: Phase = Phase.IDLE
    epoch: int = 0
    worker: WorkerId = NOBODY
    lease_until: datetime | None = None
    wake_at: datetime | None = None
    """When a sweep has to look at it again."""
    ready_pos: int = 0
    ready_since: datetime | None = None
    backoff_until: datetime | None = None
    parked: str | None = None
    parked_for: EffectId | None = None
    """The doubt that it is parked for."""
    paused: bool = False
    paused_until: datetime = FOREVER
    pause_cover: int = 0
    """Effects up to this oseq pass the pause."""
    pause_keep: bool = False
    # The open turn, TURNS only.
    frozen: tuple[EventId, ...] = ()
    tries: int = 0
    deaths: int = 0
    deaths_alone: int = 0
    try_open: bool = False
    try_alone: bool = False
    try_at: datetime | None = None
    settled_epoch: int = 0
    settled_turn: EventId | None = None
    settled_send: tuple[EffectId, int] | None = None
    """SENDS: the effect and attempt whose verdict was kept under `settled_epoch`."""
    kept_on: bool = False
    """The settlement of `settled_epoch` claimed the next turn."""
    state: bytes | None = None
    replays: list[EventId] = field(default_factory=list)
    order_last: int | None = None
    """The source's number, version or time of the newest released event."""

    @property
    def id(self) -> LaneKey:
        return self.tenant, self.lane, self.side


@dataclass(slots=True, kw_only=True)
class EffectRow:
    tenant: TenantId
    draft: EffectDraft
    turn: EventId
    oseq: int
    asked_at: datetime
    changed_at: datetime
    state: EffectState = EffectState.PENDING
    attempts: int = 0
    tries: int = 0
    not_before: datetime | None = None
    """PENDING: not begun before. DOUBT and PROBED: not probed before."""
    doubt_until: datetime | None = None
    doubt_parked: bool = False
    confirmed_at: datetime | None = None
    armed_epoch: int = 0
    receipt: Receipt = Receipt.NONE
    failed: bool = False
    ref: str | None = None
    reason: str = ""
    resends: int = 0
    unproven: bool = False
    """PENDING, and an earlier attempt may have been taken (D8)."""
    gate_expired: bool = False


@dataclass(slots=True, kw_only=True)
class ReminderRow:
    tenant: TenantId
    lane: LaneId
    lane_key: str
    channel: ChannelName
    name: str
    generation: int
    due_at: datetime
    payload: bytes


@dataclass(slots=True, kw_only=True)
class TenantRow:
    """What fairness needs to know of a tenant, for one side."""

    vtime: float = 0.0
    ready: int = 0
    held: int = 0


@dataclass(slots=True, kw_only=True)
class Tables:
    """Everything that survives."""

    era: int = 1
    newest: datetime | None = None
    """The newest moment that the store's clock has shown."""
    sending_paused: bool = False
    ready_pos: int = 0
    vclock: dict[Side, float] = field(default_factory=lambda: {Side.TURNS: 0.0, Side.SENDS: 0.0})
    duplicates: dict[TenantId, int] = field(default_factory=dict)
    doubts_ended: Counter[DoubtPolicy] = field(default_factory=Counter)
    """What became of doubts since the last sweep that says so."""
    forgotten: Counter[tuple[TenantId, str]] = field(default_factory=Counter)
    """What prune took away, by tenant and field of `Counts`: what has ended stays counted."""
    lanes: dict[LaneKey, LaneRow] = field(default_factory=dict)
    events: dict[tuple[TenantId, EventId], EventRow] = field(default_factory=dict)
    places: dict[tuple[TenantId, LaneId, int], EventId] = field(default_factory=dict)
    turns: dict[tuple[TenantId, EventId], TurnRow] = field(default_factory=dict)
    steps: dict[tuple[TenantId, EventId], dict[tuple[str, int], bytes]] = field(default_factory=dict)
    effects: dict[tuple[TenantId, EffectId], EffectRow] = field(default_factory=dict)
    oplaces: dict[tuple[TenantId, LaneId, int], EffectId] = field(default_factory=dict)
    refs: dict[tuple[TenantId, ChannelName, str], EffectId] = field(default_factory=dict)
    early: dict[tuple[TenantId, ChannelName, str], list[tuple[datetime, Sighting]]] = field(default_factory=dict)
    """Sightings by ref that came before the call's own answer."""
    reminders: dict[tuple[TenantId, LaneId, str], ReminderRow] = field(default_factory=dict)
    generations: dict[tuple[TenantId, LaneId, str], int] = field(default_factory=dict)
    quarantine: dict[QuarantineId, tuple[datetime, Quarantined]] = field(default_factory=dict)
    audit: list[AuditRow] = field(default_factory=list)
    tenants: dict[tuple[TenantId, Side], TenantRow] = field(default_factory=dict)
    snapshot: Snapshot = field(default_factory=Snapshot)

    def tenant(self, tenant: TenantId, side: Side) -> TenantRow:
        return self.tenants.setdefault((tenant, side), TenantRow())

    def lane(self, tenant: TenantId, lane: LaneId, side: Side, key: str, channel: ChannelName) -> LaneRow:
        """The row, made on first use."""
        row = self.lanes.get((tenant, lane, side))
        if row is None:
            row = LaneRow(tenant=tenant, lane=lane, side=side, key=key, channel=channel)
            self.lanes[row.id] = row
        return row

    def head_effect(self, row: LaneRow) -> EffectRow | None:
        effect = self.oplaces.get((row.tenant, row.lane, row.cursor + 1))
        return None if effect is None else self.effects[row.tenant, effect]


def plus(now: datetime, duration: timedelta | None) -> datetime:
    """`now` and so much; None, and what is beyond the calendar, is for ever."""
    if duration is None:
        return FOREVER
    try:
        return now + duration
    except OverflowError:
        return FOREVER
