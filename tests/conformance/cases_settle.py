"""settle: a turn's end is kept as a whole or not at all."""

from datetime import timedelta

import pytest

from procession.core.effect import EffectState
from procession.core.event import EventState
from procession.core.lane import PauseDraft, Phase, Side
from procession.core.turn import Advance, Delay, Outcome, Park, ReminderDraft, SetAside
from procession.core.verdict import Confirmed, Fate
from tests.conformance.acts import (
    a_running_turn,
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
    providers_ids,
    record,
    settle,
)
from tests.conformance.builders import (
    ACME,
    BOLT,
    OPERATOR,
    OTHER,
    TTL,
    a_settlement,
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
from tests.conformance.picture import picture

OTHER_OUTCOMES = [Delay(after=timedelta(seconds=1), reason="busy"), Park(reason="ask"), SetAside(reason="bad")]


@line("T2")
async def test_an_advance_ends_the_event_and_the_lane_goes_on(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))

    settled = await settle(harness, await claim_one(harness))

    view = await event_seen(harness, the_event(1))
    assert (settled.fate, settled.next) == (Fate.KEPT, None)
    assert (view.state, view.ended_at) == (EventState.DONE, harness.clock.now())
    assert (await lane_seen(harness)).phase is Phase.READY
    assert providers_ids(await claim_one(harness)) == ["ann-2"]


@line("T2")
async def test_an_advance_ends_all_events_of_the_turn(harness: Harness) -> None:
    await accept(harness, *(an_event(n, window=a_window(events_max=3)) for n in (1, 2, 3)))

    await settle(harness, await claim_one(harness))

    assert [(await event_seen(harness, the_event(n))).state for n in (1, 2, 3)] == [EventState.DONE] * 3
    assert (await harness.console.counts(ACME)).done == 3
    assert await phase_of(harness) is Phase.IDLE


@line("T2")
async def test_state_is_kept_and_none_leaves_it_as_it_is(harness: Harness) -> None:
    states = []

    for n, state in enumerate((b"one", None, b"", b"two"), 1):
        turn = await a_running_turn(harness, an_event(n))
        states.append(turn.state)
        await settle(harness, turn, state=state)

    assert states == [None, b"one", b"one", b""]
    assert (await a_running_turn(harness, an_event(9))).state == b"two"


@line("T2", "G7")
async def test_state_belongs_to_the_lane(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness), state=b"ann's")

    assert (await a_running_turn(harness, an_event(lane="bob"))).state is None
    assert (await a_running_turn(harness, an_event(tenant=BOLT))).state is None


@pytest.mark.parametrize("outcome", OTHER_OUTCOMES)
@line("T2")
async def test_only_an_advance_keeps_what_the_turn_asked_for(harness: Harness, outcome: Outcome) -> None:
    turn = await a_running_turn(harness)

    await settle(
        harness,
        turn,
        outcome,
        state=b"lost",
        effects=(an_effect(),),
        reminders=(ReminderDraft(name="later", after=seconds(1), payload=b""),),
        pause=PauseDraft(duration=None, keep_effects=True, reason="a person takes over"),
    )

    await harness.console.resume(ACME, the_lane(), actor=OPERATOR)
    swept = await pass_time(harness, seconds(5))
    assert swept.reminded == 0
    assert await claim_sends(harness) == ()
    assert (await lane_seen(harness)).paused_until is None
    for again in await claim(harness):
        assert again.state is None


