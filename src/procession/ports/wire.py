"""The wire: one outward HTTP call, and exactly what is known after it.

Sending once hangs on one question: may the other side have taken what we wanted to send? So a call does not raise for
what networks do; it answers one of three values.

    Answered    the other side spoke: a whole, well-formed answer, whatever its status
    NotSent     the other side certainly has nothing of it: not one byte of the request was handed over
    Unclear     at least one byte was handed over and no whole answer came back: it may have been taken, or may be yet

Nothing in between: what cannot be proven to be NotSent is Unclear. The line that parts them is the first byte of the
request.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Protocol


def _always() -> bool:
    return True


@dataclass(frozen=True, slots=True, kw_only=True)
class WireRequest:
    """One call. URL, headers and body may hold secrets and personal content: no repr shows them."""

    method: str
    url: str = field(repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    body: bytes = field(default=b"", repr=False)
    deadline: timedelta
    """From now to the last byte of the answer; waiting for a connection, name lookup and handshakes are part of it."""
    may_begin: Callable[[], bool] = field(default=_always, repr=False)
    """Asked once, right before the first byte: False when the caller's trust is gone by then."""


class Unsent(StrEnum):
    """Why nothing went out."""

    URL_REFUSED = "url_refused"
    """Not an http(s) URL that has only one reading; another try will not help."""
    HEADERS_REFUSED = "headers_refused"
    """A method or header that cannot stand on the wire, or that is the wire's own; another try will not help."""
    ADDRESS_REFUSED = "address_refused"
    """The address policy does not let us go there."""
    NAME_UNKNOWN = "name_unknown"
    """The name did not resolve."""
    UNREACHABLE = "unreachable"
    """No address took the connection, or it was closed again before anything was written."""
    TLS_FAILED = "tls_failed"
    """No handshake, or a certificate that is not of this host."""
    CROWDED = "crowded"
    """No connection came free in time: too many calls are under way."""
    OUT_OF_TIME = "out_of_time"
    """The deadline passed before the first byte."""
    TRUST_LOST = "trust_lost"
    """`may_begin` said no."""
    CLOSED = "closed"
    """The wire is closed."""


class Doubt(StrEnum):
    """Why it is not known whether the other side took the request."""

    WRITE_TIMED_OUT = "write_timed_out"
    """The deadline passed with a part of the request still unwritten."""
    READ_TIMED_OUT = "read_timed_out"
    """The deadline passed before the whole answer was there."""
    BROKEN_OFF = "broken_off"
    """The connection broke before the answer began."""
    CUT = "cut"
    """The connection ended within the answer."""
    GARBLED = "garbled"
    """What came back is not HTTP/1, or not an answer to this request."""
    OVERSIZED = "oversized"
    """The answer is larger than we read."""
    CLOSED = "closed"
    """The wire was closed during the call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """A whole answer. Redirects, 4xx and 5xx are answers too."""

    status: int
    """200 to 599; interim answers (1xx) are passed over."""
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """In the order received, names in lower case."""
    body: bytes = field(default=b"", repr=False)
    """As it came, chunks joined; never decompressed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotSent:
    """Not one byte of the request was handed over."""

    reason: Unsent
    detail: str = ""
    """For an operator's eyes: an error's name, a host, a header's name; never a URL, a value or a body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unclear:
    """At least one byte of the request was handed over, and no whole answer came back."""

    reason: Doubt
    bytes_written: int
    """At least 1; an upper estimate of what the other side may have of the request."""
    status: int | None = None
    """What the answer began with, if it came so far: a hint for an operator, not a verdict."""
    detail: str = ""


WireAnswer = Answered | NotSent | Unclear


class WirePort(Protocol):
    """Makes outward HTTP calls. The real one is `runtime/wire`; the simulation has its own."""

    async def call(self, request: WireRequest) -> WireAnswer:
        """Make one HTTP call.

        Does
            1. Sends the request once to the host of its URL, and reads one answer.
            2. Asks `may_begin` at most once per connection tried, synchronously right before the first byte would be
            handed over.
            3. Follows no redirect, uses no proxy, keeps no cookie, decompresses nothing.

        Requires
            4. `deadline` counts from the call.
            5. `may_begin` neither blocks nor awaits.
            6. Headers that frame the exchange (Host, Content-Length, Transfer-Encoding, Connection, Accept-Encoding,
            Expect, …)
               are the wire's own and are not given.

        Ensures
            7. The bytes of one request go out on one connection at most: a call is never silently repeated once its
            first byte
               was handed over. Before that it may go on to a fresh connection.
            8. It returns within the deadline.
            9. It connects only to an address that the policy allows; every address of the name must be allowed.
            10. A connection whose exchange did not end whole and clean, by cancellation too, is closed and never used
            again. 11. Neither URL, header values, nor bodies show up in reasons, details, reprs or exceptions.

        Answers
            12. Answered: a whole answer was read.
            13. NotSent: not one byte of the request was handed over.
            14. Unclear: everything else.

        Raises
            15. CancelledError, when the caller is cancelled: then whether something was sent is not known.
            16. What `may_begin` raises; nothing was sent then.
        """
        ...

    async def close(self) -> None:
        """End the wire.

        Does
            1. Closes every connection. Calls under way answer Unclear (CLOSED) or, before their first byte, NotSent
            (CLOSED).
            2. May be called twice.

        Ensures
            3. Later calls answer NotSent (CLOSED).
            4. When it returns no connection is open.
        """
        ...
