"""A conversation's window, an effect's age, and the gate of a channel that has never shown a status."""

from datetime import datetime, timedelta

import pytest

from procession.core.effect import EffectState, Receipt, RefusedPolicy
from procession.core.event import NewEvent, Stale
from procession.core.lane import Phase, Side
from procession.core.turn import NotBegun
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
    pass_time,
    phase_of,
    record,
    see,
    settle,
)
from tests.conformance.builders import (
    ACME,
    BOLT,
    MAIN,
    OPERATOR,
    a_sighting,
    an_effect,
    an_event,
    number,
    seconds,
    some_terms,
    the_effect,
    version,
)
from tests.conformance.clock import START
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture

HOUR = timedelta(hours=1)
IN_WINDOW = some_terms(window=HOUR)


async def heard_at(harness: Harness, *before: NewEvent) -> datetime | None:
    """What a turn of the lane is told, after these."""
    await accept(harness, *before)
    turn = await claim_one(harness)
    return turn.heard_at


# --- when somebody spoke (A11) ---


@line("A11")
async def test_a_lane_was_heard_from_when_its_subject_spoke(harness: Harness) -> None:
    spoke = START - seconds(20)

    assert await heard_at(harness, an_event(hears=True, occurred_at=spoke)) == spoke


@line("A11")
async def test_a_lane_that_only_others_speak_of_was_never_heard_from(harness: Harness) -> None:
    assert await heard_at(harness, an_event(occurred_at=START)) is None


@line("A11")
async def test_without_a_time_of_its_own_an_event_is_heard_now(harness: Harness) -> None:
    harness.clock.advance(seconds(3))

    assert await heard_at(harness, an_event(hears=True)) == START + seconds(3)


@line("A11")
async def test_nobody_is_heard_from_the_future(harness: Harness) -> None:
    assert await heard_at(harness, an_event(hears=True, occurred_at=START + HOUR)) == START


@line("A11")
async def test_what_is_heard_late_moves_nothing_back(harness: Harness) -> None:
    later = an_event(1, hears=True, occurred_at=START)
    earlier = an_event(2, hears=True, occurred_at=START - HOUR)

    assert await heard_at(harness, later, earlier) == START


@line("A11")
async def test_a_repeated_event_is_not_heard_again(harness: Harness) -> None:
    await accept(harness, an_event(hears=True))
    harness.clock.advance(seconds(5))

    assert await heard_at(harness, an_event(hears=True)) == START


@pytest.mark.parametrize("is_running", [False, True])
@line("A11")
async def test_what_comes_behind_a_head_is_heard_too(harness: Harness, is_running: bool) -> None:
    await accept(harness, an_event(1))
    turn = await claim_one(harness) if is_running else None
    await accept(harness, an_event(2, hears=True))
    if turn is not None:
        await settle(harness, turn)

    assert (await claim_one(harness)).heard_at == START


@line("A11", "A3")
async def test_an_event_that_waits_for_its_predecessor_is_heard_when_it_comes(harness: Harness) -> None:
    early = an_event(2, order=number(2), hears=True)

    assert await heard_at(harness, early, an_event(3)) == START


@line("A11", "A4")
async def test_a_dropped_event_is_heard_all_the_same(harness: Harness) -> None:
    stale = an_event(2, order=version(1, stale=Stale.DROP), hears=True)

    assert await heard_at(harness, an_event(1, order=version(2)), stale) == START


@line("A11", "G7")
async def test_each_conversation_is_heard_by_itself(harness: Harness) -> None:
    await accept(harness, an_event(hears=True, lane="bob"), an_event(hears=True, tenant=BOLT), an_event())
    turns = await claim(harness)

    assert sorted((turn.lane_key, turn.lease.tenant, turn.heard_at is None) for turn in turns) == [
        ("ann", ACME, True),
        ("ann", BOLT, False),
        ("bob", ACME, False),
    ]


@line("A11", "G2", needs=(Guarantee.DURABLE,))
async def test_what_was_heard_is_known_after_a_restart(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2, hears=True))

    await harness.reopen()

    assert (await claim_one(harness)).heard_at == START


