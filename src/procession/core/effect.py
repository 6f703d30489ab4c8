"""An effect: something that a turn asks to be done outside, in order, once. Its states and what may follow what.

1. PENDING until it is begun; ARMED from before the first byte; after that only evidence moves it.
2. A clear answer ends it (CONFIRMED, REFUSED) or, where it is known not to have been taken, makes it PENDING again.
3. Anything unclear after arming is DOUBT: also a crash, and a lane that was taken over. Nothing leads from DOUBT back
to
   PENDING but proof (ABSENT), a provider that drops repeats (KEYED), or the tenant's or an operator's declared RESEND.
4. A sighting proves acceptance from any state, since only an accepted send can be seen.
5. What has ended never moves again; receipts climb beside the state and never fall.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import IntEnum, StrEnum
from typing import Final

from procession.core.errors import IllegalMove
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, TenantId


class EffectState(StrEnum):
    PENDING = "pending"
    ARMED = "armed"
    DOUBT = "doubt"
    CONFIRMED = "confirmed"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"


class EffectMove(StrEnum):
    """What can happen to an effect."""

    ARM = "arm"
    CONFIRM = "confirm"
    DEFER = "defer"
    REFUSE = "refuse"
    DOUBT = "doubt"
    ABSENT = "absent"
    SIGHT = "sight"
    RESEND = "resend"
    SKIP = "skip"
    CANCEL = "cancel"


_S = EffectState
_M = EffectMove

EFFECT_TABLE: Final[dict[tuple[EffectState, EffectMove], EffectState]] = {
    (_S.PENDING, _M.ARM): _S.ARMED,
    (_S.PENDING, _M.REFUSE): _S.REFUSED,
    (_S.PENDING, _M.CANCEL): _S.CANCELLED,
    (_S.PENDING, _M.SKIP): _S.SKIPPED,
    (_S.PENDING, _M.DOUBT): _S.DOUBT,
    (_S.PENDING, _M.SIGHT): _S.CONFIRMED,
    (_S.ARMED, _M.CONFIRM): _S.CONFIRMED,
    (_S.ARMED, _M.DEFER): _S.PENDING,
    (_S.ARMED, _M.REFUSE): _S.REFUSED,
    (_S.ARMED, _M.DOUBT): _S.DOUBT,
    (_S.ARMED, _M.RESEND): _S.PENDING,
    (_S.ARMED, _M.SIGHT): _S.CONFIRMED,
    (_S.DOUBT, _M.CONFIRM): _S.CONFIRMED,
    (_S.DOUBT, _M.SIGHT): _S.CONFIRMED,
    (_S.DOUBT, _M.ABSENT): _S.PENDING,
    (_S.DOUBT, _M.RESEND): _S.PENDING,
    (_S.DOUBT, _M.REFUSE): _S.REFUSED,
    (_S.DOUBT, _M.SKIP): _S.SKIPPED,
    (_S.DOUBT, _M.DOUBT): _S.DOUBT,
}
"""(PENDING, DOUBT) is the new era: after a store lost writes, an arming may be among the lost. (ARMED, RESEND) is
KEYED."""

ENDED: Final = frozenset({_S.CONFIRMED, _S.REFUSED, _S.CANCELLED, _S.SKIPPED})


def moved(state: EffectState, move: EffectMove) -> EffectState:
    """The state after the move; an illegal move raises and changes nothing."""
    try:
        return EFFECT_TABLE[state, move]
    except KeyError:
        raise IllegalMove(f"an effect that is {state} cannot {move}") from None


class Receipt(IntEnum):
    """How far the provider says that it got. The order is the ladder."""

    NONE = 0
    ACCEPTED = 1
    SENT = 2
    DELIVERED = 3
    READ = 4


class Repeatability(StrEnum):
    """What a second call of the same effect does at the provider."""

    KEYED = "keyed"
    """The provider drops repeats of our key."""
    PROBED = "probed"
    """It does not, but can be asked whether it has taken the first."""
    UNSAFE = "unsafe"
    """Neither: a repeat may be a duplicate."""


class DoubtPolicy(StrEnum):
    """What the tenant wants when a doubt was not proven within its wait."""

    PARK = "park"
    RESEND = "resend"
    SKIP = "skip"


class RefusedPolicy(StrEnum):
    """What a refusal does to the effects behind it."""

    CONTINUE = "continue"
    PARK = "park"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What an effect must have reached before the next one of its conversation is begun."""

    receipt: Receipt = Receipt.ACCEPTED
    wait_max: timedelta = timedelta(seconds=5)
    """So long after its acceptance the next goes anyway; counted and shown."""
    gap: timedelta = timedelta(0)
    """The least time between its acceptance and the next."""
    unshown: timedelta | None = None
    """Instead of `wait_max`, if shorter, while the channel has never shown a status: nothing would come to wait for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How an effect is to be sent: fixed when it is asked for, so that a later change of settings renames nothing."""

    repeatability: Repeatability = Repeatability.UNSAFE
    gate: Gate = Gate()
    doubt: DoubtPolicy = DoubtPolicy.PARK
    doubt_wait: timedelta = timedelta(seconds=60)
    resends_max: int = 3
    """RESEND only: after so many it is parked instead, since each may have been a duplicate."""
    on_refused: RefusedPolicy = RefusedPolicy.CONTINUE
    tries_max: int = 20
    answer_within: timedelta = timedelta(hours=24)
    """Older than this when its turn to be sent comes: refused, not sent."""
    window: timedelta | None = None
    """Only so long after its conversation was last heard from (`NewEvent.hears`): refused, not sent, when that is
    over. None: at any time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EffectDraft:
    """An effect as a turn asks for it. The first content of an id wins: a second try of the handler adds nothing."""

    id: EffectId
    key: str
    channel: ChannelName
    lane: LaneId
    """The conversation whose order it keeps; usually that of the turn."""
    lane_key: str
    action: str
    payload: bytes
    terms: Terms
    aliases: tuple[str, ...] = ()
    """Names of the conversation, as in `NewEvent`: the store knows better than `lane` where it is by now."""
    about_at: datetime | None = None
    """When what it answers happened: its age counts from there, if that is earlier than when it is asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """An effect as the store has it."""

    tenant: TenantId
    id: EffectId
    channel: ChannelName
    lane: LaneId
    lane_key: str
    oseq: int
    turn: EventId
    key: str
    action: str
    payload: bytes
    terms: Terms
    state: EffectState
    attempts: int
    """Tries begun so far; the number of the newest."""
    tries: int
    """Of these, the ones that count."""
    asked_at: datetime
    receipt: Receipt = Receipt.NONE
    failed: bool = False
    ref: str | None = None
    reason: str = ""
    resends: int = 0
    """How often it was given again on declared risk."""
