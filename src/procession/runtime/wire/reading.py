"""Reading one answer, with every bound checked while it comes in.

The parser (llhttp, strict) knows HTTP's syntax; here is what it leaves open. Interim answers are passed over. An
answer with neither length nor chunks ends where the connection ends. Whatever follows a whole answer, where nothing
was asked, makes the connection worthless, but not the answer. And a header that never ends, or an endless row of
interim answers, has to be stopped by counting raw bytes, since the parser reports neither.
"""

import re
from typing import Final

import httptools

from procession.ports.wire import Answered, Doubt
from procession.runtime.wire.limits import WireLimits

_KEEP: Final = re.compile(r"timeout=([0-9]{1,6})", re.ASCII)
_RAW_FACTOR: Final = 8
"""A chunked body of single bytes takes six raw bytes for each; more than eight is nothing but chunk extensions."""


class _Stop(Exception):
    """Raised into the parser, so that it reads no further."""


class Reading:
    """The answers of one connection, one after the other."""

    __slots__ = (
        "_bodiless",
        "_body",
        "_body_bytes",
        "_close_delimited",
        "_done",
        "_fault",
        "_head_bytes",
        "_head_done",
        "_headers",
        "_limits",
        "_parser",
        "_raw_bytes",
        "_started",
        "_status",
        "clean",
        "keep_seconds",
    )

    def __init__(self, limits: WireLimits) -> None:
        self._limits = limits
        self._parser = httptools.HttpResponseParser(self)
        self._status = 0
        self.clean = True
        """Whether the connection may be used for another exchange."""
        self.keep_seconds: float | None = None
        """How long the other side says that it keeps an unused connection."""
        self.expect(bodiless=False)

    def expect(self, *, bodiless: bool) -> None:
        """Begin another answer; `bodiless`: the one to a HEAD."""
        self._bodiless = bodiless
        self._headers: list[tuple[str, str]] = []
        self._body: list[bytes] = []
        self._raw_bytes = self._head_bytes = self._body_bytes = self._status = 0
        self._started = self._head_done = self._done = self._close_delimited = False
        self._fault: Doubt | None = None

    @property
    def status(self) -> int | None:
        return self._status or None

    def feed(self, chunk: bytes) -> Answered | Doubt | None:
        """What is known after these bytes; None: more are needed."""
        self._started = True
        self._raw_bytes += len(chunk)
        try:
            self._parser.feed_data(chunk)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.clean = False
            if not self._done:
                return self._fault or Doubt.GARBLED
        if self._done:
            return self._answer()
        if self._raw_bytes > self._raw_bytes_max():
            return Doubt.OVERSIZED
        return None

    def end(self) -> Answered | Doubt:
        """What is known when the other side closed in good order."""
        self.clean = False
        if self._close_delimited:
            return self._answer()
        return Doubt.CUT if self._started else Doubt.BROKEN_OFF

    def broken(self) -> Doubt:
        """What is known when the connection broke."""
        self.clean = False
        return Doubt.CUT if self._started else Doubt.BROKEN_OFF

    def release(self) -> None:
        """Part with the parser: the two hold each other."""
        del self._parser

    def _answer(self) -> Answered:
        return Answered(status=self._status, headers=tuple(self._headers), body=b"".join(self._body))

    def _raw_bytes_max(self) -> int:
        head = self._limits.head_bytes_max
        return head + _RAW_FACTOR * self._limits.body_bytes_max if self._head_done else head

    # What follows is called by the parser.

    def on_message_begin(self) -> None:
        if self._done:
            self.clean = False
            raise _Stop

    def on_header(self, name: bytes, value: bytes) -> None:
        self._head_bytes += len(name) + len(value)
        if self._head_bytes > self._limits.head_bytes_max or len(self._headers) >= self._limits.headers_max:
            self._stop(Doubt.OVERSIZED)
        if not self._head_done:
            self._headers.append((name.decode("latin-1").lower(), value.decode("latin-1")))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            self._headers.clear()
            return
        if not 200 <= status < 600 or self._parser.get_http_version() not in ("1.1", "1.0"):
            self._stop(Doubt.GARBLED)
        self._status = status
        self._head_done = True
        self._read_framing()
        if self._bodiless:
            # The parser cannot be told that no body follows: it is left behind, with the connection.
            self._done = True
            raise _Stop

    def on_body(self, chunk: bytes) -> None:
        self._body_bytes += len(chunk)
        if self._body_bytes > self._limits.body_bytes_max:
            self._stop(Doubt.OVERSIZED)
        self._body.append(chunk)

    def on_message_complete(self) -> None:
        if not self._head_done:
            return
        self._done = True
        if not self._parser.should_keep_alive():
            self.clean = False

    def _read_framing(self) -> None:
        self.keep_seconds = None
        framed = False
        for name, value in self._headers:
            if name == "content-length":
                framed = True
                # The parser has checked that these are digits; too long a row of them is too large in any case.
                if not self._bodiless and (len(value) > 18 or int(value) > self._limits.body_bytes_max):
                    self._stop(Doubt.OVERSIZED)
            elif name == "transfer-encoding":
                framed = framed or value.lower().rstrip().endswith("chunked")
            elif name == "keep-alive" and (match := _KEEP.search(value)):
                self.keep_seconds = float(match[1])
        self._close_delimited = not framed

    def _stop(self, doubt: Doubt) -> None:
        self._fault = doubt
        raise _Stop
