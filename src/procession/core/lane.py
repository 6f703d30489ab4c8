"""A lane: one subject's events, played strictly one turn after the other; and, as its second side, its effects.

Both sides have the same phases, the same lease, the same epoch, and the same fairness:

1. A lane with something to do that is allowed to be done now is READY. Claiming makes it HELD, raises its epoch, and
names a
   lease; nobody else can claim it until it is settled, released, or its lease has run out and was swept.
2. Whoever holds an old epoch can change nothing: each write names (era, epoch), and the store compares in the same
statement.
3. WAITING has a moment at which it is looked at again (backoff, window, gate, doubt), or another lane whose end it
   waits for (a merge). PAUSED has a moment too, or only an operator ends it. PARKED has none: only an operator resumes
   it.
4. A lane that is not HELD rests in exactly the phase that `resting` computes from its facts; there is no other rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from procession.core.errors import IllegalMove
from procession.core.ids import LaneId, TenantId, WorkerId


class Side(StrEnum):
    """Which of a lane's two sequences."""

    TURNS = "turns"
    SENDS = "sends"


class Phase(StrEnum):
    IDLE = "idle"
    READY = "ready"
    HELD = "held"
    WAITING = "waiting"
    PAUSED = "paused"
    PARKED = "parked"


class LaneMove(StrEnum):
    """What can happen to a lane."""

    ACCEPT = "accept"
    """Something new was appended: an event, a reminder that came due, an effect."""
    CLAIM = "claim"
    SETTLE = "settle"
    RELEASE = "release"
    SWEEP = "sweep"
    """Its lease ran out, or its moment came."""
    SIGHT = "sight"
    PAUSE = "pause"
    RESUME = "resume"
    SKIP = "skip"
    RESOLVE = "resolve"
    MERGE = "merge"
    """Its subject turned out to be another's too: one of the two lanes goes on, when the other has come to its end."""


_P = Phase
_RESTING = frozenset({_P.IDLE, _P.READY, _P.WAITING, _P.PAUSED, _P.PARKED})
_HOLDS = frozenset({_P.HELD})

LANE_TABLE: Final[Mapping[tuple[Phase, LaneMove], frozenset[Phase]]] = {
    # PARKED: a conversation that was parked when its last effect was refused, and has been idle since.
    **{
        (phase, LaneMove.ACCEPT): frozenset({phase, _P.READY, _P.WAITING, _P.PAUSED, _P.PARKED})
        for phase in (_P.IDLE, _P.WAITING)
    },
    **{(phase, LaneMove.ACCEPT): frozenset({phase}) for phase in (_P.READY, _P.HELD, _P.PAUSED, _P.PARKED)},
    (_P.READY, LaneMove.CLAIM): _HOLDS,
    (_P.HELD, LaneMove.SETTLE): _RESTING | _HOLDS,
    (_P.HELD, LaneMove.RELEASE): _RESTING,
    (_P.HELD, LaneMove.SWEEP): _RESTING,
    (_P.WAITING, LaneMove.SWEEP): _RESTING,
    (_P.PAUSED, LaneMove.SWEEP): _RESTING,
    (_P.WAITING, LaneMove.SIGHT): _RESTING,
    (_P.PARKED, LaneMove.SIGHT): _RESTING,
    (_P.PAUSED, LaneMove.SIGHT): _RESTING,
    (_P.READY, LaneMove.SIGHT): _RESTING,
    (_P.HELD, LaneMove.SIGHT): _HOLDS,
    (_P.IDLE, LaneMove.SIGHT): frozenset({_P.IDLE}),
    **{(phase, LaneMove.PAUSE): frozenset({_P.PAUSED, _P.PARKED, _P.IDLE, _P.READY, _P.WAITING}) for phase in _RESTING},
    (_P.HELD, LaneMove.PAUSE): _HOLDS,
    **{(phase, LaneMove.RESUME): _RESTING for phase in _RESTING},
    (_P.HELD, LaneMove.RESUME): _HOLDS,
    **{(phase, LaneMove.SKIP): _RESTING for phase in _RESTING - {_P.IDLE}},
    **{(phase, LaneMove.RESOLVE): _RESTING for phase in (_P.WAITING, _P.PARKED, _P.PAUSED, _P.READY)},
    (_P.HELD, LaneMove.RESOLVE): _HOLDS,
    **{(phase, LaneMove.MERGE): _RESTING for phase in _RESTING},
    (_P.HELD, LaneMove.MERGE): _HOLDS,
}
"""From which phase what may lead where."""


def check_move(phase: Phase, move: LaneMove, to: Phase) -> Phase:
    """`to`, if the table allows it; an illegal move raises and changes nothing."""
    if to not in LANE_TABLE.get((phase, move), frozenset()):
        raise IllegalMove(f"a lane that is {phase} cannot {move} into {to}")
    return to


@dataclass(frozen=True, slots=True, kw_only=True)
class RestingFacts:
    """All that decides where an unheld lane rests."""

    has_work: bool
    """There is a head: an unplayed event, or an unfinished effect."""
    parked: bool
    pause_applies: bool
    """The lane is paused, and the pause covers its head."""
    paused_until: datetime | None
    """None with `pause_applies`: until an operator resumes it."""
    wake_at: datetime | None
    """The head must not be touched before (backoff, window, gate, doubt)."""
    merging: bool = False
    """A lane that was merged into this one has not come to its end yet."""


def resting(facts: RestingFacts, now: datetime) -> tuple[Phase, datetime | None]:
    """The phase of a lane that nobody holds, and the moment at which a sweep has to look again."""
    if not facts.has_work:
        # A pause on an empty lane still has to end by itself, since effects that wait for it are dropped at its end.
        return _P.IDLE, facts.paused_until if facts.pause_applies else None
    if facts.parked:
        return _P.PARKED, None
    if facts.pause_applies and (facts.paused_until is None or facts.paused_until > now):
        return _P.PAUSED, facts.paused_until
    if facts.merging:
        return _P.WAITING, None
    if facts.wake_at is not None and facts.wake_at > now:
        return _P.WAITING, facts.wake_at
    return _P.READY, None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """The right to go on with one side of one lane. Its epoch, not its time, is what counts."""

    tenant: TenantId
    lane: LaneId
    side: Side
    era: int
    epoch: int
    worker: WorkerId


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseDraft:
    """Both sides of a lane are to stop: after the turn that asks for it (whose own effects still go), or at once."""

    duration: timedelta | None
    keep_effects: bool
    """False: effects that waited through the pause are dropped at its end."""
    reason: str
