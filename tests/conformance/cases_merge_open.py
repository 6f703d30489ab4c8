"""Merge: what a merged lane has open comes to its end in its own lane, and the one that goes on waits for it."""

import pytest

from procession.core.errors import BadRequest
from procession.core.event import EventState
from procession.core.lane import Phase, Side
from procession.core.turn import Advance, Delay, Outcome, Park, SetAside
from procession.core.verdict import Fate
from tests.conformance.acts import (
    accept,
    ask_for,
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
    settle,
)
from tests.conformance.builders import (
    ACME,
    OPERATOR,
    TTL,
    a_step,
    a_window,
    an_effect,
    an_event,
    seconds,
    the_effect,
    the_event,
    the_lane,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.merging import a_named, bobs_effect, claim_of, lane_of, merge, played

# --- turns ---


@line("X2", "X3")
async def test_a_running_turn_ends_in_its_own_lane_before_anything_of_the_survivor_is_claimed(
    harness: Harness,
) -> None:
    await accept(harness, a_named(1), a_named(1, "bob"), a_named(2, "bob"))
    for turn in await claim(harness, 1):
        await settle(harness, turn)
    bob = await claim_one(harness)
    await accept(harness, a_named(2))

    await merge(harness)
    before = (await claim(harness), await phase_of(harness), await phase_of(harness, "bob"))
    settled = await settle(harness, bob)

    assert before == ((), Phase.WAITING, Phase.HELD)
    assert (providers_ids(bob), settled.fate) == (["bob-1"], Fate.KEPT)
    assert await played(harness) == ["ann-2", "bob-2", "ann-99"]


ENDS: list[Outcome] = [Advance(), SetAside(reason="bad")]


@pytest.mark.parametrize("end", ENDS)
@line("X2", "X3", "T2", "T6")
async def test_an_open_turn_is_open_until_it_is_done_or_set_aside(harness: Harness, end: Outcome) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    bob = await claim_of(harness)
    await merge(harness)

    await settle(harness, bob, Delay(after=seconds(5), reason="busy"))
    delayed = await claim(harness)
    await pass_time(harness, seconds(5))
    again = await claim_one(harness)
    await settle(harness, again, end)

    assert delayed == ()
    assert (again.id, again.lease.lane, again.tries) == (the_event(1, "bob"), the_lane("bob"), 2)
    assert await played(harness) == ["ann-1", "ann-99"]


@line("X2", "C4")
async def test_an_open_turn_keeps_the_events_that_it_was_frozen_with(harness: Harness) -> None:
    window = a_window(quiet=1)
    await accept(harness, a_named(), *(an_event(n, lane="bob", aliases=("bob",), window=window) for n in (1, 2)))
    await pass_time(harness, seconds(1))
    bob = await claim_of(harness)
    await accept(harness, an_event(3, lane="bob", aliases=("bob",), window=window))
    await settle(harness, bob, Delay(after=seconds(1), reason="busy"))

    await merge(harness)
    await pass_time(harness, seconds(1))

    assert providers_ids(await claim_one(harness)) == ["bob-1", "bob-2"]
    assert await lane_of(harness, 3, "bob") == the_lane()


@line("X2", "S1")
async def test_an_open_turn_that_died_is_tried_again_before_the_survivor_goes_on(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    bob = await claim_of(harness)
    await harness.store.remember(bob.lease, bob.id, (a_step(),))
    await merge(harness)

    await pass_time(harness, TTL)
    late = await settle(harness, bob)
    others = await claim(harness)
    again = await claim_one(harness, suspects=True)
    await settle(harness, again)

    assert (late.fate, others) == (Fate.LOST, ())
    assert (again.id, again.deaths, again.steps) == (bob.id, 1, (a_step(),))
    assert await played(harness) == ["ann-1", "ann-99"]


@line("X2", "R1")
async def test_an_open_turn_that_is_given_back_is_claimed_again_first(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    bob = await claim_of(harness)
    await merge(harness)

    await harness.store.release([bob.lease])

    assert await played(harness) == ["bob-1", "ann-1", "ann-99"]


@line("X1", "X2", "T5")
async def test_a_parked_turn_holds_the_survivor_up_until_either_lane_is_resumed(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    await settle(harness, await claim_of(harness), Park(reason="ask"))
    await merge(harness)
    before = (await phase_of(harness), await phase_of(harness, "bob"), await claim(harness))

    resumed = await harness.console.resume(ACME, the_lane(), actor=OPERATOR)

    assert before == (Phase.WAITING, Phase.PARKED, ())
    assert resumed
    assert await played(harness) == ["bob-1", "ann-1", "ann-99"]


@pytest.mark.parametrize("lane", ["ann", "bob"])
@line("X1", "K2")
async def test_to_skip_passes_the_head_that_has_to_end_first(harness: Harness, lane: str) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    await settle(harness, await claim_of(harness), Park(reason="ask"))
    await merge(harness)

    first = await harness.console.skip(ACME, the_lane(lane), actor=OPERATOR)
    second = await harness.console.skip(ACME, the_lane(lane), actor=OPERATOR)

    assert (first, second) == (the_event(1, "bob"), the_event(1))
    assert (await event_seen(harness, the_event(1, "bob"))).state is EventState.SKIPPED
    assert await played(harness) == ["ann-99"]


@line("X1", "K2")
async def test_a_running_turn_of_a_merged_lane_cannot_be_skipped_under_either_name(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    await claim_of(harness)
    await merge(harness)

    for lane in ("ann", "bob"):
        with pytest.raises(BadRequest, match="pause it first"):
            await harness.console.skip(ACME, the_lane(lane), actor=OPERATOR)


@line("X3", "T11")
async def test_a_turn_of_the_survivor_that_runs_already_goes_on_and_none_is_claimed_with_its_end(
    harness: Harness,
) -> None:
    await accept(harness, a_named(1), a_named(2), a_named(1, "bob"))
    ann, bob = sorted(await claim(harness), key=lambda turn: turn.lane_key)
    await merge(harness)

    first = await settle(harness, ann, keep_for=TTL)
    waiting = await phase_of(harness)
    second = await settle(harness, bob, keep_for=TTL)

    assert (first.fate, first.next, second.fate, second.next) == (Fate.KEPT, None, Fate.KEPT, None)
    assert waiting is Phase.WAITING
    assert await played(harness) == ["ann-2", "ann-99"]


@line("X1", "M2", "T3")
async def test_what_an_open_turn_asks_for_is_asked_for_in_the_survivors_conversation(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    bob = await claim_of(harness)
    await merge(harness)

    flushed = await harness.store.remember(bob.lease, bob.id, (a_step(),), (an_effect("0", of=bob.id, lane="bob"),))
    await settle(harness, bob, effects=(an_effect("1", of=bob.id, lane="bob"),))

    assert flushed is Fate.KEPT
    views = [await effect_seen(harness, bobs_effect(key)) for key in ("0", "1")]
    assert [(view.lane, view.oseq, view.turn) for view in views] == [(the_lane(), 1, bob.id), (the_lane(), 2, bob.id)]


@line("X3", "K3")
async def test_what_waits_for_a_merge_says_so(harness: Harness) -> None:
    await ask_for(harness, an_effect(), event=a_named())
    await ask_for(harness, an_effect(of=the_event(1, "bob"), lane="bob"), event=a_named(1, "bob"))
    sends = await claim_sends(harness)
    await harness.store.release([send.lease for send in sends if send.effect.id == the_effect()])
    await accept(harness, a_named(2, "bob"))
    await claim_of(harness)
    await accept(harness, a_named(2))

    await merge(harness)

    said = "the end of what is open in a lane that was merged into its own"
    assert (await event_seen(harness, the_event(2))).waits_for == said
    assert (await effect_seen(harness, the_effect())).waits_for == said
    assert (await lane_seen(harness)).merged_into is None
    assert [(await lane_seen(harness, "bob", side=side)).merged_into for side in Side] == [the_lane()] * 2


# --- chains ---


@line("X1", "X2", "X3")
async def test_a_survivor_may_be_merged_in_turn_and_the_first_of_all_waits_for_both(harness: Harness) -> None:
    await accept(harness, *(a_named(1, lane) for lane in ("ann", "bob", "carol")))
    turns = {turn.lane_key: turn for turn in await claim(harness)}
    await settle(harness, turns["ann"])
    await merge(harness, "bob", "carol")
    await accept(harness, a_named(2, "carol"))
    await settle(harness, turns["bob"])

    await accept(harness, an_event(98, lane="else", aliases=("ann", "carol")))
    before = (await claim(harness), await phase_of(harness), await phase_of(harness, "bob"))
    await settle(harness, turns["carol"], effects=(an_effect(of=the_event(1, "carol"), lane="carol"),))

    assert before == ((), Phase.WAITING, Phase.IDLE)
    assert [await lane_of(harness, *which) for which in ((2, "carol"), (98, "else"))] == [the_lane()] * 2
    assert (await effect_seen(harness, the_effect(of=the_event(1, "carol")))).lane == the_lane()
    assert await played(harness) == ["ann-99", "carol-2", "else-98"]


@line("X1", "X3")
async def test_what_is_open_in_the_middle_of_a_chain_waits_for_the_end_of_it(harness: Harness) -> None:
    await accept(harness, *(a_named(1, lane) for lane in ("ann", "bob", "carol")))
    turns = {turn.lane_key: turn for turn in await claim(harness)}
    await settle(harness, turns["ann"])
    for lane in ("bob", "carol"):
        await settle(harness, turns[lane], Park(reason="ask"))
    await merge(harness, "bob", "carol", n=98)
    await merge(harness, "ann", "bob")

    await harness.console.resume(ACME, the_lane("carol"), actor=OPERATOR)

    assert await played(harness) == ["carol-1", "bob-1", "ann-98", "ann-99"]


@line("X2", "G2", needs=(Guarantee.DURABLE,))
async def test_what_moved_out_of_the_middle_of_a_chain_is_there_no_more(harness: Harness) -> None:
    await accept(harness, a_named(9), a_named(9, "bob"))
    for turn in await claim(harness):
        await settle(harness, turn)
    await ask_for(harness, an_effect(of=the_event(1, "carol"), lane="carol"), event=a_named(1, "carol"))
    await claim_send(harness)
    await merge(harness, "bob", "carol", n=98)
    await claim_one(harness)
    await accept(harness, a_named(2, "bob"))

    await merge(harness, "ann", "bob")
    waiting = [(await lane_seen(harness, lane)).waiting for lane in ("ann", "bob")]
    await harness.reopen()
    await pass_time(harness, TTL)
    (open_turn,) = (*await claim(harness), *await claim(harness, suspects=True))
    await settle(harness, open_turn)

    assert waiting == [2, 1]
    assert providers_ids(open_turn) == ["ann-98"]
    assert await played(harness) == ["bob-2", "ann-99"]
