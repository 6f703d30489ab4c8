"""sweep: what died is freed, and what is due becomes work."""

from datetime import timedelta

import pytest

from procession.core.effect import DoubtPolicy, EffectState, Receipt, Repeatability
from procession.core.lane import Phase, Side
from procession.core.turn import Delay, ReminderDraft
from procession.core.verdict import Confirmed, Deferred, Uncertain
from procession.ports.store import Swept
from tests.conformance.acts import (
    a_doubt,
    a_running_turn,
    a_send,
    accept,
    an_armed_send,
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
    record,
    see,
    settle,
    sweep,
)
from tests.conformance.builders import (
    ACME,
    BOLT,
    OPERATOR,
    TICK,
    TTL,
    a_sighting,
    a_window,
    an_effect,
    an_event,
    number,
    seconds,
    some_terms,
    the_effect,
    the_event,
    the_lane,
)
from tests.conformance.harness import Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture


@line("S1", "G8")
async def test_a_turn_whose_lease_ran_out_rests_and_has_died(harness: Harness) -> None:
    await a_running_turn(harness)

    swept = await pass_time(harness, TTL)

    view = await lane_seen(harness)
    assert (swept.leases_freed, swept.deaths) == (1, 1)
    assert (view.phase, view.tries, view.deaths, view.worker) == (Phase.READY, 1, 1, "")


@line("S1")
async def test_deaths_add_up(harness: Harness) -> None:
    await a_running_turn(harness)
    await pass_time(harness, TTL)
    for alone in (True, True):
        await claim_one(harness, suspects=True, alone=alone)
        await pass_time(harness, TTL)

    turn = await claim_one(harness, suspects=True)

    assert (turn.tries, turn.deaths, turn.deaths_alone) == (4, 3, 2)


@line("S1", "S2", "G7")
async def test_a_sweep_goes_over_all_tenants(harness: Harness) -> None:
    await accept(harness, an_event(), an_event(tenant=BOLT))
    await claim(harness)

    assert (await pass_time(harness, TTL)).leases_freed == 2


@line("S2")
async def test_an_armed_effect_of_a_dead_worker_is_in_doubt(harness: Harness) -> None:
    await an_armed_send(harness)

    swept = await pass_time(harness, TTL)

    assert (swept.leases_freed, swept.doubted) == (1, 1)
    assert (await effect_seen(harness, the_effect())).state is EffectState.DOUBT
    assert await claim_sends(harness) == ()


@line("S2")
async def test_an_armed_keyed_effect_of_a_dead_worker_is_sent_again(harness: Harness) -> None:
    await an_armed_send(harness, an_effect(terms=some_terms(repeatability=Repeatability.KEYED)))

    swept = await pass_time(harness, TTL)

    again = await claim_send(harness)
    assert swept.doubted == 0
    assert (again.effect.state, again.effect.attempts) == (EffectState.PENDING, 1)
    assert await begin(harness, again) == 2


@line("S2")
async def test_an_armed_keyed_effect_without_tries_left_is_in_doubt(harness: Harness) -> None:
    await an_armed_send(harness, an_effect(terms=some_terms(repeatability=Repeatability.KEYED, tries_max=1)))

    await pass_time(harness, TTL)

    assert (await effect_seen(harness, the_effect())).state is EffectState.DOUBT


@line("S2")
async def test_a_claimed_effect_that_was_not_begun_is_pending_as_before(harness: Harness) -> None:
    await a_send(harness)

    swept = await pass_time(harness, TTL)

    again = await claim_send(harness)
    assert (swept.leases_freed, swept.doubted) == (1, 0)
    assert (again.effect.state, again.effect.attempts, again.effect.tries) == (EffectState.PENDING, 0, 0)


@line("S2", "D5")
async def test_a_doubt_by_death_that_can_be_probed_is_probed(harness: Harness) -> None:
    await an_armed_send(harness, an_effect(terms=some_terms(repeatability=Repeatability.PROBED)))
    await pass_time(harness, TTL)

    await pass_time(harness, seconds(1))

    assert (await claim_send(harness)).effect.state is EffectState.DOUBT


