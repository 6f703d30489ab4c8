"""The rows of the reference store: plain mutable values, found by key. Everything that a real store keeps in tables."""

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from procession.core.effect import DoubtPolicy, EffectDraft, EffectState, Receipt
from procession.core.event import EventState, NewEvent, Quarantined, Sighting
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, QuarantineId, TenantId, WorkerId
from procession.core.lane import Phase, Side
from procession.core.pace import Burst
from procession.ports.console import AuditRow, TryView
from procession.ports.directory import Snapshot
from procession.ports.vault import Sealed, SecretName, WrappedKey

FOREVER = datetime.max.replace(tzinfo=UTC)

NOBODY = WorkerId("")

NO_BURST = Burst(since=0, count=0)

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
    """TURNS: of the head. SENDS: until the conversation has paid for its burst."""
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
    heard_at: datetime | None = None
    """TURNS: when its subject last spoke."""
    named: bool = False
    """TURNS: names have led to it."""
    merged_into: LaneId | None = None
    """The lane that goes on for it (X1). What it has open itself comes to its end here."""
    closing: bool = False
    """It was merged and has not come to its end: `merged_into` counts it."""
    merging: int = 0
    """How many were merged into this one and have not come to their end (X3)."""
    burst: Burst = NO_BURST
    """SENDS: what the conversation owes."""

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
    unseen: bool = False
    """CONFIRMED while its channel had never shown a status (D11)."""
    slot_at: datetime | None = None
    """PENDING: its place in the channel's line (B5)."""


@dataclass(slots=True, kw_only=True)
class OutletRow:
    """A channel, or (channel None) a tenant with all its channels: what is known of its sends as a whole."""

    tenant: TenantId
    channel: ChannelName | None
    shown: bool = False
    """A status of SENT or more, or a failed one, was ever sighted."""
    line: int = 0
    """Where an even pace stands, in microseconds since 1970: `core.pace.channel_slot`."""
    held_from: datetime | None = None
    """None: it was never held back."""
    held_until: datetime = FOREVER
    """In the past: that is over. FOREVER: until it is released."""
    held_reason: str = ""


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
class NameRow:
    """Where a name leads."""

    lane: LaneId
    newest: int
    """Grows: which of a lane's names was heard last."""
    retired_at: datetime | None = None


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
    outlets: dict[tuple[TenantId, ChannelName | None], OutletRow] = field(default_factory=dict)
    reminders: dict[tuple[TenantId, LaneId, str], ReminderRow] = field(default_factory=dict)
    generations: dict[tuple[TenantId, LaneId, str], int] = field(default_factory=dict)
    names: dict[tuple[TenantId, ChannelName, str], NameRow] = field(default_factory=dict)
    name_no: int = 0
    quarantine: dict[QuarantineId, tuple[datetime, Quarantined]] = field(default_factory=dict)
    audit: list[AuditRow] = field(default_factory=list)
    tenants: dict[tuple[TenantId, Side], TenantRow] = field(default_factory=dict)
    snapshot: Snapshot = field(default_factory=Snapshot)
    secrets: dict[tuple[TenantId, SecretName], Sealed] = field(default_factory=dict)
    sealing_keys: dict[tuple[TenantId, int], WrappedKey] = field(default_factory=dict)

    def tenant(self, tenant: TenantId, side: Side) -> TenantRow:
        return self.tenants.setdefault((tenant, side), TenantRow())

    def lane(self, tenant: TenantId, lane: LaneId, side: Side, key: str, channel: ChannelName) -> LaneRow:
        """The row, made on first use."""
        row = self.lanes.get((tenant, lane, side))
        if row is None:
            row = LaneRow(tenant=tenant, lane=lane, side=side, key=key, channel=channel)
            self.lanes[row.id] = row
        return row

    def heir(self, row: LaneRow) -> LaneRow:
        """The same side of the lane that takes what is new for this one: itself, unless it was merged."""
        while row.merged_into is not None:
            row = self.lanes[row.tenant, row.merged_into, row.side]
        return row

    def family(self, row: LaneRow) -> list[LaneRow]:
        """The same side of all lanes that are one by now: those that have not come to their end, and, as the last, the
        one that goes on.
        """
        heir = self.heir(row)
        return [*self._closing_into(heir), heir]

    def both_families(self, turns: LaneRow) -> list[LaneRow]:
        """The same of both sides, made on first use."""
        heir = self.heir(turns)
        sends = self.lane(heir.tenant, heir.lane, Side.SENDS, heir.key, heir.channel)
        return [*self.family(heir), *self.family(sends)]

    def _closing_into(self, row: LaneRow) -> list[LaneRow]:
        if not row.merging:
            return []
        own = [
            other
            for other in self.lanes.values()
            if other.closing and other.merged_into == row.lane and (other.tenant, other.side) == (row.tenant, row.side)
        ]
        return [each for other in own for each in (*self._closing_into(other), other)]

    def outlet(self, tenant: TenantId, channel: ChannelName | None) -> OutletRow:
        """The row, made on first use."""
        return self.outlets.setdefault((tenant, channel), OutletRow(tenant=tenant, channel=channel))

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
