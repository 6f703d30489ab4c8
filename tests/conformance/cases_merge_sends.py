"""Merge: two conversations turn out to be one. What was begun comes to its end first, and nothing is sent twice."""

from typing import Final

from procession.core.effect import EffectDraft, EffectState, Receipt, RefusedPolicy, Repeatability, Terms
from procession.core.lane import Phase, Side
from procession.core.pace import Pace
from procession.core.turn import Began, HeldEffect
from procession.core.verdict import Confirmed, Deferred, Fate, Halted, Refused, Scope, Uncertain
from tests.conformance.acts import (
    a_running_turn,
    ask_for,
    begin,
    claim_send,
    claim_sends,
    effect_seen,
    pass_time,
    phase_of,
    record,
    see,
    settle,
)
from tests.conformance.builders import (
    ACME,
    OPERATOR,
    TICK,
    TTL,
    a_sighting,
    an_effect,
    seconds,
    some_terms,
    the_effect,
    the_event,
    the_lane,
)
from tests.conformance.harness import Harness
from tests.conformance.lines import line
from tests.conformance.merging import a_named, bobs_effect, merge, sent
from tests.conformance.picture import picture

PAIRED: Final = Pace(pair_every=seconds(6), pair_burst=1)


def bobs(key: str = "0", terms: Terms | None = None) -> EffectDraft:
    return an_effect(key, of=the_event(1, "bob"), lane="bob", terms=terms)


async def bob_asks_first(harness: Harness, *effects: EffectDraft) -> HeldEffect:
    """The head of bob's conversation, claimed. Ann's lane, that was made before, waits with one of her own."""
    await settle(harness, await a_running_turn(harness, a_named(9)))
    await ask_for(harness, *effects, event=a_named(1, "bob"))
    send = await claim_send(harness)
    await ask_for(harness, an_effect(), event=a_named(1))
    return send


async def only_survivors_wait(harness: Harness) -> bool:
    return await phase_of(harness, side=Side.SENDS) is Phase.WAITING and await claim_sends(harness) == ()


@line("X2", "X3", "B1")
async def test_a_held_head_is_begun_and_ends_in_its_own_lane_before_the_survivors_are(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs("0"), bobs("1"))

    await merge(harness)
    waits = await only_survivors_wait(harness)
    attempt = await begin(harness, send)
    recorded = await record(harness, send, attempt, Confirmed(), TTL)

    assert waits
    assert (recorded.fate, recorded.next) == (Fate.KEPT, None)
    assert await sent(harness) == [the_effect(), bobs_effect("1")]


@line("X2", "R2")
async def test_a_head_that_was_held_and_given_back_goes_first(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs("0"), bobs("1"))
    await merge(harness)

    await harness.store.release([send.lease])

    assert await sent(harness) == [bobs_effect("0"), the_effect(), bobs_effect("1")]


@line("X2")
async def test_a_head_that_nobody_holds_and_that_was_never_begun_moves(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs("0"), bobs("1"))
    await harness.store.release([send.lease])

    await merge(harness)

    assert await phase_of(harness, "bob", side=Side.SENDS) is Phase.IDLE
    assert await sent(harness) == [the_effect(), bobs_effect("0"), bobs_effect("1")]


@line("X2", "D3")
async def test_a_head_that_was_begun_once_stays_where_it_is(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs())
    await record(harness, send, await begin(harness, send), Deferred(after=seconds(5), reason="busy"))

    await merge(harness)
    waits = await only_survivors_wait(harness)
    await pass_time(harness, seconds(5))

    assert waits
    assert await sent(harness) == [bobs_effect(), the_effect()]


@line("X2", "X3", "D5")
async def test_a_doubt_is_resolved_before_the_survivors_effects_go(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs(terms=some_terms(doubt_wait=5)))
    await record(harness, send, await begin(harness, send), Uncertain(reason="broke"))
    await merge(harness)
    await pass_time(harness, seconds(5))
    parked = (await phase_of(harness, "bob", side=Side.SENDS), await only_survivors_wait(harness))

    resolved = await harness.console.resolve(ACME, bobs_effect(), "sent", actor=OPERATOR)

    assert parked == (Phase.PARKED, True)
    assert resolved
    assert await sent(harness) == [the_effect()]