@line("T1", "G4")
async def test_a_settlement_that_was_kept_is_kept_again_and_changes_nothing(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    settlement = a_settlement(turn, state=b"s", effects=(an_effect(),))
    await harness.store.settle(settlement)
    before = await picture(harness)

    again = await harness.store.settle(settlement)

    assert (again.fate, again.next) == (Fate.KEPT, None)
    assert await picture(harness) == before


@pytest.mark.parametrize("outcome", OTHER_OUTCOMES)
@line("T1", "G4")
async def test_each_outcome_can_be_settled_again(harness: Harness, outcome: Outcome) -> None:
    turn = await a_running_turn(harness)
    settlement = a_settlement(turn, outcome)
    await harness.store.settle(settlement)
    before = await picture(harness)

    again = await harness.store.settle(settlement)

    assert (again.fate, again.next) == (Fate.KEPT, None)
    assert await picture(harness) == before


@line("T1", "G4")
async def test_a_kept_settlement_is_known_also_when_another_has_claimed_the_lane_since(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))
    settlement = a_settlement(await claim_one(harness))
    await harness.store.settle(settlement)
    other = await claim_one(harness, worker=OTHER)
    before = await picture(harness)

    again = await harness.store.settle(settlement)

    assert (again.fate, again.next) == (Fate.KEPT, None)
    assert await picture(harness) == before
    assert (await settle(harness, other)).fate is Fate.KEPT


@line("T1", "T11", "G4")
async def test_a_repeated_settlement_answers_the_kept_lanes_next_turn_again(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))
    settlement = a_settlement(await claim_one(harness), keep_for=TTL)
    first = await harness.store.settle(settlement)

    again = await harness.store.settle(settlement)

    assert first.next is not None
    assert again == first
    assert (await settle(harness, first.next)).fate is Fate.KEPT


@line("T1", "T11", "G4")
async def test_a_repeated_settlement_does_not_answer_a_turn_that_is_not_held_any_more(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))
    settlement = a_settlement(await claim_one(harness), keep_for=TTL)
    first = await harness.store.settle(settlement)
    assert first.next is not None
    await settle(harness, first.next)
    before = await picture(harness)

    again = await harness.store.settle(settlement)

    assert again.next is None
    assert await picture(harness) == before


@line("T1")
async def test_a_settlement_of_another_turn_than_the_open_one_is_lost(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))
    turn = await claim_one(harness)
    before = await picture(harness)

    settled = await harness.store.settle(
        type(a_settlement(turn))(lease=turn.lease, turn=the_event(2), outcome=Advance())
    )

    assert settled.fate is Fate.LOST
    assert await picture(harness) == before


@line("T3")
async def test_effects_take_their_conversations_next_oseq_in_order(harness: Harness) -> None:
    await ask_for(harness, an_effect("a"), an_effect("x", lane="bob"), an_effect("b"))
    await ask_for(harness, an_effect("c", of=the_event(2)), event=an_event(2))

    places = {}
    for key, turn in (("a", 1), ("b", 1), ("c", 2), ("x", 1)):
        effect = the_effect(key, of=the_event(turn))
        places[key] = (await effect_seen(harness, effect)).oseq
    assert places == {"a": 1, "b": 2, "c": 3, "x": 1}


@line("T3")
async def test_effects_are_performed_in_the_order_in_which_they_were_asked_for(harness: Harness) -> None:
    await ask_for(harness, *(an_effect(key) for key in "cab"))
    order = []

    for _ in range(3):
        send = await claim_send(harness)
        order.append(send.effect.key)
        await record(harness, send, await begin(harness, send), Confirmed())

    assert order == ["c", "a", "b"]


@line("T3")
async def test_the_first_content_of_an_effects_id_wins(harness: Harness) -> None:
    turn = await a_running_turn(harness)

    await settle(harness, turn, effects=(an_effect("0", payload=b"first"), an_effect("0", payload=b"second")))

    send = await claim_send(harness)
    assert send.effect.payload == b"first"
    assert (await harness.console.counts(ACME)).effects_pending == 1


@line("T3", "M2")
async def test_an_effect_that_was_flushed_is_not_asked_for_again_by_settle(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, flush=[an_effect("0", payload=b"flushed")])
    send = await claim_send(harness)
    await record(harness, send, await begin(harness, send), Confirmed())

    await settle(harness, turn, effects=(an_effect("0", payload=b"again"), an_effect("1")))

    second = await claim_send(harness)
    assert (second.effect.key, second.effect.oseq) == ("1", 2)