@line("S3", "T4")
async def test_a_backoff_that_is_over_makes_its_lane_ready(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness), Delay(after=seconds(5), reason="busy"))

    early = await pass_time(harness, seconds(5) - TICK)
    late = await pass_time(harness, TICK)

    assert (early.woken, late.woken) == (0, 1)
    assert await phase_of(harness) is Phase.READY


@line("S3")
async def test_a_deferral_that_is_over_makes_its_conversation_ready(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness)
    await record(harness, send, attempt, Deferred(after=seconds(5), reason="throttled"))

    swept = await pass_time(harness, seconds(5))

    assert swept.woken == 1
    assert await phase_of(harness, side=Side.SENDS) is Phase.READY


@line("S3")
async def test_an_expired_gate_is_counted_once_and_only_if_something_waited_for_it(harness: Harness) -> None:
    gated = some_terms(gate=Receipt.DELIVERED, gate_wait=5)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=gated), an_effect("1"))
    await record(harness, send, attempt, Confirmed())

    first = await pass_time(harness, seconds(5))
    second = await pass_time(harness, seconds(5))

    assert (first.gates_expired, second.gates_expired) == (1, 0)


@line("S3", "S4")
async def test_a_pause_ends_by_itself(harness: Harness) -> None:
    await accept(harness, an_event())
    await harness.console.pause(ACME, the_lane(), seconds(30), actor=OPERATOR)

    await pass_time(harness, seconds(30) - TICK)
    early = await claim(harness)
    await pass_time(harness, TICK)

    assert early == ()
    assert len(await claim(harness)) == 1


@line("S4")
async def test_effects_that_waited_through_a_pause_are_cancelled_at_its_end(harness: Harness) -> None:
    send = await a_send(harness, an_effect("0"), an_effect("1"))
    await harness.store.release([send.lease])
    await harness.console.pause(ACME, the_lane(), seconds(30), actor=OPERATOR)

    await pass_time(harness, seconds(30))

    states = [(await effect_seen(harness, the_effect(key))).state for key in ("0", "1")]
    assert states == [EffectState.CANCELLED, EffectState.CANCELLED]
    assert await phase_of(harness, side=Side.SENDS) is Phase.IDLE


@line("S4")
async def test_effects_that_ask_to_be_kept_go_after_the_pause(harness: Harness) -> None:
    send = await a_send(harness)
    await harness.store.release([send.lease])
    await harness.console.pause(ACME, the_lane(), seconds(30), actor=OPERATOR, keep_effects=True)
    early = await claim_sends(harness)

    await pass_time(harness, seconds(30))

    assert early == ()
    assert (await claim_send(harness)).effect.id == the_effect()


@line("S5")
async def test_a_doubt_that_nothing_proved_parks_its_conversation(harness: Harness) -> None:
    await a_doubt(harness, an_effect("0", terms=some_terms(doubt_wait=5)), an_effect("1"))

    early = await pass_time(harness, seconds(5) - TICK)
    late = await pass_time(harness, TICK)

    assert (early.doubts_parked, late.doubts_parked) == (0, 1)
    assert await phase_of(harness, side=Side.SENDS) is Phase.PARKED
    assert (await effect_seen(harness, the_effect("0"))).state is EffectState.DOUBT
    assert await claim_sends(harness) == ()


@line("S5")
async def test_a_doubt_may_be_sent_again_by_declared_policy(harness: Harness) -> None:
    terms = some_terms(doubt=DoubtPolicy.RESEND, doubt_wait=5)
    await a_doubt(harness, an_effect("0", terms=terms), an_effect("1"))

    swept = await pass_time(harness, seconds(5))

    again = await claim_send(harness)
    assert swept.doubts_resent == 1
    assert (again.effect.key, again.effect.state, again.effect.resends) == ("0", EffectState.PENDING, 1)
    assert (await harness.console.counts()).effects_resent == 1
    assert await begin(harness, again) == 2


