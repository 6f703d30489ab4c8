"""The read side and the operator's hand. The CLI, the API and the dashboard are faces of it.

K1. Every verb that changes something names its actor and leaves an audit row in the same write.
K2. Verbs obey the state tables: what cannot be is a `BadRequest` whose text says what can be done instead.
K3. Nothing answers a body unless it is asked for by id (`aside_show`, `quarantine_show`), and nothing ever answers a
    secret.
K4. A verb that is repeated (two operators, a double click) changes nothing the second time and says so.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from procession.core.effect import EffectState, Receipt
from procession.core.event import EventState, Intake
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, QuarantineId, TenantId
from procession.core.lane import Phase, Side


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectView:
    id: EffectId
    tenant: TenantId
    channel: ChannelName
    lane: LaneId
    oseq: int
    turn: EventId
    key: str
    action: str
    state: EffectState
    attempts: int
    receipt: Receipt
    failed: bool
    ref: str | None
    reason: str
    asked_at: datetime
    changed_at: datetime
    waits_for: str
    """In words: `its turn behind 2 others`, `the gate of #3 (delivered)`, `proof until 12:03:10`, `an operator`, ``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryView:
    """One try that did not end in Advance, or the one that is running."""

    number: int
    at: datetime
    how: str
    """`running`, `delayed`, `died`, `died alone`, `parked`, `set aside`, `released`."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EventView:
    """The life of one event."""

    id: EventId
    tenant: TenantId
    channel: ChannelName
    provider_id: str
    kind: str
    lane: LaneId
    lane_key: str
    seq: int | None
    state: EventState
    late: bool
    accepted_at: datetime
    ended_at: datetime | None
    reason: str
    turn: EventId | None
    tries: tuple[TryView, ...]
    effects: tuple[EffectView, ...]
    waits_for: str
    waits_since: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneView:
    tenant: TenantId
    lane: LaneId
    lane_key: str
    channel: ChannelName
    side: Side
    phase: Phase
    waiting: int
    """Events, or effects, that have not ended."""
    cursor: int
    epoch: int
    tries: int
    deaths: int
    reason: str
    wake_at: datetime | None
    paused_until: datetime | None
    """datetime.max (UTC) for a pause without end."""
    worker: str
    oldest_at: datetime | None
    merged_into: LaneId | None = None
    """The lane that goes on for this one; what this one still shows is coming to its end (ports.store X2)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AsideView:
    """A set-aside event (a dead letter)."""

    tenant: TenantId
    id: EventId
    kind: str
    lane: LaneId
    lane_key: str
    seq: int
    at: datetime
    tries: int
    reason: str
    payload: bytes | None = None
    """Only from `aside_show`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineView:
    id: QuarantineId
    endpoint: str
    at: datetime
    reason: str
    body_bytes: int
    body: bytes | None = None
    """Only from `quarantine_show`."""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    at: datetime
    actor: str
    tenant: TenantId | None
    verb: str
    about: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """How much there is, per tenant or in all. Cheap enough to be asked each second.

    What has ended (done, dropped, confirmed, refused, …) and `accepted` are counted since the store was made, also
    after a prune; the others as they are now.
    """

    accepted: int = 0
    waiting: int = 0
    held: int = 0
    done: int = 0
    set_aside: int = 0
    dropped: int = 0
    quarantined: int = 0
    lanes: int = 0
    lanes_parked: int = 0
    lanes_paused: int = 0
    effects_pending: int = 0
    effects_confirmed: int = 0
    effects_refused: int = 0
    effects_in_doubt: int = 0
    effects_resent: int = 0
    effects_skipped: int = 0
    gates_expired: int = 0
    duplicates: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class HaltView:
    """Sends that are held back, of a channel or (channel None) of a whole tenant."""

    tenant: TenantId
    channel: ChannelName | None
    since: datetime
    until: datetime | None
    """None: until it is released."""
    reason: str


class Console(Protocol):
    # --- reading ---
    async def counts(self, tenant: TenantId | None = None) -> Counts: ...

    async def why(self, what: str, tenant: TenantId | None = None) -> tuple[EventView, ...]:
        """The life of whatever is called so: an event's id, a provider's id, an effect's id, or a provider's reference
        of one. Several, if several tenants have it and none was named.
        """
        ...

    async def lanes(
        self, tenant: TenantId | None = None, phase: Phase | None = None, side: Side | None = None, limit: int = 50
    ) -> tuple[LaneView, ...]:
        """Lanes that are not idle (or those of the phase asked for), the one that waits longest first."""
        ...

    async def lane(self, tenant: TenantId, lane: str) -> tuple[tuple[LaneView, ...], tuple[EventView, ...]]:
        """Both sides of a lane, by its id or its key, and its unfinished events, first the head."""
        ...

    async def asides(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[AsideView, ...]: ...

    async def aside_show(self, tenant: TenantId, event: EventId, *, actor: str) -> AsideView: ...

    async def quarantine(self, limit: int = 50) -> tuple[QuarantineView, ...]: ...

    async def quarantine_show(self, kept: QuarantineId, *, actor: str) -> QuarantineView: ...

    async def doubts(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[EffectView, ...]: ...

    async def audit(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[AuditRow, ...]: ...

    # --- the operator's hand ---
    async def pause(
        self,
        tenant: TenantId,
        lane: LaneId,
        duration: timedelta | None,
        *,
        actor: str,
        keep_effects: bool = False,
        reason: str = "",
    ) -> bool:
        """Stop both sides: no turn is claimed, no effect begun, until the duration is over or `resume`. A running turn
        may settle; an armed effect comes to its end. Effects that waited are cancelled at the end, unless kept. Lanes
        that are one by now are paused and resumed together (ports.store X1). False: paused already so.
        """
        ...

    async def resume(self, tenant: TenantId, lane: LaneId, *, actor: str) -> bool:
        """End a pause, and a park: the head is tried again, its tries counted from zero. False: there was neither."""
        ...

    async def skip(
        self, tenant: TenantId, lane: LaneId, *, actor: str, side: Side = Side.TURNS
    ) -> EventId | EffectId | None:
        """Pass the head of a lane that nobody holds: the turn's events become SKIPPED, or the effect does. Of lanes
        that are one by now, the head that has to come to its end first. None: no head.
        """
        ...

    async def replay(self, tenant: TenantId, event: EventId, *, actor: str) -> bool:
        """Play a set-aside event once more: one more try of the same event, as its own turn, before whatever waits in
        its lane (it keeps its seq; the lane's order among replayed ones is that of their seqs). If that lane was
        merged, it comes last in the one that goes on (ports.store X2). Its remembered steps hold. Effects that its
        earlier tries flushed are not repeated. False: it is not set aside (any more).
        """
        ...

    async def aside_drop(self, tenant: TenantId, event: EventId, *, actor: str) -> bool:
        """Give a set-aside event up: it becomes SKIPPED."""
        ...

    async def quarantine_drop(self, kept: QuarantineId, *, actor: str) -> bool: ...

    async def quarantine_routed(self, kept: QuarantineId, intake: Intake, *, actor: str) -> bool:
        """Accept what was made of a quarantined body (an ordinary accept: dedup, the seq of now) and remove it, in one
        write.
        """
        ...

    async def resolve(self, tenant: TenantId, effect: EffectId, how: str, *, actor: str) -> bool:
        """End a doubt by hand. `sent`: CONFIRMED; `resend`: PENDING again, `resends` + 1 (may duplicate); `skip`:
        SKIPPED. A conversation that is parked for it goes on. False: it is not in doubt (any more).
        """
        ...

    async def halts(self, tenant: TenantId | None = None) -> tuple[HaltView, ...]:
        """What is held back now (begin B4), the oldest first."""
        ...

    async def shown(self, tenant: TenantId | None = None) -> frozenset[tuple[TenantId, ChannelName]]:
        """Channels that have ever shown a status (A8): of any other a gate may be shorter than it says (D11)."""
        ...

    async def release(self, tenant: TenantId, channel: ChannelName | None = None, *, actor: str) -> bool:
        """End what holds the channel back, or (None) the tenant with all its channels: lanes that wait for it are
        looked at at once. False: nothing did.
        """
        ...

    async def cancel(self, tenant: TenantId, effect: EffectId, *, actor: str) -> bool:
        """Cancel an effect that was not begun. False: it was, or has ended."""
        ...

    async def sending(self, *, paused: bool, actor: str) -> bool:
        """Stop or go on with all sending of this store (a new era stops it). False: it was so already."""
        ...

    async def new_era(self, *, actor: str, reason: str) -> int:
        """The store may have lost writes (a restored file): from now on every old lease is void, sending is paused,
        and each effect that is pending or armed is in doubt. Answers the era.
        """
        ...