@line("T2")
async def test_pending_effects_may_be_cancelled_and_others_are_left_alone(harness: Harness) -> None:
    await an_armed_send(harness, an_effect("armed"), an_effect("pending"))
    turn = await a_running_turn(harness, an_event(2))

    await settle(harness, turn, cancel_effects=(the_effect("armed"), the_effect("pending"), the_effect("unknown")))

    assert (await effect_seen(harness, the_effect("armed"))).state is EffectState.ARMED
    assert (await effect_seen(harness, the_effect("pending"))).state is EffectState.CANCELLED


@line("T2", "G7")
async def test_a_settlement_cancels_no_other_tenants_effects(harness: Harness) -> None:
    await ask_for(harness, an_effect())
    turn = await a_running_turn(harness, an_event(tenant=BOLT))

    await settle(harness, turn, cancel_effects=(the_effect(),))

    assert (await effect_seen(harness, the_effect())).state is EffectState.PENDING


@line("T2", "G8")
async def test_cancelling_the_only_effect_lets_its_conversation_rest(harness: Harness) -> None:
    await ask_for(harness, an_effect(lane="bob"))
    turn = await a_running_turn(harness, an_event(2))

    await settle(harness, turn, cancel_effects=(the_effect(),))

    assert await claim_sends(harness) == ()
    assert await phase_of(harness, "bob", side=Side.SENDS) is Phase.IDLE


@line("T4")
async def test_a_delayed_head_waits_and_order_holds(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))

    await settle(harness, await claim_one(harness), Delay(after=seconds(3), reason="busy"))
    early = (await phase_of(harness), await claim(harness))
    await pass_time(harness, seconds(3))

    assert early == (Phase.WAITING, ())
    assert providers_ids(await claim_one(harness)) == ["ann-1"]


@line("T4")
async def test_a_delay_waits_its_whole_time(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness), Delay(after=seconds(3), reason="busy"))

    await pass_time(harness, seconds(2.9))

    assert await claim(harness) == ()


@line("T4")
async def test_tries_stay_with_a_delay_that_counts(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness), Delay(after=seconds(1), reason="busy"))
    await pass_time(harness, seconds(1))

    assert (await claim_one(harness)).tries == 2


@line("T4")
async def test_a_delay_that_the_handler_asked_for_takes_its_try_back(harness: Harness) -> None:
    turn = await a_running_turn(harness)

    await settle(harness, turn, Delay(after=seconds(1), reason="not before nine", counts=False))
    await pass_time(harness, seconds(1))

    assert (await claim_one(harness)).tries == 1


@line("T4")
async def test_a_delayed_turns_events_stay_frozen(harness: Harness) -> None:
    await accept(harness, an_event(1, window=a_window(events_max=2)), an_event(2, window=a_window(events_max=2)))
    turn = await claim_one(harness)
    await settle(harness, turn, Delay(after=seconds(1), reason="busy"))
    await accept(harness, an_event(3, window=a_window(events_max=9)))
    await pass_time(harness, seconds(1))

    again = await claim_one(harness)

    assert (again.id, providers_ids(again)) == (turn.id, ["ann-1", "ann-2"])


@line("T5")
async def test_a_parked_lane_stops_with_its_reason_until_an_operator_acts(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))

    await settle(harness, await claim_one(harness), Park(reason="ask Olive"))
    await pass_time(harness, timedelta(days=30))

    view = await lane_seen(harness)
    assert (view.phase, view.reason, view.tries, view.waiting) == (Phase.PARKED, "ask Olive", 1, 2)
    assert await claim(harness) == ()


