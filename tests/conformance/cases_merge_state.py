"""Merge: the state of a lane that was merged, its pauses, and when its subject last spoke."""

import json

import pytest

from procession.core.effect import EffectState
from procession.core.event import LANE_MERGED
from procession.core.ids import merged_event_id
from procession.core.lane import PauseDraft, Phase, Side
from procession.core.turn import Delay
from procession.core.verdict import Confirmed, Deferred
from tests.conformance.acts import (
    a_running_turn,
    accept,
    ask_for,
    begin,
    claim,
    claim_one,
    claim_send,
    claim_sends,
    effect_seen,
    event_seen,
    lane_seen,
    pass_time,
    phase_of,
    providers_ids,
    record,
    settle,
)
from tests.conformance.builders import (
    ACME,
    OPERATOR,
    TICK,
    an_effect,
    an_event,
    number,
    seconds,
    the_effect,
    the_event,
    the_lane,
    version,
)
from tests.conformance.harness import Harness
from tests.conformance.lines import line
from tests.conformance.merging import a_named, bobs_effect, claim_of, merge, played, sent

MERGED = f"merged/{the_lane('bob')}"

# --- state ---


async def states(harness: Harness, ann: bytes | None, bob: bytes | None) -> None:
    for lane, state in (("ann", ann), ("bob", bob)):
        await settle(harness, await a_running_turn(harness, a_named(1, lane)), state=state)


@line("X4")
async def test_an_event_before_what_moves_brings_the_others_state_to_the_survivor(harness: Harness) -> None:
    await states(harness, b'{"own":1}', b'{"other":2}')
    await accept(harness, a_named(2), a_named(2, "bob"))

    await merge(harness)
    await settle(harness, await claim_one(harness))
    turn = await claim_one(harness)

    (event,) = turn.events
    assert (event.id, event.kind, event.provider_id) == (merged_event_id(ACME, the_lane("bob")), LANE_MERGED, MERGED)
    assert json.loads(event.payload) == {"lane_key": "bob", "state": {"other": 2}}
    assert (event.lane, event.lane_key, event.seq, turn.state) == (the_lane(), "ann", 3, b'{"own":1}')
    await settle(harness, turn)
    assert await played(harness) == ["bob-2", "ann-99"]


@line("X4")
async def test_the_state_that_an_open_turn_leaves_is_told_when_it_has_ended(harness: Harness) -> None:
    await accept(harness, a_named(1), a_named(1, "bob"))
    bob = await claim_of(harness)
    await merge(harness)

    await settle(harness, bob, state=b"7")
    await settle(harness, await claim_one(harness), state=b"own")
    await settle(harness, await claim_one(harness))
    last = await claim_one(harness)

    assert (providers_ids(last), last.state) == ([MERGED], b"own")
    assert json.loads(last.events[0].payload)["state"] == 7


@line("X4")
async def test_without_a_state_there_is_nothing_to_tell(harness: Harness) -> None:
    await states(harness, b"1", None)

    await merge(harness)

    assert await played(harness) == ["ann-99"]


@line("X4", "G4")
async def test_a_state_is_told_once(harness: Harness) -> None:
    await states(harness, None, b"7")
    await merge(harness)
    await merge(harness, n=98)
    order = await played(harness)

    await accept(harness, a_named(2, "bob"))

    assert order == [MERGED, "ann-99", "ann-98"]
    assert await played(harness) == ["bob-2"]


@line("X4", "X3")
async def test_each_lane_of_a_chain_tells_the_one_that_goes_on(harness: Harness) -> None:
    await states(harness, None, b"2")
    carol = await a_running_turn(harness, a_named(1, "carol"))
    await merge(harness, "bob", "carol", n=98)
    await merge(harness, "ann", "bob")

    await settle(harness, carol, state=b"3")

    assert await played(harness) == [MERGED, "ann-98", "ann-99", f"merged/{the_lane('carol')}"]


@line("X4", "K3")
async def test_the_event_of_a_merge_is_counted_and_found_as_any_other(harness: Harness) -> None:
    await states(harness, None, b"7")
    before = await harness.console.counts(ACME)

    await merge(harness)

    after = await harness.console.counts(ACME)
    view = await event_seen(harness, merged_event_id(ACME, the_lane("bob")))
    assert (after.accepted - before.accepted, after.waiting - before.waiting) == (2, 2)
    assert (view.kind, view.waits_for) == (LANE_MERGED, "a free slot")


# --- pauses ---


async def pause(harness: Harness, lane: str, duration: float | None, *, keep_effects: bool = False) -> bool:
    return await harness.console.pause(
        ACME,
        the_lane(lane),
        None if duration is None else seconds(duration),
        actor=OPERATOR,
        keep_effects=keep_effects,
    )


