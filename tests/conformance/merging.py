"""What the cases about names and merges start from: ann was there first, and bob turns out to be her."""

from procession.core.event import NewEvent
from procession.core.ids import EffectId
from procession.core.lane import PauseDraft
from procession.core.turn import HeldTurn
from procession.core.verdict import Confirmed
from tests.conformance.acts import accept, begin, claim, claim_sends, event_seen, record, settle
from tests.conformance.builders import an_event, the_effect, the_event
from tests.conformance.harness import Harness


def a_named(n: int = 1, lane: str = "ann", *, pause: PauseDraft | None = None, hears: bool = False) -> NewEvent:
    """The n-th event of a lane whose subject's one name is that of the lane."""
    return an_event(n, lane=lane, aliases=(lane,), pause=pause, hears=hears)


async def merge(harness: Harness, *names: str, n: int = 99) -> None:
    """An event says that these (ann and bob) are one; it is played last."""
    await accept(harness, an_event(n, aliases=names or ("ann", "bob")))


async def lane_of(harness: Harness, n: int, lane: str) -> str:
    """Where an event is by now."""
    return (await event_seen(harness, the_event(n, lane))).lane


def bobs_effect(key: str = "0", n: int = 1) -> EffectId:
    return the_effect(key, of=the_event(n, "bob"))


async def claim_of(harness: Harness, lane: str = "bob") -> HeldTurn:
    """Claim, and give all back but the turn of one lane."""
    turns = await claim(harness)
    (own,) = (turn for turn in turns if turn.lane_key == lane)
    await harness.store.release([turn.lease for turn in turns if turn is not own])
    return own


async def played(harness: Harness) -> list[str]:
    """Everything that can be played, one turn after the other: in which order."""
    order: list[str] = []
    while turns := await claim(harness):
        assert len(turns) == 1, "two turns of one person at once"
        order += [event.provider_id for event in turns[0].events]
        await settle(harness, turns[0])
    return order


async def sent(harness: Harness) -> list[EffectId]:
    """Everything that can be sent, one effect after the other: in which order."""
    order: list[EffectId] = []
    while sends := await claim_sends(harness):
        assert len(sends) == 1, "two effects of one person at once"
        order.append(sends[0].effect.id)
        await record(harness, sends[0], await begin(harness, sends[0]), Confirmed())
    return order