@line("S5")
async def test_a_doubt_may_be_passed_by_declared_policy(harness: Harness) -> None:
    terms = some_terms(doubt=DoubtPolicy.SKIP, doubt_wait=5)
    await a_doubt(harness, an_effect("0", terms=terms), an_effect("1"))

    swept = await pass_time(harness, seconds(5))

    assert swept.doubts_skipped == 1
    assert (await effect_seen(harness, the_effect("0"))).state is EffectState.SKIPPED
    assert (await claim_send(harness)).effect.key == "1"
    assert (await harness.console.counts()).effects_skipped == 1


@line("S5")
async def test_a_doubt_that_was_sent_again_often_enough_is_parked(harness: Harness) -> None:
    terms = some_terms(doubt=DoubtPolicy.RESEND, doubt_wait=5, resends_max=1)
    await a_doubt(harness, an_effect(terms=terms))
    await pass_time(harness, seconds(5))
    again = await claim_send(harness)
    await record(harness, again, await begin(harness, again), Uncertain(reason="?"))

    swept = await pass_time(harness, seconds(5))

    assert (swept.doubts_resent, swept.doubts_parked) == (0, 1)
    assert await phase_of(harness, side=Side.SENDS) is Phase.PARKED


@pytest.mark.parametrize("policy", DoubtPolicy)
@line("S5", "A8")
async def test_a_doubt_that_was_proven_in_time_is_left_alone(harness: Harness, policy: DoubtPolicy) -> None:
    await a_doubt(harness, an_effect(terms=some_terms(doubt=policy, doubt_wait=5)))
    await see(harness, a_sighting(effect=the_effect()))

    swept = await pass_time(harness, seconds(5))

    assert swept.doubts_parked + swept.doubts_resent + swept.doubts_skipped == 0
    assert (await effect_seen(harness, the_effect())).state is EffectState.CONFIRMED


@line("S5")
async def test_a_parked_doubt_stays_parked(harness: Harness) -> None:
    await a_doubt(harness, an_effect(terms=some_terms(doubt_wait=5)))
    await pass_time(harness, seconds(5))

    swept = await pass_time(harness, timedelta(days=3))

    assert swept.doubts_parked == 0
    assert await phase_of(harness, side=Side.SENDS) is Phase.PARKED


@line("S5")
async def test_of_several_doubts_a_conversation_waits_for_the_first_that_is_not_resolved(harness: Harness) -> None:
    terms = some_terms(doubt_wait=5)
    await ask_for(harness, *(an_effect(key, terms=terms) for key in "abc"))
    await harness.console.new_era(actor=OPERATOR, reason="a restored file")
    await harness.console.sending(paused=False, actor=OPERATOR)
    await pass_time(harness, seconds(5))

    await harness.console.resolve(ACME, the_effect("c"), "sent", actor=OPERATOR)
    assert await phase_of(harness, side=Side.SENDS) is Phase.PARKED
    assert the_effect("a") in str((await lane_seen(harness, side=Side.SENDS)).reason)
    await harness.console.resolve(ACME, the_effect("a"), "resend", actor=OPERATOR)
    again = await claim_send(harness)
    await record(harness, again, await begin(harness, again), Confirmed())

    assert again.effect.key == "a"
    assert await phase_of(harness, side=Side.SENDS) is Phase.PARKED
    assert the_effect("b") in str((await lane_seen(harness, side=Side.SENDS)).reason)
    await see(harness, a_sighting(effect=the_effect("b")))
    assert await phase_of(harness, side=Side.SENDS) is Phase.IDLE


@line("S7", "G8")
async def test_a_due_reminder_leaves_a_held_lane_held(harness: Harness) -> None:
    reminder = ReminderDraft(name="later", after=seconds(5), payload=b"")
    await settle(harness, await a_running_turn(harness), reminders=(reminder,))
    await a_running_turn(harness, an_event(2))

    await pass_time(harness, seconds(5))

    assert await phase_of(harness) is Phase.HELD
    assert (await lane_seen(harness)).waiting == 2


