"""One connection, and the one moment that counts: its exchange's first byte.

Until a byte of the request is handed over, everything is undone by walking away. So the first write is made on the
socket itself where there is no TLS: its return says how many bytes the kernel took, and an error says none, which a
buffered write cannot say. Only what did not fit goes through the transport. With TLS the first write counts as begun
whatever comes of it.

A server may close an unused connection at any time, and its close may sit unread in the kernel when we are about to
write. So before the first byte the socket is looked at once more: readable, when nothing was asked, means closed,
broken, or junk. What still crosses our request on the way can only be told as doubt.
"""

import asyncio
import select
import socket
from collections.abc import Callable
from typing import Final, cast

from procession.ports.wire import Answered, Doubt, NotSent, Unclear, Unsent
from procession.runtime.wire.limits import WireLimits
from procession.runtime.wire.reading import Reading
from procession.runtime.wire.target import Origin

GONE: Final = NotSent(reason=Unsent.UNREACHABLE, detail="closed before the request")
"""Closed by the other side with not one byte written: another connection may do."""


class Connection(asyncio.Protocol):
    """A connection to one origin, for one exchange at a time."""

    def __init__(
        self, *, origin: Origin, sock: socket.socket, limits: WireLimits, lost: "Callable[[Connection], None]"
    ) -> None:
        self.origin: Final = origin
        self._loop = asyncio.get_running_loop()
        self._sock = sock
        self._limits = limits
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._reading = Reading(limits)
        self._alive = True
        self._used = False
        self._answer: asyncio.Future[Answered | Unclear] | None = None
        self._payload_bytes = 0
        self._retires_at = self._loop.time() + limits.age_max.total_seconds()
        self.idle_until = self._retires_at
        self._watch = select.poll()
        self._watch.register(sock.fileno(), select.POLLIN)
        self.closed: Final[asyncio.Future[None]] = self._loop.create_future()

    async def exchange(
        self, payload: bytes, *, bodiless: bool, deadline: float, may_begin: Callable[[], bool]
    ) -> Answered | NotSent | Unclear:
        """Write the request and read its answer. GONE: it may be tried on another connection."""
        if (unsent := self._begin(payload, bodiless=bodiless, deadline=deadline, may_begin=may_begin)) is not None:
            return unsent
        assert self._answer is not None
        timer = self._loop.call_at(deadline, self._expire)
        try:
            return await self._answer
        except BaseException:
            self.abort()
            raise
        finally:
            timer.cancel()
            self._answer = None

    @property
    def reusable(self) -> bool:
        """Whether another exchange may follow: the last one ended whole and clean, or there was none."""
        return self._alive and self._answer is None and self._reading.clean and not self._unwritten()

    def rest(self) -> None:
        """Nobody uses it for now."""
        ttl = self._limits.idle_ttl.total_seconds()
        if self._reading.keep_seconds is not None:
            # A second earlier than the other side, so that its close does not cross our next request.
            ttl = min(ttl, self._reading.keep_seconds - 1)
        self.idle_until = min(self._loop.time() + ttl, self._retires_at)

    def abort(self) -> None:
        """Close at once. There is nothing that a farewell would be good for."""
        self._alive = False
        if self._transport is not None:
            self._transport.abort()

    def shut(self) -> None:
        """Close since the wire is being closed: who waits for an answer is told so."""
        self._settle(Doubt.CLOSED)
        self.abort()

    def _begin(
        self, payload: bytes, *, bodiless: bool, deadline: float, may_begin: Callable[[], bool]
    ) -> NotSent | None:
        if self._is_gone():
            self.abort()
            return GONE
        if self._loop.time() >= deadline:
            return NotSent(reason=Unsent.OUT_OF_TIME)
        self._reading.expect(bodiless=bodiless)
        # From this question to the write there is no await and no callback: trust cannot be lost in between.
        if not may_begin():
            return NotSent(reason=Unsent.TRUST_LOST)
        if not self._write(payload):
            self.abort()
            return GONE
        self._used = True
        self._payload_bytes = len(payload)
        self._answer = self._loop.create_future()
        return None

    def _write(self, payload: bytes) -> bool:
        """False: not one byte was taken."""
        assert self._transport is not None
        if self.origin.encrypted:
            self._transport.write(payload)
            return True
        try:
            taken = self._sock.send(payload)
        except (BlockingIOError, InterruptedError):
            taken = 0
        except OSError:
            return False
        if taken < len(payload):
            self._transport.write(payload[taken:])
        return True

    def _is_gone(self) -> bool:
        if not self._alive:
            return True
        if self.origin.encrypted and not self._used:
            return False  # session tickets may follow the handshake: unread bytes are no bad sign yet
        return bool(self._watch.poll(0))

    def _unwritten(self) -> int:
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

    def _expire(self) -> None:
        self._settle(Doubt.WRITE_TIMED_OUT if self._unwritten() else Doubt.READ_TIMED_OUT)

    def _settle(self, outcome: Answered | Doubt) -> None:
        if self._answer is None or self._answer.done():
            return
        if isinstance(outcome, Answered):
            self._answer.set_result(outcome)
            return
        written = max(1, self._payload_bytes - self._unwritten())
        self._answer.set_result(Unclear(reason=outcome, bytes_written=written, status=self._reading.status))
        self.abort()

    # What follows is called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are no subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        if not self._alive:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            self.abort()  # nothing was asked
            return
        outcome = self._reading.feed(data)
        if outcome is not None:
            self._settle(outcome)

    def eof_received(self) -> bool:
        self._alive = False
        self._settle(self._reading.end())
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._alive = False
        self._settle(self._reading.broken() if exc is not None else self._reading.end())
        self._reading.release()
        if not self.closed.done():
            self.closed.set_result(None)
        self._lost(self)
