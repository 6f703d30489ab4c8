"""Servers on raw sockets that do to the wire what servers do, and worse; and the calls that the tests make."""

import asyncio
import functools
import inspect
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from ipaddress import ip_network
from typing import Final, cast

import pytest
import uvloop

from procession.ports.wire import Answered, NotSent, Unclear, WireAnswer, WireRequest
from procession.runtime.wire import AddressPolicy, Wire, WireLimits
from procession.runtime.wire.dialer import Resolve

LOOPS: Final = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
PATIENCE_S: Final = 30.0
"""How long a test waits for what must happen before it fails: no expectation of speed."""
LONG: Final = timedelta(seconds=60)
"""A deadline that no test reaches."""
SHORT: Final = timedelta(milliseconds=200)
"""A deadline that a test means to reach."""
LOCAL: Final = AddressPolicy(allow_private=(ip_network("127.0.0.0/8"), ip_network("::1/128")), ports=range(1, 65_536))
OK: Final = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"

Script = Callable[["Visit"], Awaitable[None]]


def on_each_loop(scenario: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Play a scenario on asyncio's own loop and on uvloop."""

    @pytest.mark.parametrize("loop", sorted(LOOPS))
    @functools.wraps(scenario)
    def test(loop: str, **arguments: object) -> None:
        async def bounded() -> None:
            async with asyncio.timeout(PATIENCE_S):
                await scenario(**arguments)
                # A server's half of a failed handshake ends a moment later than ours; what is left must end by itself.
                if left := asyncio.all_tasks() - {asyncio.current_task()}:
                    await asyncio.wait(left)

        with asyncio.Runner(loop_factory=LOOPS[loop]) as runner:
            runner.run(bounded())

    own = inspect.signature(scenario)
    added = inspect.Parameter("loop", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    test.__dict__["__signature__"] = own.replace(parameters=[added, *own.parameters.values()])
    del test.__dict__["__wrapped__"]  # or pytest would take it for the coroutine function that it plays
    return cast("Callable[..., None]", test)


@dataclass(slots=True, kw_only=True)
class Visit:
    """One connection, seen from the server."""

    peer: "Peer"
    number: int
    """From 1 on."""
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def request(self) -> bytes:
        """One whole request."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        length = next((int(line[15:]) for line in head.split(b"\r\n") if line.startswith(b"content-length:")), 0)
        request = head + await self.reader.readexactly(length)
        self.peer.requests.append(request)
        await self.peer.tell()
        return request

    async def say(self, answer: bytes) -> None:
        self.writer.write(answer)
        await self.writer.drain()

    def hang_up(self) -> None:
        """Close in good order."""
        self.writer.close()

    def reset(self) -> None:
        """Close with a reset: what was not read is thrown away."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def end(self) -> None:
        """Wait until the other side has closed."""
        while await self.reader.read(65_536):
            pass


@dataclass(slots=True, kw_only=True)
class Peer:
    script: Script
    port: int = 0
    scheme: str = "http"
    visits: int = 0
    ended: int = 0
    requests: list[bytes] = field(default_factory=list)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}/hooks/acme?key=s3cret"

    def has_ended(self, visits: int) -> bool:
        return self.ended >= visits

    async def until(self, what: Callable[[], bool]) -> None:
        async with self.changed:
            await self.changed.wait_for(what)

    async def visit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.visits += 1
        await self.tell()
        try:
            await self.script(Visit(peer=self, number=self.visits, reader=reader, writer=writer))
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass  # the client may go whenever it likes
        finally:
            writer.close()
            self.ended += 1
            await self.tell()

    async def tell(self) -> None:
        async with self.changed:
            self.changed.notify_all()


@asynccontextmanager
async def peer(script: Script, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
    there = Peer(script=script, scheme="https" if tls else "http")
    visits: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        visit = asyncio.current_task()
        assert visit is not None
        visits.add(visit)
        visit.add_done_callback(visits.discard)
        # The test is over when a visit is cancelled; asyncio's streams would log it as an error.
        with suppress(asyncio.CancelledError):
            await there.visit(reader, writer)

    server = await asyncio.start_server(accept, "127.0.0.1", 0, ssl=tls)
    there.port = server.sockets[0].getsockname()[1]
    try:
        yield there
    finally:
        server.close()
        for visit in tuple(visits):
            visit.cancel()
        await asyncio.gather(*visits, return_exceptions=True)
        await server.wait_closed()


class Puppet:
    """A server whose every move is made by the test itself, between two steps of the loop: the loop has not seen it."""

    def __init__(self, *, backlog: int = 16) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self._taken: list[socket.socket] = []

    @property
    def port(self) -> int:
        return int(self._listener.getsockname()[1])

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def accept(self) -> socket.socket:
        """The oldest connection that waits; there must be one."""
        self._listener.setblocking(False)
        taken, _ = self._listener.accept()
        taken.setblocking(False)
        self._taken.append(taken)
        return taken

    async def accepted(self) -> socket.socket:
        self._listener.setblocking(False)
        taken, _ = await asyncio.get_running_loop().sock_accept(self._listener)
        self._taken.append(taken)
        return taken

    async def heard(self, taken: socket.socket) -> bytes:
        """One request, all of it, as long as it is small."""
        heard = await asyncio.get_running_loop().sock_recv(taken, 65_536)
        assert heard.endswith(b"hello"), heard
        return heard

    def close(self) -> None:
        for each in (self._listener, *self._taken):
            each.close()


def reset(taken: socket.socket) -> None:
    """Close with a reset: the other side's next write fails."""
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    taken.close()


@contextmanager
def puppet(*, backlog: int = 16) -> Iterator[Puppet]:
    there = Puppet(backlog=backlog)
    try:
        yield there
    finally:
        there.close()


def resolves_to(*addresses: str) -> Resolve:
    async def resolve(host: str, port: int) -> list[str]:
        return list(addresses)

    return resolve


@asynccontextmanager
async def wire(
    policy: AddressPolicy = LOCAL,
    limits: WireLimits | None = None,
    *,
    resolve: Resolve | None = None,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Wire]:
    # Nothing closes by age or rest where a test waits for it to close by its own doing.
    limits = limits or WireLimits(idle_ttl=LONG)
    client = Wire(policy, limits, resolve=resolve or resolves_to("127.0.0.1"), tls=tls)
    try:
        yield client
    finally:
        await client.close()


def request(
    url: str,
    *,
    method: str = "POST",
    body: bytes = b"hello",
    headers: tuple[tuple[str, str], ...] = (),
    deadline: timedelta = LONG,
    may_begin: Callable[[], bool] = lambda: True,
) -> WireRequest:
    return WireRequest(method=method, url=url, headers=headers, body=body, deadline=deadline, may_begin=may_begin)


def saying(*answers: bytes) -> Script:
    """On each connection: one answer for each request, then wait for the other side to go."""

    async def script(visit: Visit) -> None:
        for answer in answers:
            await visit.request()
            await visit.say(answer)
        await visit.end()

    return script


async def always_ok(visit: Visit) -> None:
    while True:
        await visit.request()
        await visit.say(OK)


def closing_with(answer: bytes) -> Script:
    """One request, these bytes, and an end in good order."""

    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.say(answer)
        visit.hang_up()

    return script


def answered(answer: WireAnswer) -> Answered:
    assert isinstance(answer, Answered), answer
    return answer


def not_sent(answer: WireAnswer) -> NotSent:
    assert isinstance(answer, NotSent), answer
    return answer


def unclear(answer: WireAnswer) -> Unclear:
    assert isinstance(answer, Unclear), answer
    assert answer.bytes_written >= 1
    return answer