@pytest.mark.parametrize(
    ("ann", "bob", "left"), [(0, 30, 30), (30, 0, 30), (10, 30, 30), (30, 10, 30), (None, 30, None), (30, None, None)]
)
@line("X5")
async def test_a_pause_of_either_stops_both_and_the_longer_one_counts(
    harness: Harness, ann: float | None, bob: float | None, left: float | None
) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    await settle(harness, await claim_of(harness), Delay(after=seconds(1), reason="busy"))
    for lane, duration in (("ann", ann), ("bob", bob)):
        if duration != 0:
            await pause(harness, lane, duration)

    await merge(harness)
    await pass_time(harness, seconds(5))

    views = [await lane_seen(harness, lane) for lane in ("ann", "bob")]
    assert [view.phase for view in views] == [Phase.PAUSED, Phase.PAUSED]
    ends = {view.paused_until for view in views}
    assert len(ends) == 1
    (end,) = ends
    assert end is not None
    assert (None if end.year == 9999 else end - harness.clock.now() + seconds(5)) == (
        None if left is None else seconds(left)
    )
    assert await claim(harness) == ()


@line("X5")
async def test_a_pause_that_is_over_is_nobodys(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    await pause(harness, "bob", 5)
    harness.clock.advance(seconds(5))

    await merge(harness)

    assert await played(harness) == ["ann-1", "bob-1", "ann-99"]


@pytest.mark.parametrize("keeper", ["ann", "bob", "nobody"])
@line("X5", "S4")
async def test_what_waits_through_a_pause_is_kept_if_either_pause_keeps_it(harness: Harness, keeper: str) -> None:
    await ask_for(harness, an_effect(), event=a_named())
    await ask_for(harness, an_effect(of=the_event(1, "bob"), lane="bob"), event=a_named(1, "bob"))
    await pause(harness, "ann", 10, keep_effects=keeper == "ann")
    await pause(harness, "bob", 20, keep_effects=keeper == "bob")

    await merge(harness)
    await pass_time(harness, seconds(20) - TICK)
    early = await claim_sends(harness)
    await pass_time(harness, TICK)

    assert early == ()
    assert await sent(harness) == ([] if keeper == "nobody" else [the_effect(), bobs_effect()])


@line("X5", "T10")
async def test_what_passes_a_pause_takes_along_what_stands_before_it(harness: Harness) -> None:
    draft = PauseDraft(duration=seconds(30), keep_effects=False, reason="over to a person")
    await ask_for(harness, an_effect(), event=a_named())
    bob = await a_running_turn(harness, a_named(1, "bob"))
    await settle(harness, bob, effects=(an_effect(of=bob.id, lane="bob"),), pause=draft)

    await merge(harness)
    await settle_into(harness, "ann", "2")

    assert await sent(harness) == [the_effect(), bobs_effect()]


async def settle_into(harness: Harness, lane: str, key: str) -> None:
    """A turn of somebody else asks for an effect of a conversation."""
    turn = await a_running_turn(harness, an_event(1, lane="dora"))
    await settle(harness, turn, effects=(an_effect(key, of=turn.id, lane=lane),))


@line("X5", "T10")
async def test_an_open_head_of_the_other_passes_the_pause_that_something_behind_it_passes(harness: Harness) -> None:
    draft = PauseDraft(duration=seconds(30), keep_effects=False, reason="over to a person")
    await settle(harness, await a_running_turn(harness, a_named(9)))
    await ask_for(harness, an_effect(of=the_event(1, "bob"), lane="bob"), event=a_named(1, "bob"))
    send = await claim_send(harness)
    await record(harness, send, await begin(harness, send), Deferred(after=seconds(1), reason="busy"))
    await settle(harness, await a_running_turn(harness, a_named()), effects=(an_effect(),), pause=draft)

    await merge(harness)
    await pass_time(harness, seconds(1))

    assert await sent(harness) == [bobs_effect(), the_effect()]


@pytest.mark.parametrize("lane", ["ann", "bob"])
@line("X1", "X5", "K4")
async def test_an_operator_pauses_and_resumes_both_under_either_name(harness: Harness, lane: str) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    await settle(harness, await claim_of(harness), Delay(after=seconds(1), reason="busy"))
    await merge(harness)

    paused = [await pause(harness, lane, 30) for _ in range(2)]
    await pass_time(harness, seconds(1))
    during = (await claim(harness), [await phase_of(harness, own) for own in ("ann", "bob")])
    resumed = [await harness.console.resume(ACME, the_lane(lane), actor=OPERATOR) for _ in range(2)]

    assert (paused, resumed) == ([True, False], [True, False])
    assert during == ((), [Phase.PAUSED, Phase.PAUSED])
    assert await played(harness) == ["bob-1", "ann-1", "ann-99"]


@line("X1", "A12", "S4")
async def test_an_event_that_pauses_stops_what_the_other_has_open_too(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness, a_named(9)))
    await ask_for(harness, an_effect(of=the_event(1, "bob"), lane="bob"), event=a_named(1, "bob"))
    send = await claim_send(harness)
    await record(harness, send, await begin(harness, send), Deferred(after=seconds(1), reason="busy"))
    await merge(harness)

    takes_over = PauseDraft(duration=seconds(30), keep_effects=False, reason="a person answers")
    await accept(harness, a_named(2, "bob", pause=takes_over))
    await pass_time(harness, seconds(1))
    during = (await claim(harness), await claim_sends(harness))
    await pass_time(harness, seconds(29))

    assert during == ((), ())
    assert (await effect_seen(harness, bobs_effect())).state is EffectState.CANCELLED
    assert await played(harness) == ["ann-99", "bob-2"]


