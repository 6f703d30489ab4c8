"""What is known after a try to perform an effect, and what the store made of a write."""

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from procession.core.effect import Receipt


class Fate(StrEnum):
    """What became of a fenced write."""

    KEPT = "kept"
    LOST = "lost"
    """Another holds the lane by now (or a new era began): nothing was written, drop what you hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """The provider has taken it."""

    ref: str | None = None
    """The provider's own id of it."""
    receipt: Receipt = Receipt.ACCEPTED


class Scope(StrEnum):
    """Whose sends a provider's answer holds back."""

    CONVERSATION = "conversation"
    CHANNEL = "channel"
    """All of this channel (a phone number)."""
    TENANT = "tenant"
    """All of this tenant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """Known not taken, and worth another try: could not connect, nothing written, or a code that says so."""

    after: timedelta
    reason: str
    counts: bool = True
    """False: no fault of this effect (throttled): the try is not counted."""
    scope: Scope = Scope.CONVERSATION
    """What else is not begun before `after` is over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Halted:
    """Known not taken, and nothing will be until somebody acts (a token was revoked, an account is locked): all sends
    of the scope wait, no try is counted, the operator is told. A replaced credential releases them.
    """

    reason: str
    code: str = ""
    scope: Scope = Scope.TENANT


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Known not taken, for good."""

    reason: str
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Uncertain:
    """No clear answer after the first byte: it may have been taken, or may be yet."""

    reason: str
    after: timedelta = timedelta(seconds=1)
    """KEYED only: how long to wait before the same key is sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """A probe's proof that the provider never took it."""

    reason: str = ""


Verdict = Confirmed | Deferred | Halted | Refused | Uncertain | Absent
