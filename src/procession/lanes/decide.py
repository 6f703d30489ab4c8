"""What becomes of a try: pure, so that the whole table can be read and tested here.

the handler returned                          Advance, or what it has decided by turn.delay / park / set_aside
it raised, or ran past its deadline           Delay with backoff, until its tries are used up; then its policy
the turn killed its process, alone, n times   the policy, without another try
no handler for its kind                       Advance, counted; SetAside in a strict application
"""

from dataclasses import dataclass
from typing import Final

from procession.core.limits import DEATHS_ALONE_MAX
from procession.core.retry import Retry
from procession.core.turn import Advance, Delay, HeldTurn, Outcome, Park, SetAside
from procession.lanes.handler import WhenUsedUp

_REASON_CHARS_MAX: Final = 500
_DEFAULT: Final = Retry()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a try did not succeed, for an operator (`reason`) and for the log (`kind`, `where`: nothing of a body)."""

    reason: str
    kind: str
    where: str = ""


def failed(
    held: HeldTurn, failure: Failure, draw: float, *, retry: Retry = _DEFAULT, policy: WhenUsedUp = WhenUsedUp.SET_ASIDE
) -> Outcome:
    """The outcome of a try that failed."""
    # Tries that died with their process are not the turn's own failures: it may have died beside a guilty one.
    failures = max(1, held.tries - held.deaths)
    reason = failure.reason[:_REASON_CHARS_MAX]
    if not retry.used_up(failures):
        return Delay(after=retry.after(failures, draw), reason=reason)
    return given_up(policy, f"after {failures} {'try' if failures == 1 else 'tries'}: {reason}")


def is_condemned(held: HeldTurn) -> bool:
    """Has it shown that it is what kills its process?"""
    return held.deaths_alone >= DEATHS_ALONE_MAX


def condemned(held: HeldTurn, policy: WhenUsedUp) -> Outcome:
    return given_up(
        policy,
        f"it killed its process: {held.deaths} tries ended with it, {held.deaths_alone} of them while nothing else ran",
    )


def given_up(policy: WhenUsedUp, reason: str) -> Outcome:
    return Park(reason=reason) if policy is WhenUsedUp.PARK else SetAside(reason=reason)


def unhandled(kind: str, *, strict: bool) -> Outcome:
    return SetAside(reason=f"no handler for {kind}") if strict else Advance()
