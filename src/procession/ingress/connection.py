"""One connection: bytes become whole requests, requests are answered one after the other, and every wait has an end.

Theory of operation
===================

Two things go on at a time, and each has its own state. *Reading* moves idle → head → body → idle, driven by the
parser's callbacks. *Answering* takes one exchange after the other from `_waiting`, in the order in which they were
read: the answer to a pipelined request cannot overtake the one before it. A refusal (a malformed head, a body that is
too large) stands in the same line, since it too must not overtake; after it nothing more is read: reading is deaf.

There is one `deadline`, an instant of the loop's clock, and no timer: a sweep over all connections calls `overdue` on
those whose deadline has passed. While an exchange is being answered, the deadline is the exchange's; else it is that
of the reading state. They cannot be needed both: when bytes arrive during an answer they are parsed (the transport
has handed them over already), and then reading pauses until the line of exchanges is empty, so a half-read request
meanwhile is our delay and not the peer's.

Memory is bounded by construction: the head by `head_bytes_max` (raw bytes are counted while a head is unfinished,
since the parser keeps an unfinished field to itself), a body by `body_bytes_max`, all large bodies by what the door
has left, the waiting line by `pipelined_max`, what is not read by the peer by the transport's high-water mark
(`drained`).

The last answer of a connection is followed by the end of our side only, and what still arrives is thrown away until
the peer closes or `linger_ttl` has passed. Closing at once would reset the connection while unread bytes are under
way, and the peer would see the reset in place of the answer (RFC 9112, section 9.6).

An exchange whose peer has gone is not cancelled: what it is accepting may be committed already. It is cancelled when
its own deadline has passed, so that a stuck application cannot collect coroutines; until it has ended, its connection
counts at the door.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final, cast

import httptools

from procession.ingress import refusals
from procession.ingress.asgi_types import ASGIApp, Headers, Scope
from procession.ingress.door import Door
from procession.ingress.exchange import Exchange
from procession.ingress.head import place_of, refusal_of
from procession.ingress.http_limits import HttpLimits

ASGI: Final = {"version": "3.0", "spec_version": "2.3"}
CHUNK_OVERHEAD_MAX: Final = 8
"""Bytes of framing for each byte of a chunked body, past which it is no body but a way to keep us reading."""


class Reading(Enum):
    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    DEAF = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all connections of one server share; durations as the loop's clock counts them."""

    app: ASGIApp
    limits: HttpLimits
    door: "Door[Connection]"
    now: Callable[[], float]
    start: Callable[[Coroutine[object, object, None]], asyncio.Task[None]]
    head_s: float
    body_s: float
    request_s: float
    idle_s: float
    linger_s: float


class Refused(Exception):
    """Leaves the parser: the connection has said its last word."""


