"""One POST to Graph, and what its answer makes of the effect.

Graph drops no repeats: there is no key to give it. So only what is known not to have been taken is simply sent again;
everything else stays in doubt until a status echoes our id, which goes along as `biz_opaque_callback_data`.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final, assert_never

import msgspec

from procession.connectors.plain.perform import backoff
from procession.connectors.whatsapp.actions import HARMLESS
from procession.connectors.whatsapp.codes import CODES, Code, Says
from procession.connectors.whatsapp.settings import is_id, read_settings
from procession.core.errors import Misconfigured
from procession.core.limits import LANE_KEY_CHARS_MAX
from procession.core.verdict import Confirmed, Deferred, Halted, Refused, Scope, Uncertain, Verdict
from procession.ports.connector import Call
from procession.ports.wire import Answered, NotSent, Unclear, Unsent, WirePort, WireRequest

TOKEN: Final = "token"  # noqa: S105 (the name of a field)
ECHOED: Final = "biz_opaque_callback_data"
PAIR_STEPS_MAX: Final = 5
"""1, 4, 16, 64, 256, 1024 seconds, and no longer."""
_ASK_AGAIN: Final = timedelta(seconds=1)
_FOREVER_WRONG: Final = frozenset({Unsent.URL_REFUSED, Unsent.HEADERS_REFUSED, Unsent.ADDRESS_REFUSED})
_NOT_ITS_FAULT: Final = frozenset({Unsent.TRUST_LOST, Unsent.CLOSED, Unsent.CROWDED})
_JSON: Final = msgspec.json.Decoder()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What Graph's own error says of itself."""

    code: int
    passing: bool
    """`is_transient`: Graph thinks that it will pass."""


async def send(call: Call, wire: WirePort) -> Verdict:
    request = _request(call)
    if not isinstance(request, WireRequest):
        return request
    answer = await wire.call(request)
    match answer:
        case Answered():
            return _careless(call, _judged(call, answer))
        case NotSent():
            return _not_sent(call, answer)
        case Unclear():
            return Uncertain(reason=f"no whole answer: {answer.reason}", after=_ASK_AGAIN)
        case _ as never:
            assert_never(never)


def _request(call: Call) -> WireRequest | Verdict:
    channel, token = call.channel, call.secrets.get(TOKEN, b"").strip()
    if not is_id(channel.account):
        return Refused(reason="the channel has no account: the id of its phone number at Meta")
    if not token:
        # Nothing is lost: it waits until there is one.
        return Halted(reason=f"channel {channel.name} has no {TOKEN}", scope=Scope.CHANNEL)
    try:
        settings = read_settings(channel.settings)
    except Misconfigured as wrong:
        return Halted(reason=str(wrong), scope=Scope.CHANNEL)
    body = _body(call)
    if body is None:
        return Refused(reason="the payload is no JSON object")
    return WireRequest(
        method="POST",
        url=f"{settings.url}/{channel.account}/messages",
        headers=(("content-type", "application/json"), ("authorization", f"Bearer {token.decode('latin-1')}")),
        body=body,
        deadline=min(call.deadline, settings.timeout),
        may_begin=call.may_begin,
    )


def _body(call: Call) -> bytes | None:
    """The payload, with our id in it; what only marks something (read, typing) has no status that could echo it."""
    payload = call.effect.payload.strip()
    if not payload.startswith(b"{") or not payload.endswith(b"}"):
        return None
    if call.effect.action in HARMLESS:
        return payload
    inner = payload[:-1].rstrip()
    comma = b"" if inner == b"{" else b","
    return inner + comma + msgspec.json.encode({ECHOED: call.effect.id})[1:]


# --- judging ---


def _judged(call: Call, answer: Answered) -> Verdict:
    read = read_answer(answer.body)
    fault = fault_of(read)
    if fault is None:
        return _taken(call, answer.status, read)
    code = CODES.get(fault.code)
    if code is not None:
        return _by_code(call, fault.code, code)
    reason = f"{fault.code}: an error that is not in the table (HTTP {answer.status})"
    if 400 <= answer.status < 500 and not fault.passing:
        # Graph's own error, of the class "your request": it was looked at and not taken. To leave it in doubt would
        # park a conversation for each parameter that some new rule of Meta's forbids.
        return Refused(code=str(fault.code), reason=reason)
    return Uncertain(reason=reason, after=_ASK_AGAIN)


def read_answer(body: bytes) -> object:
    try:
        read: object = _JSON.decode(body)
    except (ValueError, RecursionError):
        return None
    return read


def fault_of(read: object) -> Fault | None:
    error = read.get("error") if isinstance(read, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    if not isinstance(error, dict) or isinstance(code, bool) or not isinstance(code, int):
        return None
    return Fault(code=code, passing=error.get("is_transient") is True)


def _taken(call: Call, status: int, read: object) -> Verdict:
    if 200 <= status < 300 and isinstance(read, dict) and "error" not in read:
        if call.effect.action in HARMLESS and read.get("success") is True:
            return Confirmed()
        ref = _ref(read)
        if ref is not None:
            return Confirmed(ref=ref)
    return Uncertain(reason=f"HTTP {status}, and neither an id nor an error of Graph's in it", after=_ASK_AGAIN)


def _ref(read: object) -> str | None:
    sent = read.get("messages") if isinstance(read, dict) else None
    first = sent[0] if isinstance(sent, list) and sent else None
    ref = first.get("id") if isinstance(first, dict) else None
    return ref if isinstance(ref, str) and 0 < len(ref) <= LANE_KEY_CHARS_MAX and ref.isprintable() else None


def _by_code(call: Call, number: int, code: Code) -> Verdict:
    reason = f"{number}: {code.words}"
    match code.says:
        case Says.PAIR:
            steps = min(max(call.attempt - 1, 0), PAIR_STEPS_MAX)
            return Deferred(after=timedelta(seconds=4**steps), reason=reason, counts=False)
        case Says.LATER:
            return Deferred(after=code.after, reason=reason, counts=False, scope=code.scope)
        case Says.UNCLEAR:
            return Uncertain(reason=reason, after=_ASK_AGAIN)
        case Says.HALT:
            return Halted(reason=reason, code=str(number), scope=code.scope)
        case Says.NEVER:
            return Refused(reason=reason, code=str(number))
        case _ as never:
            assert_never(never)


def _careless(call: Call, verdict: Verdict) -> Verdict:
    """What is worth nothing a moment later (read, typing) waits for no limit: it would hold the reply behind it."""
    if isinstance(verdict, Deferred) and call.effect.action in HARMLESS:
        return Refused(reason=verdict.reason)
    return verdict


def _not_sent(call: Call, answer: NotSent) -> Verdict:
    if answer.reason in _FOREVER_WRONG:
        return Refused(code=str(answer.reason), reason=answer.detail or "the URL cannot be called")
    counts = answer.reason not in _NOT_ITS_FAULT
    after = backoff(call) if counts else timedelta(0)
    return Deferred(after=after, reason=f"not sent: {answer.reason}", counts=counts)