# --- what is too late (B3) ---


async def asked_by(harness: Harness, event: NewEvent, *, age: timedelta = timedelta(0)) -> None:
    """A turn asks for an effect that only goes within an hour of what was heard; then time passes."""
    await settle(harness, await a_running_turn(harness, event), effects=(an_effect(terms=IN_WINDOW),))
    await pass_time(harness, age)


async def told(harness: Harness) -> NotBegun:
    send = await claim_send(harness)
    answer = await harness.store.begin(send.lease, send.effect.id, send.effect.attempts + 1)
    assert isinstance(answer, NotBegun)
    assert answer.fate is Fate.KEPT
    return answer


@line("B3")
async def test_within_the_window_an_effect_goes(harness: Harness) -> None:
    await asked_by(harness, an_event(hears=True), age=HOUR)

    assert await begin(harness, await claim_send(harness)) == 1


@line("B3")
async def test_a_window_that_has_closed_refuses_what_waited(harness: Harness) -> None:
    await asked_by(harness, an_event(hears=True), age=HOUR + seconds(1))

    answer = await told(harness)

    view = await effect_seen(harness, the_effect())
    assert (view.state, view.reason) == (EffectState.REFUSED, "the window is closed")
    assert answer.reason == "the window is closed"
    assert await phase_of(harness, side=Side.SENDS) is Phase.IDLE


@line("B3")
async def test_the_window_of_a_conversation_that_was_never_heard_from_is_closed(harness: Harness) -> None:
    await asked_by(harness, an_event())

    assert (await told(harness)).reason == "the window is closed"


@line("B3", "A11")
async def test_whoever_speaks_again_opens_the_window_again(harness: Harness) -> None:
    await asked_by(harness, an_event(hears=True), age=HOUR)
    await accept(harness, an_event(2, hears=True))
    await pass_time(harness, seconds(30))

    assert await begin(harness, await claim_send(harness)) == 1


@line("B3", "D4")
async def test_a_closed_window_may_park_the_conversation(harness: Harness) -> None:
    terms = some_terms(window=HOUR, on_refused=RefusedPolicy.PARK)
    await ask_for(harness, an_effect("0", terms=terms), an_effect("1"))

    await told(harness)

    assert await phase_of(harness, side=Side.SENDS) is Phase.PARKED


@line("B3")
async def test_an_effects_age_counts_from_what_it_answers(harness: Harness) -> None:
    terms = some_terms(answer_within=HOUR)
    await ask_for(harness, an_effect(terms=terms, about_at=START - HOUR))
    await pass_time(harness, seconds(1))

    assert (await told(harness)).reason == "too old"


@line("B3")
async def test_what_it_answers_cannot_make_an_effect_younger(harness: Harness) -> None:
    terms = some_terms(answer_within=seconds(20))
    await ask_for(harness, an_effect(terms=terms, about_at=START + HOUR))
    await pass_time(harness, seconds(21))

    assert (await told(harness)).reason == "too old"


# --- a channel that shows nothing (D11) ---

UNSHOWN = some_terms(gate=Receipt.DELIVERED, gate_wait=30, unshown=2)


async def two_sent(harness: Harness, event: NewEvent | None = None) -> None:
    """Two effects, of which the first was confirmed just now."""
    effects = (an_effect("0", terms=UNSHOWN), an_effect("1", terms=UNSHOWN))
    if event is not None:
        effects = (
            an_effect("0", of=event.id, lane=event.lane_key, terms=UNSHOWN),
            an_effect("1", of=event.id, lane=event.lane_key, terms=UNSHOWN),
        )
    await settle(harness, await a_running_turn(harness, event), effects=effects)
    send = await claim_send(harness)
    await record(harness, send, await begin(harness, send), Confirmed(ref="their-1"))


@line("D11", "S3")
async def test_where_no_status_was_ever_seen_the_gate_waits_only_so_long(harness: Harness) -> None:
    await two_sent(harness)
    at_once = await claim_sends(harness)
    swept = await pass_time(harness, seconds(2))

    assert at_once == ()
    assert swept.gates_expired == 1
    assert (await claim_send(harness)).effect.key == "1"