@line("T6")
async def test_a_set_aside_event_is_kept_whole_and_the_lane_goes_on(harness: Harness) -> None:
    await accept(harness, an_event(1, payload=b"\x00\xff"), an_event(2))

    await settle(harness, await claim_one(harness), SetAside(reason="cannot be parsed"))

    (aside,) = await harness.console.asides(ACME)
    shown = await harness.console.aside_show(ACME, the_event(1), actor=OPERATOR)
    assert (aside.id, aside.seq, aside.reason, aside.tries) == (the_event(1), 1, "cannot be parsed", 1)
    assert (aside.at, aside.payload, shown.payload) == (harness.clock.now(), None, b"\x00\xff")
    assert (await event_seen(harness, the_event(1))).state is EventState.SET_ASIDE
    assert providers_ids(await claim_one(harness)) == ["ann-2"]


@line("T6")
async def test_all_events_of_a_turn_are_set_aside_together(harness: Harness) -> None:
    await accept(harness, *(an_event(n, window=a_window(events_max=2)) for n in (1, 2, 3)))

    await settle(harness, await claim_one(harness), SetAside(reason="bad"))

    assert sorted(aside.seq for aside in await harness.console.asides()) == [1, 2]
    assert (await harness.console.counts(ACME)).set_aside == 2


@line("T6", "T7")
async def test_steps_of_a_set_aside_turn_stay_for_a_replay(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, [a_step()])
    await settle(harness, turn, SetAside(reason="bad"))

    await harness.console.replay(ACME, the_event(), actor=OPERATOR)

    assert (await claim_one(harness)).steps == (a_step(),)


@line("T7")
async def test_steps_of_a_delayed_turn_stay(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, [a_step()])
    await settle(harness, turn, Delay(after=seconds(1), reason="busy"))
    await pass_time(harness, seconds(1))

    assert (await claim_one(harness)).steps == (a_step(),)


@line("T7", "T5")
async def test_steps_of_a_parked_turn_stay(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, [a_step()])
    await settle(harness, turn, Park(reason="ask Olive"))

    await harness.console.resume(ACME, the_lane(), actor=OPERATOR)

    assert (await claim_one(harness)).steps == (a_step(),)


@line("T7")
async def test_an_outcome_clears_the_turns_deaths(harness: Harness) -> None:
    await a_running_turn(harness, alone=True)
    await pass_time(harness, TTL)
    suspect = await claim_one(harness, suspects=True)

    await settle(harness, suspect, Delay(after=seconds(1), reason="busy"))
    await pass_time(harness, seconds(1))
    again = await claim_one(harness)

    assert (suspect.deaths, suspect.deaths_alone) == (1, 1)
    assert (again.deaths, again.deaths_alone) == (0, 0)


@line("T7", "S1")
async def test_a_settled_try_is_no_death(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))
    await settle(harness, await claim_one(harness))

    swept = await pass_time(harness, TTL)

    assert (swept.leases_freed, swept.deaths) == (0, 0)
    assert (await claim_one(harness)).deaths == 0


@line("T10")
async def test_a_pause_of_the_turn_stops_the_turns_behind_it(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))
    pause = PauseDraft(duration=seconds(30), keep_effects=False, reason="a person takes over")

    await settle(harness, await claim_one(harness), pause=pause)
    view, early = await lane_seen(harness), await claim(harness)
    await pass_time(harness, seconds(30))

    assert (view.phase, view.paused_until) == (Phase.PAUSED, harness.clock.now())
    assert early == ()
    assert providers_ids(await claim_one(harness)) == ["ann-2"]


@line("T10")
async def test_effects_of_the_pausing_turn_and_before_it_still_go(harness: Harness) -> None:
    await ask_for(harness, an_effect("before"))
    turn = await a_running_turn(harness, an_event(2))
    pause = PauseDraft(duration=None, keep_effects=False, reason="a person takes over")

    await settle(harness, turn, pause=pause, effects=(an_effect("own", of=the_event(2)),))

    order = []
    for _ in range(2):
        send = await claim_send(harness)
        order.append(send.effect.key)
        await record(harness, send, await begin(harness, send), Confirmed())
    assert order == ["before", "own"]