@line("X1", "T10")
async def test_a_turn_that_pauses_stops_both(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(2), a_named(1, "bob"))
    ann, bob = sorted(await claim(harness), key=lambda turn: turn.lane_key)
    await settle(harness, bob, Delay(after=seconds(1), reason="busy"))
    await merge(harness)

    draft = PauseDraft(duration=seconds(30), keep_effects=False, reason="over to a person")
    await settle(harness, ann, effects=(an_effect(),), pause=draft)
    await pass_time(harness, seconds(1))

    assert await claim(harness) == ()
    assert await phase_of(harness, "bob") is Phase.PAUSED
    assert await sent(harness) == [the_effect()]


@line("X5")
async def test_nothing_of_a_lane_that_has_come_to_its_end_is_paused(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    await pause(harness, "bob", None)

    await merge(harness)

    assert (await harness.console.counts(ACME)).lanes_paused == 1
    assert [(await lane_seen(harness, "bob", side=side)).paused_until for side in Side] == [None, None]
    await harness.console.resume(ACME, the_lane(), actor=OPERATOR)
    assert (await harness.console.counts(ACME)).lanes_paused == 0


# --- what is the later of the two ---


@pytest.mark.parametrize("first", ["ann", "bob"])
@line("X6", "A11", "B3")
async def test_whoever_spoke_last_has_opened_the_window(harness: Harness, first: str) -> None:
    await accept(harness, an_event(9, aliases=("ann",)), an_event(9, lane="bob", aliases=("bob",)))
    await accept(harness, a_named(1, first, hears=True))
    harness.clock.advance(seconds(10))
    await accept(harness, a_named(1, "bob" if first == "ann" else "ann", hears=True))
    spoke_at = harness.clock.now()
    harness.clock.advance(seconds(10))

    await merge(harness)

    assert (await claim_one(harness)).heard_at == spoke_at


@line("X6", "A4")
async def test_what_is_older_than_the_newest_of_either_is_stale(harness: Harness) -> None:
    await accept(harness, an_event(1, aliases=("ann",), order=version(5)))
    await accept(harness, an_event(7, lane="bob", aliases=("bob",), order=version(7)))
    await merge(harness)

    await accept(harness, an_event(6, aliases=("ann",), order=version(6)), an_event(8, order=version(8)))

    assert [(await event_seen(harness, the_event(n))).late for n in (6, 8)] == [True, False]


@line("X6", "A3")
async def test_the_number_that_is_waited_for_follows_the_newest_of_either(harness: Harness) -> None:
    await accept(harness, an_event(1, aliases=("ann",), order=number(1)))
    await accept(harness, *(an_event(n, lane="bob", aliases=("bob",), order=number(n)) for n in (1, 2, 4)))
    await merge(harness)

    await accept(harness, an_event(3, order=number(3)))

    assert await played(harness) == ["ann-1", "bob-1", "bob-2", "ann-99", "ann-3", "bob-4"]


@line("X6", "B3")
async def test_an_open_head_is_sent_in_the_window_that_the_survivor_has(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness, a_named(9)))
    await ask_for(harness, an_effect(of=the_event(1, "bob"), lane="bob"), event=a_named(1, "bob"))
    send = await claim_send(harness)
    await merge(harness)

    await accept(harness, a_named(2, "bob", hears=True))

    turn = await claim_one(harness)
    assert turn.heard_at == harness.clock.now()
    assert (await record(harness, send, await begin(harness, send), Confirmed())).fate == "kept"
