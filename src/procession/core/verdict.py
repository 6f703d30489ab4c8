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


@dataclass(frozen=True, slots=True, kw_only=True)
class Deferred:
    """Known not taken, and worth another try: could not connect, nothing written, or a code that says so."""

    after: timedelta
    reason: str
    counts: bool = True
    """False: no fault of this effect (throttled, account stopped): the try is not counted."""


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


Verdict = Confirmed | Deferred | Refused | Uncertain | Absent
