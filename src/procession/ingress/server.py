"""The HTTP server: an ASGI application behind one listening socket, inside a loop that runs already.

HTTP/1.1 (and 1.0, which proxies and health checks still speak) without TLS, WebSocket, lifespan, access log, Server
or Date. It is our own because no server at hand bounds how long a request may take to arrive; see
docs/adr/0002-http-server.md for what was measured.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from procession.core.errors import Misconfigured
from procession.ingress.asgi_types import ASGIApp
from procession.ingress.connection import Connection, Terms
from procession.ingress.deadlines import Sweep
from procession.ingress.house import House
from procession.ingress.http_limits import HttpLimits


class HttpServer:
    """Runs once. It may be stopped before it runs, and twice."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        host: str,
        port: int,
        limits: HttpLimits | None = None,
        on_listening: Callable[[int], None] = lambda _: None,
        stopping: asyncio.Event | None = None,
    ) -> None:
        """`on_listening` is told the port once connections are accepted. Setting `stopping` stops as `stop` does."""
        self._app = app
        self._host = host
        self._port = port
        self._limits = limits or HttpLimits()
        self._on_listening = on_listening
        self._stopping = stopping or asyncio.Event()
        self._empty = asyncio.Event()
        self._house: House[Connection] = House(self._limits, self._empty.set)
        self._drain_ttl = self._limits.drain_ttl
        self._cutting: asyncio.TimerHandle | None = None

    @property
    def connections(self) -> int:
        return len(self._house)

    @property
    def turned_away(self) -> int:
        """Connections that met a full house."""
        return self._house.turned_away

    async def run(self) -> None:
        """Serve until `stop`, then drain. Returns when the last connection is closed and the last exchange has
        ended.
        """
        if self._stopping.is_set():
            return
        sweep = Sweep(self._limits.sweep_every.total_seconds(), lambda: self._house)
        listener = await self._listen()
        async with asyncio.TaskGroup() as exchanges:
            self._terms = self._terms_with(exchanges)
            try:
                await listener.start_serving()
                sweep.start()
                self._on_listening(listener.sockets[0].getsockname()[1])
                await self._stopping.wait()
                listener.close()
                await self._drain()
            finally:
                listener.close()
                sweep.stop()
                self._cut()

    def stop(self, *, within: timedelta | None = None) -> None:
        """Accept nothing more, answer what is under way, cut what takes longer than `within` (at most, and by
        default, `drain_ttl`).
        """
        self._stopping.set()
        if within is not None:
            self._drain_ttl = min(self._drain_ttl, within)
        if self._cutting is not None:
            self._cut_later()

    def _terms_with(self, exchanges: asyncio.TaskGroup) -> Terms:
        limits = self._limits
        return Terms(
            app=self._app,
            limits=limits,
            house=self._house,
            now=asyncio.get_running_loop().time,
            start=exchanges.create_task,
            head_s=limits.head_ttl.total_seconds(),
            body_s=limits.body_ttl.total_seconds(),
            request_s=limits.request_ttl.total_seconds(),
            idle_s=limits.idle_ttl.total_seconds(),
            linger_s=limits.linger_ttl.total_seconds(),
        )

    async def _listen(self) -> asyncio.Server:
        try:
            return await asyncio.get_running_loop().create_server(
                lambda: Connection(self._terms),
                self._host,
                self._port,
                backlog=self._limits.backlog,
                start_serving=False,
            )
        except OSError as error:
            raise Misconfigured(f"cannot listen on {self._host}:{self._port}: {error.strerror or error}") from error

    async def _drain(self) -> None:
        self._house.is_closing = True
        self._cut_later()
        for connection in self._house:
            connection.finish()
        while len(self._house):
            self._empty.clear()
            await self._empty.wait()

    def _cut_later(self) -> None:
        if self._cutting is not None:
            self._cutting.cancel()
        self._cutting = asyncio.get_running_loop().call_later(self._drain_ttl.total_seconds(), self._cut)

    def _cut(self) -> None:
        if self._cutting is not None:
            self._cutting.cancel()
        for connection in self._house:
            connection.kill()


async def serve_http(
    app: ASGIApp,
    *,
    host: str,
    port: int,
    limits: HttpLimits,
    on_listening: Callable[[int], None],
    stopping: asyncio.Event,
) -> None:
    """Serve until `stopping` is set, and drain."""
    server = HttpServer(app, host=host, port=port, limits=limits, on_listening=on_listening, stopping=stopping)
    await server.run()
