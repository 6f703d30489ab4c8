"""One whole request, and the answer that the application gives to it.

The application is called when the last byte of the request is here: a slow or lying peer never holds a coroutine of
it, and what it reads is complete. The framing of the answer is decided here alone; an application that breaks its own
announcement (a body longer or shorter than its Content-Length) costs the connection, since whatever followed would be
read as the next answer.
"""

import logging
from collections.abc import Generator, Iterable, Mapping
from http import HTTPStatus
from types import coroutine
from typing import Protocol, cast

from procession.ingress import refusals
from procession.ingress.asgi_types import ASGIApp, Scope

log = logging.getLogger("procession.ingress")

STATUS_LINES = {status.value: b"HTTP/1.1 %d %s\r\n" % (status.value, status.phrase.encode()) for status in HTTPStatus}
BODILESS = frozenset({204, 304})


class Wire(Protocol):
    """What an exchange needs of its connection."""

    is_full: bool

    @property
    def is_gone(self) -> bool: ...
    @property
    def is_ending(self) -> bool: ...
    def write(self, piece: bytes) -> None: ...
    async def drained(self) -> None: ...
    async def gone(self) -> None: ...
    def abort(self) -> None: ...


class BrokenAnswer(Exception):
    """The application sent something that is no answer."""


class PeerGone(OSError):
    """Nobody reads the rest. ASGI lets `send` raise an OSError then; a loop that streams would not end otherwise."""


class Exchange:
    __slots__ = (
        "_body", "_chunked", "_fields", "_left", "_status", "_taken", "_wire",
        "begun", "bodiless", "closes", "cut", "ended", "room", "scope",
    )  # fmt: skip

    def __init__(self, wire: Wire, scope: Scope, body: bytes | bytearray, *, room: int, closes: bool) -> None:
        self._wire = wire
        self.scope = scope
        self._body = body
        self.room = room
        self.closes = closes
        self.bodiless = scope["method"] == "HEAD"
        self.begun = False
        self.ended = False
        self.cut = False
        self._taken = False
        self._status = 0
        self._fields: list[bytes] = []
        self._left: int | None = None
        self._chunked = False

    async def run(self, app: ASGIApp) -> None:
        """Let the application answer; whatever it raises ends here, and costs at most this connection."""
        try:
            await app(self.scope, self.receive, self.send)
        except PeerGone:
            return
        except Exception:
            log.exception("the application failed on %s %r", self.scope["method"], self.scope["path"])
            self._give_up()
            return
        if not (self.ended or self.cut or self._wire.is_gone):
            log.error("the application left %s %r unanswered", self.scope["method"], self.scope["path"])
            self._give_up()

    async def receive(self) -> dict[str, object]:
        if self._taken:
            if not (self.ended or self.cut):
                await self._wire.gone()
            return {"type": "http.disconnect"}
        self._taken = True
        body, self._body = self._body, b""
        return {"type": "http.request", "body": bytes(body), "more_body": False}

    async def send(self, event: Mapping[str, object]) -> None:
        if self.cut or self._wire.is_gone:
            if event.get("more_body", False):
                raise PeerGone("the peer does not read on")
            self.ended = True
            return
        if event["type"] == "http.response.body":
            is_last = not event.get("more_body", False)
            self._write_body(cast("bytes", event.get("body", b"")), is_last=is_last)
            if self._wire.is_full:
                await self._wire.drained()
            elif not is_last:
                await _others_first()
        elif event["type"] == "http.response.start":
            self._keep_head(event)
        else:
            raise BrokenAnswer(f"unknown event {event['type']!r}")

    def _keep_head(self, event: Mapping[str, object]) -> None:
        """The head is written together with the first of the body: one segment, one system call."""
        if self._status:
            raise BrokenAnswer("the answer was started twice")
        status = event["status"]
        if not isinstance(status, int) or status not in STATUS_LINES or status < HTTPStatus.OK:
            raise BrokenAnswer(f"no final status: {status!r}")
        for name, value in cast("Iterable[tuple[bytes, bytes]]", event.get("headers", ())):
            self._keep_field(name, value)
        self.bodiless = self.bodiless or status in BODILESS
        self._status = status

    def _keep_field(self, name: bytes, value: bytes) -> None:
        line = b"%b: %b\r\n" % (name, value)
        if line.count(b"\n") != 1 or line.count(b"\r") != 1 or b"\0" in line:
            raise BrokenAnswer(f"the field {name!r} holds a line end")
        match name.lower():
            case b"content-length":
                self._left = int(value)
            case b"connection":
                self.closes = self.closes or value.lower() == b"close"
                return
            case b"transfer-encoding":
                return
            case _:
                pass
        self._fields.append(line)

    def _write_body(self, body: bytes, *, is_last: bool) -> None:
        if not self._status or self.ended:
            raise BrokenAnswer("a body without a start, or after its end")
        piece = b"" if self.begun else self._head(len(body) if is_last else None)
        if not self.bodiless:
            self._count(len(body), is_last=is_last)
            piece += self._framed(body, is_last=is_last)
        self.begun = True
        self.ended = is_last
        if piece:
            self._wire.write(piece)

    def _head(self, body_bytes: int | None) -> bytes:
        """`body_bytes`: of the whole body, where it is known already."""
        fields = self._fields
        if self._left is None and self._status != HTTPStatus.NO_CONTENT:
            if body_bytes is not None:
                if not self.bodiless:
                    self._left = body_bytes
                    fields.append(b"content-length: %d\r\n" % body_bytes)
            elif self.scope["http_version"] == "1.0":
                self.closes = True
            elif not self.bodiless:
                self._chunked = True
                fields.append(b"transfer-encoding: chunked\r\n")
        self.closes = self.closes or self._wire.is_ending
        if self.closes:
            fields.append(b"connection: close\r\n")
        return STATUS_LINES[self._status] + b"".join(fields) + b"\r\n"

    def _count(self, body_bytes: int, *, is_last: bool) -> None:
        if self._left is None:
            return
        self._left -= body_bytes
        if self._left < 0 or (is_last and self._left > 0):
            raise BrokenAnswer("the body is not as long as its Content-Length says")

    def _framed(self, body: bytes, *, is_last: bool) -> bytes:
        if not self._chunked:
            return body
        chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
        return chunk + b"0\r\n\r\n" if is_last else chunk

    def _give_up(self) -> None:
        if self.cut or self.ended:
            return
        self.closes = self.ended = True
        if self.begun:
            self._wire.abort()
        else:
            self.begun = True
            self._wire.write(refusals.FAULT)


@coroutine
def _others_first() -> Generator[None, None, None]:
    """Let the loop go round once: a stream whose reader keeps up would never wait, and starve all others."""
    yield
