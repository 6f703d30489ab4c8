"""O1 to O3: nothing before it may begin, Deferred only what is known not to be taken, our id goes along."""

import json
from datetime import timedelta

import pytest

from procession.core.effect import Repeatability
from procession.core.errors import BadRequest
from procession.core.pace import Pace
from procession.core.verdict import Confirmed, Deferred, Halted, Refused, Uncertain
from procession.ports.wire import Answered, Doubt, NotSent, Unclear, Unsent, WireAnswer
from tests.conformance.connectors.harness import OWN_ID, PERSON, WORDS, Harness, ToldWire
from tests.conformance.connectors.suite import shows

FOREVER_WRONG = (Unsent.URL_REFUSED, Unsent.HEADERS_REFUSED, Unsent.ADDRESS_REFUSED)
ODD_BODIES = (b"", b"{}", b"null", b"[" * 90_000, b"\xff", b'{"error": {"code": 1e99}}', b'{"messages": [[]]}')


@shows("O1")
async def test_nothing_is_written_when_trust_is_gone(harness: Harness) -> None:
    wire = ToldWire(harness.taken)

    found = await harness.connector.perform(harness.call(may_begin=False), wire)

    assert wire.written == []
    assert isinstance(found, Deferred)
    assert not found.counts


@shows("O1", "O3")
async def test_one_call_goes_out_within_its_deadline_and_our_id_goes_along(harness: Harness) -> None:
    wire = ToldWire(harness.taken)

    found = await harness.connector.perform(harness.call(), wire)

    assert isinstance(found, Confirmed)
    (request,) = wire.written
    assert timedelta(0) < request.deadline <= timedelta(seconds=7)
    said = json.dumps([request.headers, request.body.decode()])
    assert OWN_ID in said
    assert WORDS in said


@shows("O2")
@pytest.mark.parametrize("reason", list(Unsent))
async def test_what_was_not_sent_is_known_not_to_be_taken(harness: Harness, reason: Unsent) -> None:
    found = await harness.connector.perform(harness.call(), ToldWire(NotSent(reason=reason)))

    assert isinstance(found, Refused if reason in FOREVER_WRONG else Deferred)


@shows("O2")
@pytest.mark.parametrize("reason", list(Doubt))
async def test_a_cut_answer_is_uncertain(harness: Harness, reason: Doubt) -> None:
    answer = Unclear(reason=reason, bytes_written=1, status=200)

    assert isinstance(await harness.connector.perform(harness.call(), ToldWire(answer)), Uncertain)


@shows("O2")
@pytest.mark.parametrize("status", [500, 502, 504, 599])
@pytest.mark.parametrize("body", ODD_BODIES)
async def test_a_failure_after_it_had_the_request_is_uncertain(harness: Harness, status: int, body: bytes) -> None:
    answer = Answered(status=status, body=body)

    assert isinstance(await harness.connector.perform(harness.call(), ToldWire(answer)), Uncertain)


@shows("O2")
@pytest.mark.parametrize("status", [200, 204, 301, 400, 401, 403, 404, 408, 429, 503])
async def test_whatever_is_answered_there_is_a_verdict(harness: Harness, status: int) -> None:
    for body in ODD_BODIES:
        found = await harness.connector.perform(harness.call(), ToldWire(Answered(status=status, body=body)))
        assert isinstance(found, Confirmed | Deferred | Halted | Refused | Uncertain)


@shows("O2")
@pytest.mark.parametrize(
    "answer",
    [
        Answered(status=200, body=f"{PERSON} {WORDS}".encode()),
        Answered(status=400, body=json.dumps({"error": {"code": 131026, "message": f"{PERSON} {WORDS}"}}).encode()),
        Answered(status=503, body=f"{PERSON} {WORDS}".encode()),
        NotSent(reason=Unsent.UNREACHABLE),
        Unclear(reason=Doubt.CUT, bytes_written=9),
    ],
)
async def test_no_secret_no_number_and_no_words_are_in_what_is_shown(harness: Harness, answer: WireAnswer) -> None:
    wire = ToldWire(answer)

    verdict = await harness.connector.perform(harness.call(), wire)

    shown = repr([verdict, wire.asked])
    for secret in (PERSON, WORDS, *(secret.decode() for secret in harness.secrets.values())):
        assert secret not in shown


@shows("O2")
async def test_what_cannot_be_probed_proves_nothing_and_calls_nobody(harness: Harness) -> None:
    if Repeatability.PROBED in harness.connector.actions().values():
        pytest.skip("this connector probes")
    wire = ToldWire(harness.taken)

    assert isinstance(await harness.connector.probe(harness.call(), wire), Uncertain)
    assert wire.asked == []


@shows("O1")
def test_every_action_has_terms_that_say_what_a_repeat_does(harness: Harness) -> None:
    for action, repeatability in harness.connector.actions().items():
        assert harness.connector.terms(harness.mine.settings, action).repeatability is repeatability


@shows("O1")
def test_a_reply_of_words_is_shaped_and_passes_the_check(harness: Harness) -> None:
    shaped = harness.shaped()

    assert shaped.action in harness.connector.actions()
    harness.connector.check_payload(shaped.action, json.dumps(shaped.value).encode())


@shows("O1")
def test_an_action_that_it_does_not_have_is_refused_with_those_that_it_has(harness: Harness) -> None:
    with pytest.raises(BadRequest, match=next(iter(harness.connector.actions()))):
        harness.connector.check_payload("shout", b"{}")


@shows("O1")
def test_its_pace_is_none_or_bounds_something(harness: Harness) -> None:
    pace = harness.connector.pace(harness.mine)

    assert pace is None or pace != Pace()
