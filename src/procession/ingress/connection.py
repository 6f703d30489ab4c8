"""One connection: requests are answered one after the other, in the order of their coming, and every wait has an end.

Theory of operation
===================

Two things go on at a time. The reader (`request_reader`) makes whole requests of what arrives. Meanwhile one exchange
after the other is answered, taken from `_waiting` in the order in which they were read: the answer to a pipelined
request cannot overtake the one before it. A refusal stands in the same line, since it must not overtake either; after
it nothing more is read.

There is one `deadline`, an instant of the loop's clock, and no timer: a sweep over all connections calls `overdue` on
those whose deadline has passed. While an exchange is being answered, the deadline is the exchange's; else it is that
of reading. They are never needed both: what arrives during an answer is parsed (the transport has handed it over
already), and then reading pauses until the line is empty, so a half-read request meanwhile is our delay and not the
peer's.

Memory is bounded by construction: what is read by the reader, the line by `pipelined_max`, what the peer does not
read by the high-water mark of the transport, above which the application waits (`drained`).

The last answer of a connection is followed by the end of our side only, and what still arrives is thrown away until
the peer closes or `linger_ttl` has passed. Closing at once would reset the connection while unread bytes are under
way, and the peer would see the reset in place of the answer (RFC 9112, section 9.6).

An exchange whose peer has gone is not cancelled: what it accepts may be committed already. It is cancelled when its
own deadline has passed, so that a stuck application cannot pile up coroutines; until it has ended, its connection
counts in the house.
"""

import asyncio
import logging
import socket
import struct
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from procession.ingress import refusals
from procession.ingress.asgi_types import ASGIApp, Scope
from procession.ingress.exchange import Exchange
from procession.ingress.house import House
from procession.ingress.http_limits import HttpLimits
from procession.ingress.request_reader import Reading, RequestReader

if TYPE_CHECKING:
    from typing_extensions import override
else:  # in typing from Python 3.12 on

    def override(method):  # noqa: ANN001, ANN201 - the checkers see the other one
        return method


log = logging.getLogger("procession.ingress")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What all connections of one server share; durations as the loop's clock counts them."""

    app: ASGIApp
    limits: HttpLimits
    house: "House[Connection]"
    now: Callable[[], float]
    start: Callable[[Coroutine[object, object, None]], asyncio.Task[None]]
    head_s: float
    body_s: float
    request_s: float
    idle_s: float
    linger_s: float


