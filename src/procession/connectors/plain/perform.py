"""POST an effect's payload to the channel's URL, signed by Standard Webhooks, its id as the key that drops repeats."""

from datetime import timedelta
from typing import assert_never

from procession.connectors.plain.actions import timeout_of
from procession.connectors.plain.codes import Says, says
from procession.connectors.standard_signature import key_of, signature_header
from procession.core.verdict import Confirmed, Deferred, Refused, Uncertain, Verdict
from procession.ports.clock import Clock
from procession.ports.connector import Call
from procession.ports.wire import Answered, NotSent, Unclear, Unsent, WirePort, WireRequest

AGAIN_AFTER = timedelta(seconds=1)
AGAIN_AFTER_MAX = timedelta(minutes=5)
_FOREVER_WRONG = frozenset({Unsent.URL_REFUSED, Unsent.HEADERS_REFUSED, Unsent.ADDRESS_REFUSED})
_NOT_ITS_FAULT = frozenset({Unsent.TRUST_LOST, Unsent.CLOSED, Unsent.CROWDED})


async def post(call: Call, wire: WirePort, clock: Clock) -> Verdict:
    url = call.channel.settings.get("url")
    if not isinstance(url, str):
        return Refused(reason="the channel has no url to send to")
    answer = await wire.call(
        WireRequest(
            method="POST",
            url=url,
            headers=_headers(call, clock),
            body=call.effect.payload,
            deadline=min(call.deadline, timedelta(seconds=timeout_of(call.channel.settings))),
            may_begin=call.may_begin,
        )
    )
    match answer:
        case Answered():
            return _judged(call, answer)
        case NotSent():
            return _not_sent(call, answer)
        case Unclear():
            return Uncertain(reason=f"no whole answer: {answer.reason}", after=backoff(call))
        case _ as never:
            assert_never(never)


def _headers(call: Call, clock: Clock) -> tuple[tuple[str, str], ...]:
    timestamp = str(int(clock.now().timestamp()))
    headers = [
        ("content-type", "application/json"),
        ("webhook-id", call.effect.id),
        ("webhook-timestamp", timestamp),
    ]
    key = key_of(call.secrets["signing"]) if "signing" in call.secrets else None
    if key is not None:
        signed = signature_header(key, call.effect.id, timestamp, call.effect.payload)
        headers.append(("webhook-signature", signed))
    return tuple(headers)


def _judged(call: Call, answer: Answered) -> Verdict:
    what, words = says(answer.status)
    match what:
        case Says.TAKEN:
            return Confirmed()
        case Says.NEVER:
            return Refused(code=str(answer.status), reason=words)
        case Says.LATER:
            return Deferred(after=_retry_after(answer) or backoff(call), reason=f"{answer.status}: {words}")
        case Says.UNCLEAR:
            return Uncertain(reason=f"{answer.status}: {words}", after=backoff(call))
        case _ as never:
            assert_never(never)


def _not_sent(call: Call, answer: NotSent) -> Verdict:
    if answer.reason in _FOREVER_WRONG:
        return Refused(code=str(answer.reason), reason=answer.detail or "the URL cannot be called")
    counts = answer.reason not in _NOT_ITS_FAULT
    after = backoff(call) if counts else timedelta(0)
    return Deferred(after=after, reason=f"not sent: {answer.reason}", counts=counts)


def backoff(call: Call) -> timedelta:
    """Doubles with each try that counted."""
    return min(AGAIN_AFTER * float(2 ** min(call.effect.tries, 16)), AGAIN_AFTER_MAX)


def _retry_after(answer: Answered) -> timedelta | None:
    said = next((value for name, value in answer.headers if name == "retry-after"), "")
    return min(timedelta(seconds=int(said[:9])), timedelta(hours=1)) if said.isdecimal() else None
