"""begin: an effect is armed before its first byte, or not begun at all."""

from datetime import timedelta

from procession.core.effect import EffectState, Receipt, RefusedPolicy
from procession.core.lane import Phase, Side
from procession.core.turn import Began, HeldEffect, NotBegun
from procession.core.verdict import Confirmed, Deferred, Fate
from tests.conformance.acts import (
    a_send,
    accept,
    an_armed_send,
    begin,
    claim_send,
    claim_sends,
    effect_seen,
    pass_time,
    phase_of,
    record,
    see,
)
from tests.conformance.builders import (
    ACME,
    OPERATOR,
    TTL,
    a_sighting,
    an_effect,
    an_event,
    seconds,
    some_terms,
    the_effect,
    the_lane,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture


async def try_to_begin(harness: Harness, send: HeldEffect) -> Began | NotBegun:
    return await harness.store.begin(send.lease, send.effect.id, send.effect.attempts + 1)


@line("B1")
async def test_a_begun_effect_is_armed_under_its_attempt(harness: Harness) -> None:
    send = await a_send(harness)

    began = await try_to_begin(harness, send)

    view = await effect_seen(harness, the_effect())
    assert began == Began(attempt=1)
    assert (view.state, view.attempts) == (EffectState.ARMED, 1)
    assert await phase_of(harness, side=Side.SENDS) is Phase.HELD


@line("B1", "G4")
async def test_beginning_the_same_attempt_again_answers_the_same(harness: Harness) -> None:
    send = await a_send(harness)
    first = await try_to_begin(harness, send)
    before = await picture(harness)

    again = await try_to_begin(harness, send)

    assert again == first
    assert await picture(harness) == before


@line("B1")
async def test_each_attempt_has_the_next_number(harness: Harness) -> None:
    send, first = await an_armed_send(harness)
    await record(harness, send, first, Deferred(after=seconds(0), reason="refused connection"))

    second = await begin(harness, await claim_send(harness))

    assert (first, second) == (1, 2)


@line("B2")
async def test_nothing_is_begun_in_a_paused_conversation(harness: Harness) -> None:
    send = await a_send(harness)
    await harness.console.pause(ACME, the_lane(), None, actor=OPERATOR, keep_effects=True)

    answer = await try_to_begin(harness, send)

    assert isinstance(answer, NotBegun)
    assert answer.fate is Fate.KEPT
    assert answer.reason
    assert await phase_of(harness, side=Side.SENDS) is Phase.PAUSED
    assert (await effect_seen(harness, the_effect())).state is EffectState.PENDING


@line("B2", "G8")
async def test_a_cancelled_effect_is_not_begun_and_the_next_one_is_ready(harness: Harness) -> None:
    send = await a_send(harness, an_effect("0"), an_effect("1"))
    await harness.console.cancel(ACME, the_effect("0"), actor=OPERATOR)

    answer = await try_to_begin(harness, send)

    assert isinstance(answer, NotBegun)
    assert answer.fate is Fate.KEPT
    assert (await effect_seen(harness, the_effect("0"))).state is EffectState.CANCELLED
    assert (await claim_send(harness)).effect.key == "1"


@line("B2")
async def test_a_proven_effect_is_not_begun(harness: Harness) -> None:
    send = await a_send(harness)
    await see(harness, a_sighting(effect=the_effect(), receipt=Receipt.DELIVERED))

    answer = await try_to_begin(harness, send)

    assert isinstance(answer, NotBegun)
    assert answer.fate is Fate.KEPT
    assert (await effect_seen(harness, the_effect())).state is EffectState.CONFIRMED
    assert await claim_sends(harness) == ()


@line("B2")
async def test_nothing_is_begun_while_the_store_has_paused_sending(harness: Harness) -> None:
    send = await a_send(harness)
    await harness.console.sending(paused=True, actor=OPERATOR)

    answer = await try_to_begin(harness, send)

    assert isinstance(answer, NotBegun)
    assert answer.fate is Fate.KEPT
    assert (await effect_seen(harness, the_effect())).state is EffectState.PENDING
    assert await phase_of(harness, side=Side.SENDS) is not Phase.HELD


@line("B2")
async def test_sending_goes_on_when_it_is_let(harness: Harness) -> None:
    send = await a_send(harness)
    await harness.console.sending(paused=True, actor=OPERATOR)
    await try_to_begin(harness, send)

    await harness.console.sending(paused=False, actor=OPERATOR)

    assert await begin(harness, await claim_send(harness)) == 1


@line("B3")
async def test_an_effect_that_is_too_old_is_refused_and_not_sent(harness: Harness) -> None:
    terms = some_terms(answer_within=timedelta(hours=1))
    await a_send(harness, an_effect("0", terms=terms), an_effect("1"))
    await pass_time(harness, timedelta(hours=1) + seconds(1))
    send = await claim_send(harness)

    answer = await try_to_begin(harness, send)

    view = await effect_seen(harness, the_effect("0"))
    assert isinstance(answer, NotBegun)
    assert (answer.fate, view.state, view.reason) == (Fate.KEPT, EffectState.REFUSED, "too old")
    assert (await claim_send(harness)).effect.key == "1"


@line("B3", "D4")
async def test_a_refusal_for_age_may_park_the_conversation(harness: Harness) -> None:
    terms = some_terms(answer_within=timedelta(hours=1), on_refused=RefusedPolicy.PARK)
    await a_send(harness, an_effect("0", terms=terms), an_effect("1"))
    await pass_time(harness, timedelta(hours=1) + seconds(1))

    await try_to_begin(harness, await claim_send(harness))

    assert await phase_of(harness, side=Side.SENDS) is Phase.PARKED
    assert await claim_sends(harness) == ()


@line("B3")
async def test_an_effect_that_is_just_young_enough_is_sent(harness: Harness) -> None:
    await a_send(harness, an_effect(terms=some_terms(answer_within=timedelta(hours=1))))
    await pass_time(harness, timedelta(hours=1) - seconds(1))

    assert await begin(harness, await claim_send(harness)) == 1


@line("B1", "G6")
async def test_an_effect_that_is_not_the_lanes_head_is_not_begun(harness: Harness) -> None:
    send = await a_send(harness, an_effect("0"), an_effect("1"))

    answer = await harness.store.begin(send.lease, the_effect("1"), 1)

    assert isinstance(answer, NotBegun)
    assert (await effect_seen(harness, the_effect("1"))).state is EffectState.PENDING


@line("B1", "G2", needs=(Guarantee.DURABLE,))
async def test_an_arming_survives_a_restart_and_is_then_in_doubt(harness: Harness) -> None:
    await an_armed_send(harness)

    await harness.reopen()
    await pass_time(harness, TTL)

    assert (await effect_seen(harness, the_effect())).state is EffectState.DOUBT
    assert await claim_sends(harness) == ()


@line("B2", "T10")
async def test_an_operators_pause_lets_an_armed_effect_come_to_its_end(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness)
    await accept(harness, an_event(2))

    await harness.console.pause(ACME, the_lane(), None, actor=OPERATOR)

    assert (await record(harness, send, attempt, Confirmed(ref="r"))).fate is Fate.KEPT
    assert (await effect_seen(harness, the_effect())).state is EffectState.CONFIRMED
