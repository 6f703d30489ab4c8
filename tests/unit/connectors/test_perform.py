"""What the other side's answer makes of an effect: only what is known not to be taken is simply tried again."""

import base64
import hmac
from dataclasses import replace
from datetime import timedelta

import pytest

from procession.connectors.plain import PlainConnector
from procession.core.effect import Effect, EffectState, Terms
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, TenantId
from procession.core.verdict import Confirmed, Deferred, Refused, Uncertain, Verdict
from procession.ports.connector import Call
from procession.ports.wire import Answered, Doubt, NotSent, Unclear, Unsent, WireAnswer, WireRequest
from procession.testing.stand_ins import ManualClock
from tests.unit.connectors.deliveries import NOW, SECRET, channel


class SaidWire:
    """A wire that answers what it was told, and keeps what it was asked."""

    def __init__(self, answer: WireAnswer) -> None:
        self._answer = answer
        self.requests: list[WireRequest] = []

    async def call(self, request: WireRequest) -> WireAnswer:
        self.requests.append(request)
        return self._answer

    async def close(self) -> None: ...


def call(tries: int = 1) -> Call:
    effect = Effect(
        tenant=TenantId("acme"),
        id=EffectId("ef_1"),
        channel=ChannelName("main"),
        lane=LaneId("ln_1"),
        lane_key="a",
        oseq=1,
        turn=EventId("ev_1"),
        key="0",
        action="http",
        payload=b'{"hello": 1}',
        terms=Terms(),
        state=EffectState.PENDING,
        attempts=tries,
        tries=tries,
        asked_at=NOW,
    )
    return Call(
        effect=effect,
        attempt=tries,
        channel=channel(url="https://example.test/in"),
        secrets={"signing": SECRET},
        deadline=timedelta(seconds=30),
        may_begin=lambda: True,
    )


async def verdict_of(answer: WireAnswer, tries: int = 1) -> Verdict:
    return await PlainConnector(ManualClock(NOW)).perform(call(tries), SaidWire(answer))


async def test_the_call_carries_the_effects_id_and_a_signature_that_its_receiver_can_check() -> None:
    wire = SaidWire(Answered(status=200))

    await PlainConnector(ManualClock(NOW)).perform(call(), wire)

    headers = dict(wire.requests[0].headers)
    content = f"ef_1.{int(NOW.timestamp())}.".encode() + b'{"hello": 1}'
    expected = base64.b64encode(hmac.digest(SECRET, content, "sha256")).decode()
    assert headers["webhook-id"] == "ef_1"
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert wire.requests[0].body == b'{"hello": 1}'


@pytest.mark.parametrize("status", [200, 201, 204])
async def test_a_2xx_confirms(status: int) -> None:
    assert await verdict_of(Answered(status=status)) == Confirmed()


@pytest.mark.parametrize("status", [301, 400, 401, 404, 409, 410, 422])
async def test_a_redirect_or_a_plain_no_refuses_for_good(status: int) -> None:
    found = await verdict_of(Answered(status=status))

    assert isinstance(found, Refused)
    assert found.code == str(status)


@pytest.mark.parametrize("status", [408, 500, 502, 504, 599])
async def test_what_failed_after_it_had_the_request_is_uncertain(status: int) -> None:
    assert isinstance(await verdict_of(Answered(status=status)), Uncertain)


@pytest.mark.parametrize("status", [425, 429, 503])
async def test_not_now_defers_by_retry_after(status: int) -> None:
    found = await verdict_of(Answered(status=status, headers=(("retry-after", "7"),)))

    assert isinstance(found, Deferred)
    assert found.after == timedelta(seconds=7)
    assert found.counts


@pytest.mark.parametrize("said", ["soon", "-1", "9" * 5000, ""])
async def test_a_retry_after_that_is_no_number_is_passed_over(said: str) -> None:
    found = await verdict_of(Answered(status=429, headers=(("retry-after", said),)))

    assert isinstance(found, Deferred)
    assert timedelta(0) < found.after <= timedelta(hours=1)


@pytest.mark.parametrize("reason", list(Doubt))
async def test_without_a_whole_answer_it_is_uncertain(reason: Doubt) -> None:
    assert isinstance(await verdict_of(Unclear(reason=reason, bytes_written=1)), Uncertain)


@pytest.mark.parametrize("reason", list(Unsent))
async def test_what_was_not_sent_is_never_uncertain(reason: Unsent) -> None:
    found = await verdict_of(NotSent(reason=reason))

    wrong = {Unsent.URL_REFUSED, Unsent.HEADERS_REFUSED, Unsent.ADDRESS_REFUSED}
    assert isinstance(found, Refused if reason in wrong else Deferred)


@pytest.mark.parametrize("reason", [Unsent.TRUST_LOST, Unsent.CLOSED, Unsent.CROWDED])
async def test_what_is_no_fault_of_the_effect_counts_no_try(reason: Unsent) -> None:
    found = await verdict_of(NotSent(reason=reason))

    assert isinstance(found, Deferred)
    assert not found.counts


async def test_waits_grow_with_the_tries_and_have_a_bound() -> None:
    waits = []
    for tries in (1, 2, 3, 50):
        found = await verdict_of(NotSent(reason=Unsent.UNREACHABLE), tries)
        assert isinstance(found, Deferred)
        waits.append(found.after)

    assert waits == sorted(waits)
    assert len(set(waits)) == 4
    assert waits[-1] == timedelta(minutes=5)


async def test_a_channel_without_a_url_refuses() -> None:
    without = replace(call(), channel=channel())
    wire = SaidWire(Answered(status=200))

    assert isinstance(await PlainConnector(ManualClock(NOW)).perform(without, wire), Refused)
    assert wire.requests == []