class Connection(asyncio.Protocol):
    __slots__ = (
        "_body", "_body_bytes", "_client", "_completed", "_drain_waiter", "_exchange", "_expects", "_gone_waiters", "_headers",
        "_is_fresh", "_is_gone", "_is_last_said", "_is_paused", "_now", "_parser", "_peer_ended", "_raw_bytes", "_reading",
        "_room", "_scope", "_server", "_started", "_target", "_task", "_terms", "_transport", "_waiting",
        "deadline", "is_full",
    )  # fmt: skip

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._parser = httptools.HttpRequestParser(self)
        self._reading = Reading.IDLE
        self._is_fresh = True
        self._is_gone = False
        self._is_last_said = False
        self._is_paused = False
        self._peer_ended = False
        self._now = self._started = terms.now()
        self.deadline = self._started + terms.head_s

        self._target = b""
        self._headers: Headers = []
        self._raw_bytes = 0
        self._completed = False
        self._expects = False
        self._scope: Scope = {}
        self._body: bytes | bytearray = b""
        self._body_bytes = 0
        self._room = 0

        self._exchange: Exchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._waiting: deque[Exchange | bytes] = deque()
        self.is_full = False
        self._drain_waiter: asyncio.Future[None] | None = None
        self._gone_waiters: list[asyncio.Future[None]] = []

    # What the transport says.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._client = _address(transport.get_extra_info("peername"))
        self._server = _address(transport.get_extra_info("sockname"))
        self._transport.set_write_buffer_limits(high=self._terms.limits.write_buffer_bytes_max)
        if not self._terms.door.admit(self, self._client[0]):
            self._reading = Reading.DEAF
            self._transport.write(refusals.FULL)
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        before = self._reading
        if before is Reading.DEAF:
            return
        is_early = self._exchange is not None
        self._now = self._terms.now()
        self._completed = False
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            if self._reading is not Reading.DEAF:
                self._refused(refusals.MALFORMED)
            return
        if not self._completed:
            self._count_raw(len(data), before)
        if is_early or self._waiting:
            self._pause()

    def eof_received(self) -> bool:
        """A peer that has closed only its own side still gets the answers to what it has sent whole."""
        self._peer_ended = True
        self._reading = Reading.DEAF
        return self._exchange is not None

    def pause_writing(self) -> None:
        self.is_full = True

    def resume_writing(self) -> None:
        self.is_full = False
        self._wake_drained()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_gone = True
        self._reading = Reading.DEAF
        del self._parser  # it holds us, and we held it
        self._forget_waiting()
        self._wake_drained()
        for waiter in self._gone_waiters:
            if not waiter.done():
                waiter.set_result(None)
        if self._exchange is None:
            self._terms.door.leave(self)

    # What the parser says while it is fed.

    def on_message_begin(self) -> None:
        self._reading = Reading.HEAD
        self._raw_bytes = 0
        self._target = b""
        self._headers = []
        if self._is_fresh:
            self._is_fresh = False
            return
        self._started = self._now
        if self._exchange is None:
            self.deadline = self._now + self._terms.head_s

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        """Also called for trailers, which end up in a list that nobody reads."""
        headers = self._headers
        headers.append((name.lower(), value))
        if len(headers) > self._terms.limits.head_fields_max:
            raise self._refused(refusals.HEAD_TOO_LARGE)

    def on_headers_complete(self) -> None:
        version = self._parser.get_http_version()
        if self._parser.should_upgrade():
            raise self._refused(refusals.UPGRADE)
        refusal = refusal_of(version, self._target, self._headers, self._terms.limits)
        if refusal is not None:
            raise self._refused(refusal)
        place = place_of(self._target)
        if place is None:
            raise self._refused(refusals.MALFORMED)
        self._keep_head(version, place)

    def on_body(self, part: bytes) -> None:
        self._body_bytes += len(part)
        if self._body_bytes > self._terms.limits.body_bytes_max:
            raise self._refused(refusals.BODY_TOO_LARGE)
        if self._body_bytes > self._terms.limits.body_small_bytes and not self._take_room():
            raise self._refused(refusals.FULL)
        if not self._body:
            self._body = part
        elif isinstance(self._body, bytearray):
            self._body += part
        else:
            self._body = bytearray(self._body) + part

    def on_message_complete(self) -> None:
        self._completed = True
        closes = self._scope["http_version"] == "1.0" or not self._parser.should_keep_alive()
        exchange = Exchange(self, self._scope, self._body, room=self._room, closes=closes)
        self._body, self._body_bytes, self._room = b"", 0, 0
        if self._exchange is None:
            self._play(exchange, self._started)
        elif len(self._waiting) < self._terms.limits.pipelined_max:
            self._waiting.append(exchange)
        else:
            self._terms.door.give_back(exchange.room)
            raise self._refused(refusals.FULL)
        self._reading = Reading.DEAF if closes else Reading.IDLE

    # What an exchange asks for.

    @property
    def is_ending(self) -> bool:
        return self._terms.door.is_closing or (self._peer_ended and not self._waiting)

    def write(self, piece: bytes) -> None:
        if not self._is_gone and not self._transport.is_closing():
            self._transport.write(piece)

    def abort(self) -> None:
        """Nothing that is sent from here on could be understood, or nobody reads it."""
        self._reading = Reading.DEAF
        self._is_last_said = True
        if not self._is_gone:
            self._transport.abort()

    async def drained(self) -> None:
        while self.is_full and not self._is_gone:
            self._drain_waiter = asyncio.get_running_loop().create_future()
            await self._drain_waiter

    async def gone(self) -> None:
        if not self._is_gone:
            waiter = asyncio.get_running_loop().create_future()
            self._gone_waiters.append(waiter)
            await waiter

    # What the server and its sweep ask for.

    def overdue(self, now: float) -> None:
        """The deadline has passed: of what, the state tells. Whatever is begun here has to be over after `linger_s`."""
        exchange = self._exchange
        if exchange is not None:
            self._cut(exchange)
        elif self._is_last_said:
            self.abort()
        elif self._reading is Reading.IDLE:
            self._close()
        else:
            self._refused(refusals.TOO_SLOW)
        self.deadline = now + self._terms.linger_s

    def finish(self) -> None:
        """No further request: what is under way is answered, a connection without any closes now."""
        if self._exchange is None and self._reading is Reading.IDLE:
            self._close()

    def kill(self) -> None:
        self.abort()
        if self._exchange is not None:
            self._exchange.cut = True
        if self._task is not None:
            self._task.cancel()

    # Reading.

    def _keep_head(self, version: str, place: tuple[str, bytes, bytes]) -> None:
        path, raw_path, query = place
        headers, self._headers = self._headers, []
        self._scope = {
            "type": "http",
            "asgi": ASGI,
            "http_version": version,
            "method": self._parser.get_method().decode("ascii"),
            "scheme": "http",
            "path": path,
            "raw_path": raw_path,
            "query_string": query,
            "root_path": "",
            "headers": headers,
            "client": self._client,
            "server": self._server,
        }
        self._reading = Reading.BODY
        self._raw_bytes = 0
        if self._exchange is None:
            self.deadline = min(self._now + self._terms.body_s, self._started + self._terms.request_s)
        self._expects = version == "1.1" and any(name == b"expect" for name, _ in headers)
        self._say_continue()

    def _say_continue(self) -> None:
        """Only while nothing else is being answered: the interim answer must not stand inside another."""
        if self._expects and self._exchange is None:
            self._expects = False
            self.write(refusals.CONTINUE)

    def _count_raw(self, raw_bytes: int, before: Reading) -> None:
        """What the parser keeps to itself (an unfinished field, the framing of chunks) is bounded by what it was
        fed.
        """
        if self._reading is Reading.HEAD:
            self._raw_bytes += raw_bytes
            if self._raw_bytes > self._terms.limits.head_bytes_max:
                self._refused(refusals.HEAD_TOO_LARGE)
        elif self._reading is Reading.BODY and before is Reading.BODY:
            self._raw_bytes += raw_bytes
            if self._raw_bytes > self._body_bytes * CHUNK_OVERHEAD_MAX + self._terms.limits.head_bytes_max:
                self._refused(refusals.BODY_TOO_LARGE)

    def _take_room(self) -> bool:
        wanted = self._body_bytes - self._room
        if not self._terms.door.take_room(wanted):
            return False
        self._room += wanted
        return True

    def _refused(self, refusal: bytes) -> Refused:
        """The last word is said, or stands in line for it. What is returned ends the parser's run, where it is
        running.
        """
        self._reading = Reading.DEAF
        self._forget_body()
        if self._exchange is None:
            self._say_last(refusal)
        else:
            self._waiting.append(refusal)
        return Refused()

    def _pause(self) -> None:
        if not self._is_paused and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._is_paused and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()

    # Answering.

    def _play(self, exchange: Exchange, started: float) -> None:
        self._exchange = exchange
        self.deadline = started + self._terms.request_s
        self._task = self._terms.start(self._answer(exchange))

    async def _answer(self, exchange: Exchange) -> None:
        try:
            await exchange.run(self._terms.app)
        finally:
            self._answered(exchange)

    def _answered(self, exchange: Exchange) -> None:
        self._exchange = self._task = None
        if exchange.room:
            self._terms.door.give_back(exchange.room)
        if self._is_gone:
            self._terms.door.leave(self)
        elif exchange.cut or self._is_last_said:
            return
        elif exchange.closes:
            self._linger()
        elif self._waiting:
            self._next()
        else:
            self._read_on()

    def _next(self) -> None:
        following = self._waiting.popleft()
        if isinstance(following, bytes):
            self._say_last(following)
        else:
            self._play(following, self._terms.now())

    def _read_on(self) -> None:
        """The peer's time runs again, from now: until here it was we who did not read."""
        if self._peer_ended or (self._terms.door.is_closing and self._reading is Reading.IDLE):
            self._linger()
            return
        now = self._terms.now()
        if self._reading is Reading.IDLE:
            self.deadline = now + self._terms.idle_s
        else:
            self._started = now
            self.deadline = now + (self._terms.head_s if self._reading is Reading.HEAD else self._terms.body_s)
            self._say_continue()
        self._resume()

    def _cut(self, exchange: Exchange) -> None:
        """Too late. A peer that has seen nothing of the answer is told so; half an answer can only be broken off."""
        is_first = not exchange.cut
        exchange.cut = True
        if self._task is not None:
            self._task.cancel()
        if is_first and not exchange.begun:
            self._say_last(refusals.OVERDUE)
        else:
            self.abort()

    # The end.

    def _say_last(self, refusal: bytes) -> None:
        self.write(refusal)
        self._linger()

    def _linger(self) -> None:
        self._reading = Reading.DEAF
        self._forget_waiting()
        if self._peer_ended:
            self._close()
            return
        self._is_last_said = True
        self.deadline = self._terms.now() + self._terms.linger_s
        self._resume()
        if not self._is_gone and not self._transport.is_closing():
            self._transport.write_eof()

    def _close(self) -> None:
        self._reading = Reading.DEAF
        self._is_last_said = True
        self.deadline = self._terms.now() + self._terms.linger_s
        if not self._is_gone:
            self._transport.close()

    def _forget_waiting(self) -> None:
        self._forget_body()
        for exchange in self._waiting:
            if not isinstance(exchange, bytes):
                self._terms.door.give_back(exchange.room)
        self._waiting.clear()

    def _forget_body(self) -> None:
        self._terms.door.give_back(self._room)
        self._body, self._body_bytes, self._room = b"", 0, 0

    def _wake_drained(self) -> None:
        waiter, self._drain_waiter = self._drain_waiter, None
        if waiter is not None and not waiter.done():
            waiter.set_result(None)


def _address(name: object) -> tuple[str, int]:
    """Of a peer that has gone already, nothing is known."""
    match name:
        case (str(host), int(port), *_):
            return host, port
        case _:
            return "", 0
