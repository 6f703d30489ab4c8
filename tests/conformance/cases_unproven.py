"""D8: what may have been taken is never said not to have been, also where the provider drops repeats."""

import pytest

from procession.core.effect import EffectState, Repeatability
from procession.core.verdict import Deferred, Refused, Uncertain, Verdict
from tests.conformance.acts import an_armed_send, begin, claim_send, effect_seen, pass_time, record
from tests.conformance.builders import ACME, OPERATOR, an_effect, seconds, some_terms, the_effect, the_lane
from tests.conformance.harness import Harness
from tests.conformance.lines import line

UNCLEAR = Uncertain(reason="the line broke", after=seconds(1))


async def an_unproven_effect(harness: Harness, *, tries_max: int = 20, answer_within: float = 3600) -> None:
    """Its first attempt ended without a clear answer, and its second is due."""
    terms = some_terms(repeatability=Repeatability.KEYED, tries_max=tries_max, answer_within=seconds(answer_within))
    send, attempt = await an_armed_send(harness, an_effect(terms=terms))
    await record(harness, send, attempt, UNCLEAR)
    await pass_time(harness, seconds(1))


@pytest.mark.parametrize("verdict", [Refused(reason="no"), Deferred(after=seconds(1), reason="not reached")])
@line("D8")
async def test_what_a_later_attempt_learns_proves_nothing_of_the_first(harness: Harness, verdict: Verdict) -> None:
    await an_unproven_effect(harness, tries_max=2)

    send = await claim_send(harness)
    await begin(harness, send)
    await record(harness, send, 2, verdict)

    view = await effect_seen(harness, the_effect())
    assert view.state is EffectState.DOUBT
    assert "an earlier try may have been taken" in view.reason


@line("D8", "B3")
async def test_an_unproven_effect_that_grew_too_old_is_in_doubt(harness: Harness) -> None:
    await an_unproven_effect(harness, answer_within=60)
    await pass_time(harness, seconds(60))

    send = await claim_send(harness)
    await harness.store.begin(send.lease, send.effect.id, 2)

    assert (await effect_seen(harness, the_effect())).state is EffectState.DOUBT


@line("D8")
async def test_an_unproven_effect_is_not_cancelled(harness: Harness) -> None:
    await an_unproven_effect(harness)
    await harness.console.pause(ACME, the_lane(), seconds(5), actor=OPERATOR)

    cancelled = await harness.console.cancel(ACME, the_effect(), actor=OPERATOR)
    await pass_time(harness, seconds(6))

    assert not cancelled
    assert (await claim_send(harness)).effect.state is EffectState.PENDING


@line("D8")
async def test_a_declared_resend_takes_the_doubt_of_the_first_attempt_upon_itself(harness: Harness) -> None:
    await an_unproven_effect(harness, tries_max=2)
    send = await claim_send(harness)
    await begin(harness, send)
    await record(harness, send, 2, UNCLEAR)
    await harness.console.resolve(ACME, the_effect(), "resend", actor=OPERATOR)

    again = await claim_send(harness)
    await begin(harness, again)
    await record(harness, again, 3, Refused(reason="no"))

    assert (await effect_seen(harness, the_effect())).state is EffectState.REFUSED
