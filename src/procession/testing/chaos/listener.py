"""The bare server that fake providers stand on: whole requests in, and answers that may come late, never, or be cut.

The engine's own server is too well behaved for that: it always answers.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

import httptools


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    target: str
    """The path, and what stands behind it."""
    headers: Mapping[str, str]
    """Names in lower case; of a doubled one the last."""
    body: bytes


class Line(Protocol):
    """Where a request came from: it is answered once, or cut, or left hanging."""

    def answer(self, status: int, body: bytes = b"{}") -> None: ...
    def cut(self) -> None: ...


class Listener:
    def __init__(self, called: Callable[[Line, Request], None]) -> None:
        self._called = called
        self._connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None

    @property
    def port(self) -> int:
        assert self._server is not None, "start() first"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self, port: int = 0) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self._called, self._connections), "127.0.0.1", port)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
            for connection in list(self._connections):
                connection.cut()
            await self._server.wait_closed()


class _Connection(asyncio.Protocol):
    """One keep-alive connection of the engine's; requests come one after the other."""

    def __init__(self, called: Callable[[Line, Request], None], connections: "set[_Connection]") -> None:
        self._called = called
        self._connections = connections
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []

    def answer(self, status: int, body: bytes = b"{}") -> None:
        if self._transport is not None and not self._transport.is_closing():
            head = (
                f"HTTP/1.1 {status} As drawn\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            self._transport.write(head.encode() + body)

    def cut(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # By what it can do: uvloop's transports are no subclass of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._connections.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None
        self._connections.discard(self)

    def data_received(self, received: bytes) -> None:
        try:
            self._parser.feed_data(received)
        except httptools.HttpParserError:
            self.cut()

    def on_message_begin(self) -> None:
        self._target = b""
        self._headers.clear()
        self._body.clear()

    def on_url(self, part: bytes) -> None:
        self._target += part

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_body(self, part: bytes) -> None:
        self._body.append(part)

    def on_message_complete(self) -> None:
        self._called(
            self,
            Request(
                method=self._parser.get_method().decode("latin-1"),
                target=self._target.decode("latin-1"),
                headers=dict(self._headers),
                body=b"".join(self._body),
            ),
        )