@line("T10", "S4")
async def test_effects_that_come_to_the_conversation_during_the_pause_wait_and_are_cancelled_at_its_end(
    harness: Harness,
) -> None:
    pause = PauseDraft(duration=seconds(30), keep_effects=False, reason="a person takes over")
    await settle(harness, await a_running_turn(harness), pause=pause, effects=(an_effect("own"),))
    await ask_for(harness, an_effect("from elsewhere"), event=an_event(1, lane="bob"))
    send = await claim_send(harness)
    await record(harness, send, await begin(harness, send), Confirmed())

    waiting = await claim_sends(harness)
    await pass_time(harness, seconds(30))

    assert (send.effect.key, waiting) == ("own", ())
    assert await claim_sends(harness) == ()
    assert (await effect_seen(harness, the_effect("from elsewhere"))).state is EffectState.CANCELLED


@line("T11")
async def test_a_kept_lane_answers_its_next_turn_under_a_new_epoch(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2), an_event(3))
    turn = await claim_one(harness)

    settled = await settle(harness, turn, state=b"s", keep_for=seconds(20))

    held = settled.next
    assert held is not None
    assert (providers_ids(held), held.state, held.tries) == (["ann-2"], b"s", 1)
    assert held.lease.epoch > turn.lease.epoch
    assert (held.lease.lane, held.lease.worker) == (turn.lease.lane, turn.lease.worker)
    assert await claim(harness, worker=OTHER) == ()


@line("T11", "S1")
async def test_a_kept_lane_is_held_for_as_long_as_was_asked(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))
    await settle(harness, await claim_one(harness), keep_for=seconds(20))

    early = await pass_time(harness, seconds(19))
    late = await pass_time(harness, seconds(1))

    assert (early.deaths, late.deaths) == (0, 1)


@line("T11")
async def test_a_lane_without_next_turn_is_not_kept(harness: Harness) -> None:
    turn = await a_running_turn(harness)

    settled = await settle(harness, turn, keep_for=TTL)

    assert settled.next is None
    assert await phase_of(harness) is Phase.IDLE


@line("T11", "T10")
async def test_a_lane_that_pauses_is_not_kept(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))
    pause = PauseDraft(duration=None, keep_effects=False, reason="a person takes over")

    settled = await settle(harness, await claim_one(harness), pause=pause, keep_for=TTL)

    assert settled.next is None
    assert await phase_of(harness) is Phase.PAUSED


@line("T11", "T4")
async def test_a_delayed_lane_is_not_kept(harness: Harness) -> None:
    turn = await a_running_turn(harness)

    settled = await settle(harness, turn, Delay(after=seconds(1), reason="busy"), keep_for=TTL)

    assert settled.next is None


@line("T11", "C4")
async def test_a_kept_lanes_next_turn_is_frozen_too(harness: Harness) -> None:
    await accept(harness, an_event(1), *(an_event(n, window=a_window(events_max=2)) for n in (2, 3, 4)))

    settled = await settle(harness, await claim_one(harness), keep_for=TTL)
    assert settled.next is not None
    await harness.store.release([settled.next.lease])

    assert providers_ids(settled.next) == ["ann-2", "ann-3"]
    assert providers_ids(await claim_one(harness)) == ["ann-2", "ann-3"]


@line("G2", "T2", needs=(Guarantee.DURABLE,))
async def test_all_of_a_settlement_survives_a_restart(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await settle(
        harness,
        turn,
        state=b"s",
        effects=(an_effect(),),
        reminders=(ReminderDraft(name="later", after=seconds(5), payload=b"r"),),
    )

    await harness.reopen()

    await pass_time(harness, seconds(5))
    again = await claim_one(harness)
    assert (again.state, again.events[0].kind, again.events[0].seq) == (b"s", "reminder.later", 2)
    assert (await claim_send(harness)).effect.payload == b"hello"