@line("X2", "A8")
async def test_a_status_proves_a_doubt_of_a_merged_lane(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs())
    await record(harness, send, await begin(harness, send), Uncertain(reason="broke"))
    await merge(harness)

    await see(harness, a_sighting(effect=bobs_effect()))

    assert (await effect_seen(harness, bobs_effect())).state is EffectState.CONFIRMED
    assert await sent(harness) == [the_effect()]


@line("X2", "X3", "D2")
async def test_a_gate_of_a_merged_lane_is_waited_for(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs(terms=some_terms(gate=Receipt.DELIVERED, gate_wait=5)))
    await record(harness, send, await begin(harness, send), Confirmed())

    await merge(harness)
    waits = await only_survivors_wait(harness)
    await pass_time(harness, seconds(5) - TICK)
    still = await only_survivors_wait(harness)
    swept = await pass_time(harness, TICK)

    assert (waits, still, swept.gates_expired) == (True, True, 1)
    assert await sent(harness) == [the_effect()]


@line("X2", "S2")
async def test_an_armed_effect_of_a_dead_sender_is_in_doubt_in_its_own_lane(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs())
    attempt = await begin(harness, send)
    await merge(harness)

    await pass_time(harness, TTL)
    late = await record(harness, send, attempt, Confirmed())

    assert late.fate is Fate.LOST
    assert (await effect_seen(harness, bobs_effect())).state is EffectState.DOUBT
    assert await only_survivors_wait(harness)


@line("X2", "D8")
async def test_a_keyed_effect_that_may_have_been_taken_is_repeated_in_its_own_lane(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs(terms=some_terms(repeatability=Repeatability.KEYED)))
    await record(harness, send, await begin(harness, send), Uncertain(reason="broke", after=seconds(1)))

    await merge(harness)
    await pass_time(harness, seconds(1))

    again = await claim_send(harness)
    assert (again.effect.id, again.effect.attempts, again.lease.lane) == (bobs_effect(), 1, the_lane("bob"))


@line("X3")
async def test_a_send_of_the_survivor_that_was_begun_already_ends_and_none_is_claimed_with_it(
    harness: Harness,
) -> None:
    held = await bob_asks_first(harness, bobs())
    mine = await claim_send(harness)
    attempt = await begin(harness, mine)
    await merge(harness)

    recorded = await record(harness, mine, attempt, Confirmed(), TTL)
    await harness.store.release([held.lease])

    assert (recorded.fate, recorded.next) == (Fate.KEPT, None)
    assert await sent(harness) == [bobs_effect()]


@line("X2", "X3")
async def test_after_a_new_era_what_is_in_doubt_moves_as_a_doubt(harness: Harness) -> None:
    await bob_asks_first(harness, bobs("0"), bobs("1"))
    await harness.console.new_era(actor=OPERATOR, reason="restored")
    await harness.console.sending(paused=False, actor=OPERATOR)

    await merge(harness)
    views = [await effect_seen(harness, effect) for effect in (bobs_effect("0"), the_effect(), bobs_effect("1"))]
    for view in views:
        await harness.console.resolve(ACME, view.id, "resend", actor=OPERATOR)

    assert [view.state for view in views] == [EffectState.DOUBT] * 3
    assert [view.lane for view in views] == [the_lane("bob"), the_lane(), the_lane()]
    assert await sent(harness) == [bobs_effect("0"), the_effect(), bobs_effect("1")]


@line("X2", "K2")
async def test_an_effect_that_moved_can_be_cancelled_where_it_is(harness: Harness) -> None:
    await bob_asks_first(harness, bobs("0"), bobs("1"))
    await merge(harness)

    cancelled = await harness.console.cancel(ACME, bobs_effect("1"), actor=OPERATOR)

    view = await effect_seen(harness, bobs_effect("1"))
    assert cancelled
    assert (view.state, view.lane) == (EffectState.CANCELLED, the_lane())


@line("X1", "K2")
async def test_to_skip_a_send_passes_the_one_that_has_to_end_first(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs())
    await record(harness, send, await begin(harness, send), Deferred(after=seconds(5), reason="busy"))
    await merge(harness)

    skipped = [
        await harness.console.skip(ACME, the_lane(lane), actor=OPERATOR, side=Side.SENDS) for lane in ("ann", "bob")
    ]

    assert skipped == [bobs_effect(), the_effect()]


# --- parks ---


