"""How a channel's effects are to be sent: settings that every connector's channels have.

gate          = "accepted"    # or "sent", "delivered", "read": what an effect must have reached before the next goes
gate_wait     = 5             # seconds; so long after its acceptance the next goes anyway
gate_gap      = 0             # seconds; at least so long between its acceptance and the next
doubt_policy  = "park"        # or "resend", "skip": when it stays unknown whether the provider has taken one
doubt_wait    = 60            # seconds until that policy applies
resends_max   = 3             # resend only: after so many it is parked instead
on_refused    = "continue"    # or "park": what a refusal does to those behind it
tries_max     = 20            # tries that count, before it is refused for good
answer_within = 86400         # seconds; older than this when it is to be sent: refused, not sent
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final, TypeVar

from procession.core.effect import DoubtPolicy, Gate, Receipt, RefusedPolicy, Repeatability, Terms
from procession.core.errors import Misconfigured
from procession.ports.directory import Setting

SEND_TERMS: Final = frozenset(
    {"gate", "gate_wait", "gate_gap", "doubt_policy", "doubt_wait", "resends_max", "on_refused", "tries_max"}
    | {"answer_within"}
)
_AS_IT_IS: Final = Terms()
_WAIT_MAX: Final = timedelta(days=30)
"""Of every duration here: longer than any provider's window, short enough that nothing is kept for ever."""
_COUNT_MAX: Final = 1_000
_GATES: Final = {receipt.name.lower(): receipt for receipt in Receipt if receipt is not Receipt.NONE}
P = TypeVar("P", DoubtPolicy, RefusedPolicy)


def read_terms(settings: Mapping[str, Setting], repeatability: Repeatability, otherwise: Terms = _AS_IT_IS) -> Terms:
    """The terms of an effect of this channel, for an action of this repeatability; `otherwise` is what its connector
    does without a setting. `Misconfigured`, if one is wrong.
    """
    gate = otherwise.gate
    return Terms(
        repeatability=repeatability,
        gate=Gate(
            receipt=_receipt(settings.get("gate", gate.receipt.name.lower())),
            wait_max=_duration("gate_wait", settings, gate.wait_max),
            gap=_duration("gate_gap", settings, gate.gap),
            unshown=gate.unshown,
        ),
        doubt=_policy("doubt_policy", settings, otherwise.doubt),
        doubt_wait=_duration("doubt_wait", settings, otherwise.doubt_wait),
        resends_max=_count("resends_max", settings, otherwise.resends_max),
        on_refused=_policy("on_refused", settings, otherwise.on_refused),
        tries_max=_count("tries_max", settings, otherwise.tries_max),
        answer_within=_duration("answer_within", settings, otherwise.answer_within),
        window=otherwise.window,
    )


def _receipt(value: Setting) -> Receipt:
    found = _GATES.get(str(value))
    if found is None:
        raise Misconfigured(f"gate = {value!r}: it must be one of {', '.join(map(repr, _GATES))}")
    return found


def _duration(name: str, settings: Mapping[str, Setting], otherwise: timedelta) -> timedelta:
    value = settings.get(name, otherwise.total_seconds())
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _WAIT_MAX.total_seconds():
        raise Misconfigured(f"{name} = {value!r}: it must be seconds, from 0 to {_WAIT_MAX.days} days")
    return timedelta(seconds=value)


def _count(name: str, settings: Mapping[str, Setting], otherwise: int) -> int:
    value = settings.get(name, otherwise)
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= _COUNT_MAX:
        raise Misconfigured(f"{name} = {value!r}: it must be a whole number from 1 to {_COUNT_MAX}")
    return value


def _policy(name: str, settings: Mapping[str, Setting], otherwise: P) -> P:
    value = settings.get(name, str(otherwise))
    try:
        return type(otherwise)(str(value))
    except ValueError:
        known = ", ".join(repr(str(policy)) for policy in type(otherwise))
        raise Misconfigured(f"{name} = {value!r}: it must be one of {known}") from None
