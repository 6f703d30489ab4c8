"""One raw keep-alive HTTP/1.1 connection, which tells apart what a load generator must know after a call."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Self, cast

import httptools


class NotSent(Exception):
    """Nobody was there: not one byte of the request went out."""


class Unclear(Exception):
    """Bytes went out and no whole answer came back: it may have been taken, or may be yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    body: bytes


class Caller:
    """Calls one after the other on one connection, which it opens at need and drops after anything unclear."""

    def __init__(self, *, host: str, port: int, patience: timedelta = timedelta(seconds=10)) -> None:
        self._host = host
        self._port = port
        self._patience = patience.total_seconds()
        self._line: _Line | None = None

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        return await self._call("POST", path, headers, body)

    async def get(self, path: str) -> Answer:
        return await self._call("GET", path, {}, b"")

    def close(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    async def _call(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Answer:
        line = await self._open()
        head = [f"{method} {path} HTTP/1.1", f"Host: {self._host}:{self._port}", f"Content-Length: {len(body)}"]
        head += [f"{name}: {value}" for name, value in headers.items()]
        try:
            async with asyncio.timeout(self._patience):
                answer = await line.exchange("\r\n".join([*head, "", ""]).encode() + body)
        except (TimeoutError, Unclear) as unclear:
            self.close()
            raise Unclear(str(unclear) or "no answer in time") from None
        except BaseException:
            self.close()
            raise
        if line.is_closed:
            self._line = None
        return answer

    async def _open(self) -> "_Line":
        if self._line is not None and not self._line.is_closed:
            return self._line
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(self._patience):
                _, self._line = await loop.create_connection(_Line, self._host, self._port)
        except (OSError, TimeoutError) as away:
            raise NotSent(str(away) or "no connection in time") from None
        return self._line


class _Line(asyncio.Protocol):
    """The wire's side of a Caller: at most one exchange at a time."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._parser = httptools.HttpResponseParser(self)
        self._body: list[bytes] = []

    @property
    def is_closed(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    async def exchange(self, request: bytes) -> Answer:
        if self._transport is None:
            raise Unclear("the connection was closed")
        self._answer = asyncio.get_running_loop().create_future()
        self._parser = httptools.HttpResponseParser(self)
        self._body.clear()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # By what it can do: uvloop's transports are no subclass of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, received: bytes) -> None:
        try:
            self._parser.feed_data(received)
        except httptools.HttpParserError:
            self._fail("the answer was no HTTP")
            self.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._fail(str(error) if error else "the connection was closed")

    def on_body(self, part: bytes) -> None:
        self._body.append(part)

    def on_message_complete(self) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Answer(status=self._parser.get_status_code(), body=b"".join(self._body)))
        if not self._parser.should_keep_alive():
            self.close()

    def _fail(self, why: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(Unclear(why))