@line("S7")
async def test_a_reminder_comes_once(harness: Harness) -> None:
    reminder = ReminderDraft(name="later", after=seconds(5), payload=b"")
    await settle(harness, await a_running_turn(harness), reminders=(reminder,))
    await pass_time(harness, seconds(5))

    assert (await pass_time(harness, seconds(500))).reminded == 0


@line("S3", "G4")
async def test_a_sweep_with_nothing_due_changes_nothing(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness), Delay(after=seconds(5), reason="busy"))
    await a_running_turn(harness, an_event(lane="bob"))
    await accept(harness, an_event(2, lane="cid", order=number(2)), an_event(lane="dan", window=a_window()))
    before = await picture(harness)

    swept = await pass_time(harness, seconds(1))

    assert swept == Swept(next_after=swept.next_after)
    assert await picture(harness) == before


@line("S3")
async def test_a_sweep_says_when_the_next_one_is_due(harness: Harness) -> None:
    nothing = (await sweep(harness)).next_after
    await settle(harness, await a_running_turn(harness), Delay(after=seconds(5), reason="busy"))
    backoff = (await sweep(harness)).next_after
    await accept(harness, an_event(2, lane="cid", order=number(2, window=3)))
    held = (await sweep(harness)).next_after
    await a_running_turn(harness, an_event(lane="bob"), ttl=seconds(2))

    assert (nothing, backoff, held) == (None, seconds(5), seconds(3))
    assert (await sweep(harness)).next_after == seconds(2)


@line("S7")
async def test_a_sweep_knows_when_the_next_reminder_is_due(harness: Harness) -> None:
    reminder = ReminderDraft(name="later", after=timedelta(hours=2), payload=b"")
    await settle(harness, await a_running_turn(harness), reminders=(reminder,))

    assert (await sweep(harness)).next_after == timedelta(hours=2)


@line("S1", "S3")
async def test_a_sweep_does_no_more_than_its_bound_and_says_that_there_is_more(harness: Harness) -> None:
    await accept(harness, *(an_event(lane=f"lane{n}") for n in range(5)))
    await claim(harness)
    harness.clock.advance(TTL)

    sweeps = [await harness.store.sweep(2) for _ in range(3)]

    assert [swept.leases_freed for swept in sweeps] == [2, 2, 1]
    assert [swept.more for swept in sweeps] == [True, True, False]


@line("S6", "S7", "G4")
async def test_what_came_due_long_ago_is_done_at_the_first_sweep(harness: Harness) -> None:
    reminder = ReminderDraft(name="later", after=seconds(5), payload=b"")
    await settle(harness, await a_running_turn(harness), reminders=(reminder,))
    await accept(harness, an_event(2, lane="cid", order=number(2)))

    swept = await pass_time(harness, timedelta(days=2))

    assert (swept.reminded, swept.released) == (1, 1)
    assert (await event_seen(harness, the_event(2, "cid"))).seq == 1


@line("S1", "G5")
async def test_a_wall_clock_that_is_set_back_prolongs_no_lease(harness: Harness) -> None:
    """The store's time stands still until the wall has caught up: never back, so nothing is freed too early either."""
    await a_running_turn(harness)
    harness.clock.advance(TTL - seconds(1))
    await sweep(harness)

    harness.clock.set_back(timedelta(hours=1))
    harness.clock.advance(timedelta(hours=1) + seconds(1))

    assert (await sweep(harness)).leases_freed == 1


@line("S2", "D5")
async def test_an_uncertain_answer_of_a_freed_attempt_is_lost(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness)
    await pass_time(harness, TTL)
    before = await picture(harness)

    recorded = await record(harness, send, attempt, Uncertain(reason="late"))

    assert recorded.fate == "lost"
    assert await picture(harness) == before