class Connection(asyncio.Protocol):
    __slots__ = (
        "_drain_waiter", "_exchange", "_gone_waiters", "_is_fresh", "_is_gone", "_is_last_said", "_is_paused", "_now",
        "_peer_ended", "_reader", "_started", "_task", "_terms", "_transport", "_waiting", "deadline", "is_full",
    )  # fmt: skip

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._reader = RequestReader(self, terms.house, terms.limits)
        self._is_fresh = True
        self._is_gone = False
        self._is_last_said = False
        self._is_paused = False
        self._peer_ended = False
        self._now = self._started = terms.now()
        self.deadline = self._started + terms.head_s

        self._exchange: Exchange | None = None
        self._task: asyncio.Task[None] | None = None
        self._waiting: deque[Exchange | bytes] = deque()
        self.is_full = False
        self._drain_waiter: asyncio.Future[None] | None = None
        self._gone_waiters: list[asyncio.Future[None]] = []

    # What the transport says.

    @override
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        client = _address(transport.get_extra_info("peername"))
        self._reader.introduce(client, _address(transport.get_extra_info("sockname")))
        self._transport.set_write_buffer_limits(high=self._terms.limits.write_buffer_bytes_max)
        if not self._terms.house.admit(self, client[0]):
            self._reader.deafen()
            self._transport.write(refusals.FULL)
            self._transport.close()

    @override
    def data_received(self, data: bytes) -> None:
        if self._reader.reading is Reading.DEAF:
            return
        is_early = self._exchange is not None
        self._now = self._terms.now()
        self._reader.feed(data)
        if is_early or self._waiting:
            self._pause()

    @override
    def eof_received(self) -> bool:
        """A peer that has closed only its own side still gets the answers to what it has sent whole."""
        self._peer_ended = True
        self._reader.deafen()
        return self._exchange is not None

    @override
    def pause_writing(self) -> None:
        self.is_full = True

    @override
    def resume_writing(self) -> None:
        self.is_full = False
        self._wake_drained()

    @override
    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - why does not matter
        self._is_gone = True
        self._reader.let_go()
        self._forget_waiting()
        self._wake_drained()
        for waiter in self._gone_waiters:
            if not waiter.done():
                waiter.set_result(None)
        if self._exchange is None:
            self._terms.house.leave(self)

    # What the reader says.

    def head_begun(self) -> None:
        if self._is_fresh:  # its deadline has been running since the connection was made
            self._is_fresh = False
            return
        self._started = self._now
        if self._exchange is None:
            self.deadline = self._now + self._terms.head_s

    def head_read(self) -> None:
        if self._exchange is None:
            self.deadline = min(self._now + self._terms.body_s, self._started + self._terms.request_s)
            self._say_continue()

    def request_read(self, scope: Scope, body: bytes | bytearray, *, room: int, closes: bool) -> bytes | None:
        exchange = Exchange(self, scope, body, room=room, closes=closes)
        if self._exchange is None:
            self._play(exchange, self._started)
        elif len(self._waiting) < self._terms.limits.pipelined_max:
            self._waiting.append(exchange)
        else:
            return refusals.FULL
        return None

    def refused(self, refusal: bytes) -> None:
        if self._exchange is None:
            self._say_last(refusal)
        else:
            self._waiting.append(refusal)

    # What an exchange asks for.

    @property
    def is_ending(self) -> bool:
        return self._terms.house.is_closing or (self._peer_ended and not self._waiting)

    def write(self, piece: bytes) -> None:
        if not self.is_gone:
            self._transport.write(piece)

    def abort(self) -> None:
        """Nothing that is sent from here on could be understood, or nobody reads it."""
        self._reader.deafen()
        self._is_last_said = True
        if not self._is_gone:
            self._reset()

    @property
    def is_gone(self) -> bool:
        """Also between the transport's own discovery and its telling us."""
        return self._is_gone or self._transport.is_closing()

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
        self.deadline = now + self._terms.linger_s
        exchange = self._exchange
        if exchange is not None:
            self._cut(exchange)
        elif self._is_last_said:
            self.abort()
        elif self._reader.reading is Reading.IDLE:
            self._close()
        else:
            self._reader.refuse(refusals.TOO_SLOW)

    def finish(self) -> None:
        """No further request: what is under way is answered, a connection without any closes now."""
        if self._exchange is None and self._reader.reading is Reading.IDLE:
            self._close()

    def kill(self) -> None:
        self.abort()
        if self._exchange is not None:
            self._exchange.cut = True
        if self._task is not None:
            self._task.cancel()

    # Reading and answering.

    def _say_continue(self) -> None:
        if self._reader.expects_continue:
            self._reader.expects_continue = False
            self.write(refusals.CONTINUE)

    def _pause(self) -> None:
        if not self._is_paused and not self._transport.is_closing():
            self._is_paused = True
            self._transport.pause_reading()

    def _resume(self) -> None:
        if self._is_paused and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()

    def _play(self, exchange: Exchange, started: float) -> None:
        self._exchange = exchange
        self.deadline = started + self._terms.request_s
        self._task = self._terms.start(exchange.run(self._terms.app))
        # A callback, not a last line of the coroutine: a fault of ours in it must not end the group of all exchanges.
        self._task.add_done_callback(self._answered)

    def _answered(self, _: asyncio.Task[None]) -> None:
        exchange, self._exchange, self._task = self._exchange, None, None
        assert exchange is not None, "one exchange at a time"
        if exchange.room:
            self._terms.house.give_back(exchange.room)
        if self._is_gone:
            self._terms.house.leave(self)
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
        if self._peer_ended or (self._terms.house.is_closing and self._reader.reading is Reading.IDLE):
            self._linger()
            return
        now = self._terms.now()
        if self._reader.reading is Reading.IDLE:
            self.deadline = now + self._terms.idle_s
        else:
            self._started = now
            self.deadline = now + (self._terms.head_s if self._reader.reading is Reading.HEAD else self._terms.body_s)
            self._say_continue()
        self._resume()

    def _cut(self, exchange: Exchange) -> None:
        """Too late. A peer that has seen nothing of the answer is told so; half an answer can only be broken off."""
        is_first = not exchange.cut
        exchange.cut = True
        if is_first:
            log.warning("%s %r was cut: no whole answer in time", exchange.scope["method"], exchange.scope["path"])
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
        self._reader.deafen()
        self._forget_waiting()
        if self._peer_ended:
            self._close()
            return
        self._is_last_said = True
        self.deadline = self._terms.now() + self._terms.linger_s
        self._resume()
        if not self.is_gone:
            self._transport.write_eof()

    def _close(self) -> None:
        self._reader.deafen()
        self._is_last_said = True
        self.deadline = self._terms.now() + self._terms.linger_s
        if not self._is_gone:
            self._transport.close()

    def _forget_waiting(self) -> None:
        for exchange in self._waiting:
            if not isinstance(exchange, bytes):
                self._terms.house.give_back(exchange.room)
        self._waiting.clear()

    def _reset(self) -> None:
        """Say that this is no good end: half an answer must not look whole to who reads up to the end.

        And let the kernel forget at once what it still holds for a peer that does not read.
        """
        sock = self._transport.get_extra_info("socket")
        if sock is not None:
            with suppress(OSError):  # the peer may be gone by now
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._transport.abort()

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