@line("X5", "D4")
async def test_a_refusal_that_parks_a_merged_conversation_parks_the_survivor(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs(terms=some_terms(on_refused=RefusedPolicy.PARK)))
    attempt = await begin(harness, send)
    await merge(harness)

    await record(harness, send, attempt, Refused(reason="no"))
    parked = (await phase_of(harness, side=Side.SENDS), await phase_of(harness, "bob", side=Side.SENDS))
    counted = (await harness.console.counts(ACME)).lanes_parked
    await harness.console.resume(ACME, the_lane("bob"), actor=OPERATOR)

    assert (parked, counted) == ((Phase.PARKED, Phase.IDLE), 1)
    assert await sent(harness) == [the_effect()]


@line("X5", "D4")
async def test_a_park_that_was_there_already_parks_the_survivor_at_once(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs("0", terms=some_terms(on_refused=RefusedPolicy.PARK)), bobs("1"))
    await record(harness, send, await begin(harness, send), Refused(reason="no"))

    await merge(harness)
    parked = await phase_of(harness, side=Side.SENDS)
    await harness.console.resume(ACME, the_lane(), actor=OPERATOR)

    assert parked is Phase.PARKED
    assert await sent(harness) == [the_effect(), bobs_effect("1")]


@line("X5", "S5")
async def test_a_refusal_outlasts_the_doubt_that_the_survivor_is_parked_for(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness, a_named(9)))
    await ask_for(harness, bobs(terms=some_terms(on_refused=RefusedPolicy.PARK)), event=a_named(1, "bob"))
    refused = await claim_send(harness)
    await record(harness, refused, await begin(harness, refused), Refused(reason="no"))
    await ask_for(harness, an_effect("0", terms=some_terms(doubt_wait=5)), an_effect("1"), event=a_named(1))
    doubted = await claim_send(harness)
    await record(harness, doubted, await begin(harness, doubted), Uncertain(reason="broke"))
    await pass_time(harness, seconds(5))

    await merge(harness)
    await harness.console.resolve(ACME, the_effect("0"), "sent", actor=OPERATOR)
    parked = await phase_of(harness, side=Side.SENDS)
    await harness.console.resume(ACME, the_lane(), actor=OPERATOR)

    assert parked is Phase.PARKED
    assert await sent(harness) == [the_effect("1")]


@line("X2", "X5", "D10")
async def test_a_halt_of_a_merged_conversation_is_for_its_open_head_and_stays_there(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs())
    halted = Halted(reason="blocked", scope=Scope.CONVERSATION)
    await record(harness, send, await begin(harness, send), halted)

    await merge(harness)
    phases = (await phase_of(harness, "bob", side=Side.SENDS), await phase_of(harness, side=Side.SENDS))
    await harness.console.resume(ACME, the_lane(), actor=OPERATOR)

    assert phases == (Phase.PARKED, Phase.WAITING)
    assert await sent(harness) == [bobs_effect(), the_effect()]


# --- bursts ---


async def begin_paced(harness: Harness, send: HeldEffect) -> bool:
    answer = await harness.store.begin(send.lease, send.effect.id, send.effect.attempts + 1, PAIRED)
    return isinstance(answer, Began)


@line("X6", "B5")
async def test_what_the_other_has_sent_counts_for_the_survivors_pace(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs())
    began = await begin_paced(harness, send)
    await record(harness, send, 1, Confirmed())

    await merge(harness)
    early = await begin_paced(harness, await claim_send(harness))
    await pass_time(harness, seconds(6))

    assert (began, early) == (True, False)
    assert await begin_paced(harness, await claim_send(harness))


@line("X6", "B5")
async def test_what_the_other_sends_until_its_end_counts_too(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs())
    await merge(harness)
    harness.clock.advance(seconds(1))
    began = await begin_paced(harness, send)
    await record(harness, send, 1, Confirmed())

    early = await begin_paced(harness, await claim_send(harness))
    await pass_time(harness, seconds(6) - TICK)
    late = await claim_sends(harness)
    await pass_time(harness, TICK)

    assert (began, early, late) == (True, False, ())
    assert await begin_paced(harness, await claim_send(harness))


@line("X2", "G4")
async def test_a_record_that_was_kept_before_the_merge_is_kept_again(harness: Harness) -> None:
    send = await bob_asks_first(harness, bobs())
    attempt = await begin(harness, send)
    await record(harness, send, attempt, Confirmed(ref="ref-1"))
    await merge(harness)
    before = await picture(harness)

    again = await record(harness, send, attempt, Confirmed(ref="ref-1"))

    assert (again.fate, again.next) == (Fate.KEPT, None)
    assert await picture(harness) == before
