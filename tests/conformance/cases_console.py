"""The console: what can be seen, and what an operator can do about it."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from procession.core.effect import EffectState, Receipt, RefusedPolicy
from procession.core.errors import BadRequest
from procession.core.event import EventState
from procession.core.ids import EffectId, EventId, LaneId, QuarantineId
from procession.core.lane import Phase, Side
from procession.core.turn import Delay, Park, SetAside
from procession.core.verdict import Confirmed, Fate, Refused
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
    providers_ids,
    record,
    settle,
)
from tests.conformance.builders import (
    ACME,
    BOLT,
    OPERATOR,
    TTL,
    a_quarantined,
    a_window,
    an_effect,
    an_event,
    an_intake,
    number,
    seconds,
    some_terms,
    the_effect,
    the_event,
    the_lane,
    version,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture

# --- what can be seen ---


@line("K3")
async def test_an_event_is_found_by_its_id_its_providers_id_its_effect_and_that_ones_reference(
    harness: Harness,
) -> None:
    send, attempt = await an_armed_send(harness)
    await record(harness, send, attempt, Confirmed(ref="ref-1"))

    found = [await harness.console.why(what, ACME) for what in (the_event(), "ann-1", the_effect(), "ref-1")]

    assert [[view.id for view in views] for views in found] == [[the_event()]] * 4


@line("K3", "G7")
async def test_a_name_that_several_tenants_use_is_answered_for_each_or_for_the_one_named(harness: Harness) -> None:
    await accept(harness, an_event(), an_event(tenant=BOLT))

    both = await harness.console.why("ann-1")
    one = await harness.console.why("ann-1", BOLT)

    assert sorted(view.tenant for view in both) == [ACME, BOLT]
    assert [view.tenant for view in one] == [BOLT]


@line("K3")
async def test_nothing_is_found_of_what_is_not_there(harness: Harness) -> None:
    assert await harness.console.why("nothing") == ()
    assert await harness.console.why("nothing", ACME) == ()
    assert await harness.console.lane(ACME, "nothing") == ((), ())


@line("K3")
async def test_the_life_of_an_event_tells_its_tries_and_effects(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness), Delay(after=seconds(1), reason="model busy"))
    await pass_time(harness, seconds(1))
    await settle(harness, await claim_one(harness), effects=(an_effect("0"), an_effect("1")))

    view = await event_seen(harness, the_event())

    assert (view.tenant, view.lane, view.lane_key, view.seq, view.kind) == (ACME, the_lane(), "ann", 1, "note")
    assert (view.state, view.turn) == (EventState.DONE, the_event())
    assert [(each.number, each.how, each.reason) for each in view.tries] == [(1, "delayed", "model busy")]
    assert [(effect.key, effect.oseq, effect.turn) for effect in view.effects] == [
        ("0", 1, the_event()),
        ("1", 2, the_event()),
    ]


@line("K3", "S1", "R1")
async def test_a_try_that_died_or_was_released_is_told_as_that(harness: Harness) -> None:
    await a_running_turn(harness)
    await pass_time(harness, TTL)
    again = await claim_one(harness, suspects=True, alone=True)
    running = (await event_seen(harness, the_event())).tries
    await pass_time(harness, TTL)
    last = await claim_one(harness, suspects=True)
    await harness.store.release([last.lease], uncount=False)

    tries = (await event_seen(harness, the_event())).tries

    assert again.tries == 2
    assert [each.how for each in running] == ["died", "running"]
    assert [each.how for each in tries] == ["died", "died alone", "released"]


@line("K3")
async def test_whatever_waits_says_for_what_and_since_when(harness: Harness) -> None:
    await a_doubt(harness, an_effect("0"), an_effect("1"))
    await accept(harness, an_event(2, order=number(2)), an_event(3), an_event(4))

    held = await event_seen(harness, the_event(2))
    ready = await event_seen(harness, the_event(3))
    behind = await event_seen(harness, the_event(4))
    doubt = await effect_seen(harness, the_effect("0"))
    blocked = await effect_seen(harness, the_effect("1"))
    done = await event_seen(harness, the_event(1))

    for view in (held, ready, behind, doubt, blocked):
        assert view.waits_for
    for event in (held, ready, behind):
        assert event.waits_since is not None
    assert done.waits_for == ""


@line("K3")
async def test_lanes_that_are_not_idle_are_shown_the_longest_waiting_first(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness, an_event(lane="idle")))
    for lane in ("c", "a", "b"):
        await accept(harness, an_event(lane=lane))
        harness.clock.advance(seconds(1))

    views = await harness.console.lanes()

    assert [view.lane_key for view in views] == ["c", "a", "b"]
    assert [view.lane_key for view in await harness.console.lanes(limit=2)] == ["c", "a"]


@line("K3", "G7")
async def test_lanes_are_found_by_tenant_phase_and_side(harness: Harness) -> None:
    await ask_for(harness, an_effect())
    await accept(harness, an_event(tenant=BOLT))
    await settle(harness, await claim_one(harness), Park(reason="ask"))

    console = harness.console
    parked = await console.lanes(phase=Phase.PARKED)
    sends = await console.lanes(side=Side.SENDS)
    mine = await console.lanes(ACME)
    idle = await console.lanes(ACME, Phase.IDLE, Side.TURNS)

    assert [(view.tenant, view.side) for view in parked] == [(BOLT, Side.TURNS)]
    assert [(view.tenant, view.side) for view in sends] == [(ACME, Side.SENDS)]
    assert [(view.tenant, view.side) for view in mine] == [(ACME, Side.SENDS)]
    assert [(view.tenant, view.side) for view in idle] == [(ACME, Side.TURNS)]


@line("K3")
async def test_a_lane_is_shown_by_id_or_key_with_both_sides_and_its_unfinished_events(harness: Harness) -> None:
    await ask_for(harness, an_effect("0"), an_effect("1"))
    await accept(harness, an_event(2), an_event(3))

    by_id = await harness.console.lane(ACME, the_lane())
    by_key = await harness.console.lane(ACME, "ann")

    sides, events = by_id
    assert by_key == by_id
    assert {view.side: (view.phase, view.waiting) for view in sides} == {
        Side.TURNS: (Phase.READY, 2),
        Side.SENDS: (Phase.READY, 2),
    }
    assert [event.id for event in events] == [the_event(2), the_event(3)]


@line("K3")
async def test_counts_are_those_of_the_tenant_or_of_all(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2, order=version(5, window=5)), an_event(tenant=BOLT))
    await settle(harness, next(turn for turn in await claim(harness) if turn.lease.tenant == ACME))

    mine, theirs, all_of_it = [await harness.console.counts(tenant) for tenant in (ACME, BOLT, None)]

    assert (mine.accepted, mine.done, mine.held, mine.waiting, mine.lanes) == (2, 1, 1, 0, 1)
    assert (theirs.accepted, theirs.done, theirs.waiting, theirs.lanes) == (1, 0, 1, 1)
    assert (all_of_it.accepted, all_of_it.done, all_of_it.lanes) == (3, 1, 2)


@line("K3")
async def test_effects_are_counted_by_where_they_stand(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, *(an_effect(f"{n}") for n in range(4)))
    await record(harness, send, attempt, Confirmed())
    second = await claim_send(harness)
    await record(harness, second, await begin(harness, second), Refused(reason="no"))
    await harness.console.cancel(ACME, the_effect("3"), actor=OPERATOR)

    counts = await harness.console.counts(ACME)

    assert (counts.effects_confirmed, counts.effects_refused, counts.effects_pending) == (1, 1, 1)


@line("K3")
async def test_the_newest_set_aside_events_and_audit_rows_fit_the_limit(harness: Harness) -> None:
    for n in range(3):
        await settle(harness, await a_running_turn(harness, an_event(n)), SetAside(reason="bad"))
        await harness.console.aside_show(ACME, the_event(n), actor=OPERATOR)

    assert len(await harness.console.asides(limit=2)) == 2
    assert len(await harness.console.audit(limit=2)) == 2
    assert await harness.console.asides(BOLT) == ()


@line("K3")
async def test_no_list_shows_a_body(harness: Harness) -> None:
    secret = b"what a person wrote"
    await accept(harness, an_event(payload=secret), quarantined=(a_quarantined(secret),))
    await settle(harness, await claim_one(harness), SetAside(reason="bad"), effects=(an_effect(payload=secret),))
    await ask_for(harness, an_effect(payload=secret), event=an_event(2, payload=secret))

    seen = repr((await picture(harness), await event_seen(harness, the_event(2))))

    assert secret.decode() not in seen


# --- the operator's hand ---


@line("K2")
async def test_a_skipped_head_is_passed_and_the_lane_goes_on(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))

    skipped = await harness.console.skip(ACME, the_lane(), actor=OPERATOR)

    assert skipped == the_event(1)
    assert (await event_seen(harness, the_event(1))).state is EventState.SKIPPED
    assert providers_ids(await claim_one(harness)) == ["ann-2"]


@line("K2", "T5")
async def test_a_parked_head_can_be_skipped(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))
    await settle(harness, await claim_one(harness), Park(reason="ask"))

    await harness.console.skip(ACME, the_lane(), actor=OPERATOR)

    turn = await claim_one(harness)
    assert (providers_ids(turn), turn.tries) == (["ann-2"], 1)


@line("K2", "C4")
async def test_all_events_of_a_frozen_turn_are_skipped_with_it(harness: Harness) -> None:
    await accept(harness, *(an_event(n, window=a_window(events_max=2)) for n in (1, 2)), an_event(3))
    await settle(harness, await claim_one(harness), Park(reason="ask"))

    await harness.console.skip(ACME, the_lane(), actor=OPERATOR)

    assert [(await event_seen(harness, the_event(n))).state for n in (1, 2)] == [EventState.SKIPPED] * 2
    assert providers_ids(await claim_one(harness)) == ["ann-3"]


@line("K2")
async def test_a_lane_that_is_held_cannot_be_skipped(harness: Harness) -> None:
    await a_running_turn(harness)
    before = await picture(harness)

    with pytest.raises(BadRequest):
        await harness.console.skip(ACME, the_lane(), actor=OPERATOR)

    assert await picture(harness) == before


@line("K2", "K4")
async def test_skipping_an_empty_lane_answers_none(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness))
    before = await picture(harness)

    assert await harness.console.skip(ACME, the_lane(), actor=OPERATOR) is None
    assert await picture(harness) == before


@line("K2")
async def test_a_skipped_effect_is_passed_and_the_conversation_goes_on(harness: Harness) -> None:
    await a_doubt(harness, an_effect("0", terms=some_terms(doubt_wait=1)), an_effect("1"))
    await pass_time(harness, seconds(1))

    skipped = await harness.console.skip(ACME, the_lane(), actor=OPERATOR, side=Side.SENDS)

    assert skipped == the_effect("0")
    assert (await effect_seen(harness, the_effect("0"))).state is EffectState.SKIPPED
    assert (await claim_send(harness)).effect.key == "1"


@line("T5", "K1")
async def test_a_parked_lane_is_resumed_with_its_tries_from_zero(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness), Park(reason="ask"))

    resumed = await harness.console.resume(ACME, the_lane(), actor=OPERATOR)

    turn = await claim_one(harness)
    assert resumed
    assert (turn.id, turn.tries) == (the_event(), 1)


@line("D4", "K1")
async def test_a_conversation_that_is_parked_for_a_refusal_is_resumed_behind_it(harness: Harness) -> None:
    terms = some_terms(on_refused=RefusedPolicy.PARK)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=terms), an_effect("1"))
    await record(harness, send, attempt, Refused(reason="no"))

    await harness.console.resume(ACME, the_lane(), actor=OPERATOR)

    assert (await claim_send(harness)).effect.key == "1"


@line("T6", "K1", "K4")
async def test_a_set_aside_event_may_be_given_up(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness), SetAside(reason="bad"))

    first = await harness.console.aside_drop(ACME, the_event(), actor=OPERATOR)
    before = await picture(harness)
    second = await harness.console.aside_drop(ACME, the_event(), actor=OPERATOR)

    assert (first, second) == (True, False)
    assert (await event_seen(harness, the_event())).state is EventState.SKIPPED
    assert await harness.console.asides() == ()
    assert await picture(harness) == before


@line("A9", "K4")
async def test_a_quarantined_body_may_be_dropped(harness: Harness) -> None:
    await accept(harness, quarantined=(a_quarantined(),))
    kept = a_quarantined().id

    first = await harness.console.quarantine_drop(kept, actor=OPERATOR)
    second = await harness.console.quarantine_drop(kept, actor=OPERATOR)

    assert (first, second) == (True, False)
    assert await harness.console.quarantine() == ()


@line("A1", "A9", "K4")
async def test_a_quarantined_body_may_be_routed_by_an_ordinary_accept(harness: Harness) -> None:
    await accept(harness, an_event(1), quarantined=(a_quarantined(),))
    kept = a_quarantined().id
    intake = an_intake(an_event(1), an_event(2))

    first = await harness.console.quarantine_routed(kept, intake, actor=OPERATOR)
    second = await harness.console.quarantine_routed(kept, an_intake(an_event(3)), actor=OPERATOR)

    assert (first, second) == (True, False)
    assert await harness.console.quarantine() == ()
    assert (await event_seen(harness, the_event(2))).seq == 2
    assert await harness.console.why(the_event(3)) == ()


@line("K2", "A8")
async def test_a_doubt_is_resolved_as_sent(harness: Harness) -> None:
    await a_doubt(harness, an_effect("0", terms=some_terms(doubt_wait=1)), an_effect("1"))
    await pass_time(harness, seconds(1))
    parked = await phase_of(harness, side=Side.SENDS)

    resolved = await harness.console.resolve(ACME, the_effect("0"), "sent", actor=OPERATOR)

    assert (parked, resolved) == (Phase.PARKED, True)
    assert (await effect_seen(harness, the_effect("0"))).state is EffectState.CONFIRMED
    assert (await claim_send(harness)).effect.key == "1"


@line("K2")
async def test_a_doubt_is_resolved_by_sending_again(harness: Harness) -> None:
    await a_doubt(harness, an_effect("0"), an_effect("1"))

    resolved = await harness.console.resolve(ACME, the_effect("0"), "resend", actor=OPERATOR)

    again = await claim_send(harness)
    assert resolved
    assert (again.effect.key, again.effect.state, again.effect.resends) == ("0", EffectState.PENDING, 1)
    assert await begin(harness, again) == 2


@line("K2")
async def test_a_doubt_is_resolved_by_passing_it(harness: Harness) -> None:
    await a_doubt(harness, an_effect("0"), an_effect("1"))

    await harness.console.resolve(ACME, the_effect("0"), "skip", actor=OPERATOR)

    assert (await effect_seen(harness, the_effect("0"))).state is EffectState.SKIPPED
    assert (await claim_send(harness)).effect.key == "1"


@line("K4")
async def test_a_doubt_is_resolved_once(harness: Harness) -> None:
    await a_doubt(harness)
    await harness.console.resolve(ACME, the_effect(), "sent", actor=OPERATOR)
    before = await picture(harness)

    again = await harness.console.resolve(ACME, the_effect(), "resend", actor=OPERATOR)

    assert not again
    assert await picture(harness) == before


@line("K2")
async def test_a_doubt_cannot_be_resolved_in_words_that_mean_nothing(harness: Harness) -> None:
    await a_doubt(harness)
    before = await picture(harness)

    with pytest.raises(BadRequest):
        await harness.console.resolve(ACME, the_effect(), "perhaps", actor=OPERATOR)

    assert await picture(harness) == before


@line("K2", "K4")
async def test_an_effect_that_was_not_begun_may_be_cancelled(harness: Harness) -> None:
    await ask_for(harness, an_effect("0"), an_effect("1"))

    first = await harness.console.cancel(ACME, the_effect("0"), actor=OPERATOR)
    second = await harness.console.cancel(ACME, the_effect("0"), actor=OPERATOR)

    assert (first, second) == (True, False)
    assert (await claim_send(harness)).effect.key == "1"


@line("K2")
async def test_an_effect_that_was_begun_is_not_cancelled(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness)

    cancelled = await harness.console.cancel(ACME, the_effect(), actor=OPERATOR)

    assert not cancelled
    assert (await record(harness, send, attempt, Confirmed())).fate is Fate.KEPT


@line("B2", "K4")
async def test_all_sending_can_be_stopped_and_let_go_on(harness: Harness) -> None:
    console = harness.console
    answers = [await console.sending(paused=paused, actor=OPERATOR) for paused in (True, True, False, False)]
    await a_send(harness)

    assert answers == [True, False, True, False]


Verb = Callable[[Harness], Awaitable[object]]


async def a_scene_for_every_verb(harness: Harness) -> None:
    """Something of each kind that a verb is about: a doubt, a set-aside event, a waiting one, a quarantined body."""
    await a_doubt(harness, an_effect("0"), an_effect("1"))
    await settle(harness, await a_running_turn(harness, an_event(2)), SetAside(reason="bad"))
    await settle(harness, await a_running_turn(harness, an_event(3)), SetAside(reason="bad"))
    await accept(harness, an_event(4), quarantined=(a_quarantined(), a_quarantined(b"[")))


VERBS: dict[str, Verb] = {
    "aside_show": lambda h: h.console.aside_show(ACME, the_event(2), actor=OPERATOR),
    "quarantine_show": lambda h: h.console.quarantine_show(a_quarantined().id, actor=OPERATOR),
    "pause": lambda h: h.console.pause(ACME, the_lane(), seconds(5), actor=OPERATOR),
    "resume": lambda h: h.console.resume(ACME, the_lane(), actor=OPERATOR),
    "skip": lambda h: h.console.skip(ACME, the_lane(), actor=OPERATOR),
    "replay": lambda h: h.console.replay(ACME, the_event(2), actor=OPERATOR),
    "aside_drop": lambda h: h.console.aside_drop(ACME, the_event(3), actor=OPERATOR),
    "quarantine_drop": lambda h: h.console.quarantine_drop(a_quarantined().id, actor=OPERATOR),
    "quarantine_routed": lambda h: h.console.quarantine_routed(
        a_quarantined(b"[").id, an_intake(an_event(9)), actor=OPERATOR
    ),
    "resolve": lambda h: h.console.resolve(ACME, the_effect("0"), "sent", actor=OPERATOR),
    "cancel": lambda h: h.console.cancel(ACME, the_effect("1"), actor=OPERATOR),
    "sending": lambda h: h.console.sending(paused=True, actor=OPERATOR),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS.keys())
@line("K1")
async def test_each_verb_leaves_one_audit_row_that_names_its_actor(harness: Harness, verb: Verb) -> None:
    await a_scene_for_every_verb(harness)
    if verb is VERBS["resume"]:
        await VERBS["pause"](harness)
    before = await harness.console.audit()

    await verb(harness)

    newest, *older = await harness.console.audit()
    assert tuple(older) == before
    assert (newest.actor, newest.at) == (OPERATOR, harness.clock.now())
    assert newest.verb
    assert newest.tenant in (ACME, None)


UNKNOWN: dict[str, Verb] = {
    "aside_show": lambda h: h.console.aside_show(BOLT, the_event(2), actor=OPERATOR),
    "quarantine_show": lambda h: h.console.quarantine_show(QuarantineId("nothing"), actor=OPERATOR),
    "pause": lambda h: h.console.pause(BOLT, LaneId("nowhere"), None, actor=OPERATOR),
    "skip": lambda h: h.console.skip(BOLT, LaneId("nowhere"), actor=OPERATOR),
}


@pytest.mark.parametrize("verb", UNKNOWN.values(), ids=UNKNOWN.keys())
@line("K2", "G7")
async def test_a_verb_about_what_is_not_there_is_refused_in_words(harness: Harness, verb: Verb) -> None:
    await a_scene_for_every_verb(harness)
    before = await picture(harness)

    with pytest.raises(BadRequest) as refused:
        await verb(harness)

    assert str(refused.value)
    assert await picture(harness) == before


ELSEWHERE: dict[str, Verb] = {
    "replay": lambda h: h.console.replay(BOLT, the_event(2), actor=OPERATOR),
    "aside_drop": lambda h: h.console.aside_drop(BOLT, the_event(3), actor=OPERATOR),
    "quarantine_drop": lambda h: h.console.quarantine_drop(QuarantineId("nothing"), actor=OPERATOR),
    "resolve": lambda h: h.console.resolve(BOLT, the_effect("0"), "sent", actor=OPERATOR),
    "resolve nothing": lambda h: h.console.resolve(ACME, EffectId("nothing"), "sent", actor=OPERATOR),
    "cancel": lambda h: h.console.cancel(BOLT, the_effect("1"), actor=OPERATOR),
    "replay nothing": lambda h: h.console.replay(ACME, EventId("nothing"), actor=OPERATOR),
}


@pytest.mark.parametrize("verb", ELSEWHERE.values(), ids=ELSEWHERE.keys())
@line("K4", "G7")
async def test_a_verb_about_another_tenants_things_changes_nothing_and_says_so(harness: Harness, verb: Verb) -> None:
    await a_scene_for_every_verb(harness)
    before = await picture(harness)

    with suppress(BadRequest):
        assert await verb(harness) is False
    assert await picture(harness) == before


@line("K1", "G2", needs=(Guarantee.DURABLE,))
async def test_what_an_operator_did_survives_a_restart(harness: Harness) -> None:
    await a_scene_for_every_verb(harness)
    for name in ("pause", "resolve", "cancel", "aside_drop", "quarantine_drop", "sending"):
        await VERBS[name](harness)
    before = await picture(harness)

    await harness.reopen()

    assert await picture(harness) == before
    assert (await lane_seen(harness)).paused_until is not None
    assert (await effect_seen(harness, the_effect("0"))).receipt is not Receipt.READ
    assert await claim_sends(harness) == ()


@line("B2", "K2")
async def test_a_send_that_is_claimed_can_still_be_cancelled(harness: Harness) -> None:
    send = await a_send(harness)

    cancelled = await harness.console.cancel(ACME, send.effect.id, actor=OPERATOR)

    assert cancelled
    assert (await effect_seen(harness, the_effect())).state is EffectState.CANCELLED


@line("B2", "G6")
async def test_a_new_era_voids_leases_stops_sending_and_doubts_what_may_have_gone(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0"), an_effect("1"))
    turn = await a_running_turn(harness, an_event(2))

    era = await harness.console.new_era(actor=OPERATOR, reason="restored from a backup")

    assert era > turn.lease.era
    assert (await settle(harness, turn)).fate is Fate.LOST
    assert (await record(harness, send, attempt, Confirmed())).fate is Fate.LOST
    states = [(await effect_seen(harness, the_effect(key))).state for key in ("0", "1")]
    assert states == [EffectState.DOUBT, EffectState.DOUBT]
    assert (await claim_one(harness)).lease.era == era
    assert (await harness.console.audit())[0].actor == OPERATOR


@line("B2")
async def test_after_a_new_era_what_is_known_to_be_unsent_goes_once_sending_is_let(harness: Harness) -> None:
    await ask_for(harness, an_effect())
    await harness.console.new_era(actor=OPERATOR, reason="restored from a backup")
    stopped = await claim_sends(harness)

    await harness.console.resolve(ACME, the_effect(), "resend", actor=OPERATOR)
    await harness.console.sending(paused=False, actor=OPERATOR)

    assert stopped == ()
    assert await begin(harness, await claim_send(harness)) == 1
