"""What the stores answered, brought into a shape in which it can be compared and kept."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from procession.core.effect import ENDED
from procession.core.event import EventState
from procession.core.lane import Phase
from procession.core.turn import HeldEffect, HeldTurn
from procession.ports.store import Swept
from tests.conformance.builders import MANY, OPERATOR
from tests.conformance.harness import Harness
from tests.conformance.picture import Picture

L = TypeVar("L", HeldTurn, HeldEffect)


async def swept(harness: Harness) -> Swept:
    """Until there is no more to do. How much of it one sweep does, how early it names the next, and whether a lane that
    two things end in counts as woken, is not said.
    """
    total = Swept()
    for _ in range(20):
        one = await harness.store.sweep(MANY)
        total = replace(
            total,
            leases_freed=total.leases_freed + one.leases_freed,
            deaths=total.deaths + one.deaths,
            doubted=total.doubted + one.doubted,
            released=total.released + one.released,
            reminded=total.reminded + one.reminded,
            gates_expired=total.gates_expired + one.gates_expired,
            doubts_parked=total.doubts_parked + one.doubts_parked,
            doubts_resent=total.doubts_resent + one.doubts_resent,
            doubts_skipped=total.doubts_skipped + one.doubts_skipped,
        )
        if not one.more:
            return total
    raise AssertionError("a sweep says for ever that there is more")


async def new_era(harness: Harness) -> None:
    await harness.console.new_era(actor=OPERATOR, reason="restored")


def nexts(found: Sequence[L | None]) -> list[list[L]]:
    each = [held for held in found if held is not None]
    return [each] if len(each) == len(found) else []


def by_lane(answers: Sequence[tuple[L, ...] | object]) -> list[tuple[L, ...]]:
    """What was claimed, lane by lane, as each store knows it."""
    claimed = [
        sorted(answer, key=lambda held: (held.lease.tenant, held.lease.lane))
        for answer in answers
        if isinstance(answer, tuple)
    ]
    # Lengths differ only where the stores have parted; otherwise they were compared before.
    return list(zip(*claimed, strict=False))


def another_suspect_of_equal_rank(answers: Sequence[object]) -> bool:
    """Each answered one turn that runs alone, with the same number of deaths, and they are not of the same lane."""
    turns = [answer[0] for answer in answers if isinstance(answer, tuple) and len(answer) == 1]
    return (
        len(turns) == len(answers)
        and len({turn.lease.lane for turn in turns}) > 1
        and len({turn.deaths for turn in turns}) == 1
        and turns[0].deaths > 1
    )


def all_has_ended(picture: Picture) -> bool:
    lives, lanes = picture["lives"], picture["lanes"]
    assert isinstance(lives, dict)
    assert isinstance(lanes, dict)
    unfinished = (EventState.WAITING, EventState.HELD)
    views = [view for found in lives.values() for view in found]
    return (
        all(view.state not in unfinished for view in views)
        and all(effect.state in ENDED for view in views for effect in view.effects)
        and all(side.phase is Phase.IDLE for sides in lanes.values() for side in sides)
    )
