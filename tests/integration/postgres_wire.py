"""A wire between a client and Postgres that can be cut around the moment of a commit, or fall silent."""

import asyncio
from contextlib import suppress
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit, urlunsplit

_COMMIT: Final = b"COMMIT\x00"


class Cut(StrEnum):
    NONE = "none"
    BEFORE = "before"
    """The server never hears the commit."""
    AFTER = "after"
    """It hears it, and its answer is lost."""
    SILENT = "silent"
    """It hears nothing, and the client is told nothing."""


class Wire:
    """One connection after another; the next commit meets `cut`, which is then `NONE` again."""

    def __init__(self, url: str) -> None:
        self._parts = urlsplit(url)
        self._server: asyncio.Server | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self.cut = Cut.NONE
        self.cuts = 0

    async def open(self) -> str:
        """Answers the address to go by."""
        self._server = await asyncio.start_server(self._call, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        whose = self._parts.netloc.rpartition("@")[0]
        return urlunsplit(self._parts._replace(netloc=f"{whose}@127.0.0.1:{port}"))

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        calls = list(self._calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await self._server.wait_closed()

    async def _call(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._calls.add(task)
        ends = [writer]
        # Cancelled is how a test that is over ends it.
        with suppress(ConnectionError, asyncio.CancelledError):
            their_reader, their_writer = await asyncio.open_connection(self._parts.hostname, self._parts.port)
            ends.append(their_writer)
            back = asyncio.create_task(_pass_on(their_reader, writer))
            try:
                if await self._forth(reader, their_writer, back):
                    # Only when the server is done is its end let go: what it has not read yet would be lost with it.
                    await their_reader.read()
            finally:
                back.cancel()
        for end in ends:
            end.transport.abort()
        await asyncio.gather(*(end.wait_closed() for end in ends), return_exceptions=True)
        self._calls.discard(task)

    async def _forth(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, back: "asyncio.Task[None]"
    ) -> bool:
        """Answers whether the server has to come to its end by itself."""
        while some := await reader.read(65_536):
            if self.cut is not Cut.NONE and _COMMIT in some:
                return await self._cut(some, writer, back)
            writer.write(some)
            await writer.drain()
        return False

    async def _cut(self, some: bytes, writer: asyncio.StreamWriter, back: "asyncio.Task[None]") -> bool:
        cut, self.cut = self.cut, Cut.NONE
        self.cuts += 1
        back.cancel()
        await asyncio.gather(back, return_exceptions=True)
        if cut is Cut.AFTER:
            writer.write(some)
            writer.write_eof()
            await writer.drain()
        elif cut is Cut.SILENT:
            await asyncio.Event().wait()
        return cut is Cut.AFTER


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while some := await reader.read(65_536):
            writer.write(some)
            await writer.drain()
        writer.write_eof()