@pytest.mark.parametrize(("receipt", "failed"), [(Receipt.SENT, False), (Receipt.NONE, True)])
@line("D11", "A8")
async def test_once_any_status_came_the_gate_waits_as_long_as_it_says(
    harness: Harness, receipt: Receipt, failed: bool
) -> None:
    await see(harness, a_sighting(ref="another", receipt=receipt, failed=failed))
    await two_sent(harness)

    await pass_time(harness, seconds(2))

    assert await claim_sends(harness) == ()


@line("D11", "A8")
async def test_which_channels_have_shown_a_status_can_be_asked(harness: Harness) -> None:
    before = await harness.console.shown()
    await see(harness, a_sighting(ref="one", receipt=Receipt.ACCEPTED))
    accepted = await harness.console.shown()
    await see(harness, a_sighting(ref="one", receipt=Receipt.SENT))
    await see(harness, a_sighting(ref="two", tenant=BOLT, channel=MAIN, failed=True))

    assert before == accepted == frozenset()
    assert await harness.console.shown() == {(ACME, MAIN), (BOLT, MAIN)}
    assert await harness.console.shown(BOLT) == {(BOLT, MAIN)}


@line("D11")
async def test_that_it_was_accepted_shows_nothing(harness: Harness) -> None:
    await see(harness, a_sighting(ref="another", receipt=Receipt.ACCEPTED))
    await two_sent(harness)

    await pass_time(harness, seconds(2))

    assert (await claim_send(harness)).effect.key == "1"


@line("D11", "G7")
async def test_what_another_tenants_channel_shows_says_nothing(harness: Harness) -> None:
    await see(harness, a_sighting(ref="another", receipt=Receipt.READ, tenant=BOLT, channel=MAIN))
    await two_sent(harness)

    await pass_time(harness, seconds(2))

    assert (await claim_send(harness)).effect.key == "1"


@line("D11")
async def test_a_gate_keeps_the_wait_that_was_right_when_it_was_confirmed(harness: Harness) -> None:
    await two_sent(harness)
    await see(harness, a_sighting(ref="another"))
    bob = an_event(lane="bob")
    await two_sent(harness, bob)

    await pass_time(harness, seconds(2))

    assert [(await claim_send(harness)).effect.lane_key, await claim_sends(harness)] == ["ann", ()]


@line("D11")
async def test_a_longer_wait_for_what_shows_nothing_makes_no_gate_longer(harness: Harness) -> None:
    terms = some_terms(gate=Receipt.DELIVERED, gate_wait=1, unshown=10)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=terms), an_effect("1"))
    await record(harness, send, attempt, Confirmed())

    await pass_time(harness, seconds(1))

    assert (await claim_send(harness)).effect.key == "1"


@line("D11")
async def test_the_least_time_between_two_holds_also_where_nothing_is_shown(harness: Harness) -> None:
    terms = some_terms(gate=Receipt.DELIVERED, gate_wait=30, unshown=1, gap=3)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=terms), an_effect("1"))
    await record(harness, send, attempt, Confirmed())

    await pass_time(harness, seconds(1))
    early = await claim_sends(harness)
    await pass_time(harness, seconds(2))

    assert early == ()
    assert (await claim_send(harness)).effect.key == "1"


@line("D11")
async def test_an_operators_word_that_it_was_sent_is_a_confirmation_like_others(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness), effects=(an_effect("0", terms=UNSHOWN), an_effect("1")))
    send = await claim_send(harness)
    await begin(harness, send)
    await harness.store.release([send.lease])
    await harness.console.resolve(ACME, the_effect("0"), "sent", actor=OPERATOR)

    await pass_time(harness, seconds(2))

    assert (await claim_send(harness)).effect.key == "1"


@line("D11", "G2", needs=(Guarantee.DURABLE,))
async def test_that_a_channel_shows_statuses_is_known_after_a_restart(harness: Harness) -> None:
    await see(harness, a_sighting(ref="another"))
    await harness.reopen()
    await two_sent(harness)
    before = await picture(harness)

    await pass_time(harness, seconds(2))

    assert await picture(harness) == before
