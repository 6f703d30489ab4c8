"""A provider that can lie: takes the engine's outgoing calls, writes down each as it arrives, and answers as it likes.

It is the ground truth for sends. Keyed, it drops what it has taken before under the same `webhook-id`, as a provider
with idempotency keys does; otherwise each call that it takes is a send of its own.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Final, Self, cast

import httptools

from procession.ports.chance import Chance
from procession.testing.chaos.history import History, Wired

_ID_HEADER: Final = "webhook-id"
_DEPTH_MAX: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Lies:
    """The share of calls that meet each of these; the rest is taken and answered 200."""

    refused: float = 0.0
    """503, and not taken."""
    error_after_taking: float = 0.0
    """500, although it was taken."""
    cut_before_taking: float = 0.0
    cut_after_taking: float = 0.0
    taken_late: float = 0.0
    """The connection is cut at once, and the call is taken after the longest delay."""
    delay_max: timedelta = timedelta(0)
    """Each answer comes after a part of it, drawn anew."""

    def drawn(self, chance: Chance) -> str:
        left = chance.uniform(0.0, 1.0)
        for field in fields(self):
            share = getattr(self, field.name)
            if isinstance(share, float):
                if left < share:
                    return field.name
                left -= share
        return "taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What the harness put into the event, found again in the effect's call."""

    event: str
    lane: str
    n: int
    oseq: int | None = None


def carried_in(body: bytes) -> Carried:
    """The first object in the body, outer before inner, that has `event`, `lane` and `n`."""
    level: list[object] = [json.loads(body)]
    for _ in range(_DEPTH_MAX):
        for found in level:
            match found:
                case {"event": str() as event, "lane": str() as lane, "n": int() as n, **others}:
                    oseq = others.get("oseq")
                    return Carried(event=event, lane=lane, n=n, oseq=oseq if isinstance(oseq, int) else None)
                case _:
                    pass
        level = [inner for found in level if isinstance(found, Mapping) for inner in found.values()]
    raise ValueError(f"no event, lane and n in this call: {body[:200]!r}")


class FakeProvider:
    def __init__(
        self,
        *,
        history: History,
        chance: Chance,
        lies: Lies | None = None,
        keyed: bool = True,
        read: Callable[[bytes], Carried] = carried_in,
    ) -> None:
        self.lies = lies or Lies()
        self.unreadable: list[bytes] = []
        self._history = history
        self._chance = chance
        self._keyed = keyed
        self._read = read
        self._taken: set[str] = set()
        self._connections: set[_Connection] = set()
        self._server: asyncio.Server | None = None
        self._later: set[asyncio.TimerHandle] = set()

    @property
    def taken(self) -> int:
        """How many different effects have been taken so far."""
        return len(self._taken)

    @property
    def port(self) -> int:
        assert self._server is not None, "start() first"
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def start(self, port: int = 0) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Connection(self), "127.0.0.1", port)

    async def close(self) -> None:
        for later in self._later:
            later.cancel()
        if self._server is not None:
            self._server.close()
            for connection in list(self._connections):
                connection.cut()
            await self._server.wait_closed()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def called(self, connection: "_Connection", effect: str, body: bytes) -> None:
        try:
            carried = self._read(body)
        except ValueError:
            self.unreadable.append(body)
            connection.answer(400)
            return
        lie = self.lies.drawn(self._chance)
        delay = self._chance.uniform(0.0, 1.0) * self.lies.delay_max.total_seconds()
        match lie:
            case "refused":
                self._write_down(effect, carried, answer="503", taking=False)
                self._after(delay, lambda: connection.answer(503))
            case "cut_before_taking":
                self._write_down(effect, carried, answer="cut", taking=False)
                connection.cut()
            case "cut_after_taking":
                self._write_down(effect, carried, answer="cut", taking=True)
                connection.cut()
            case "taken_late":
                self._write_down(effect, carried, answer="cut", taking=False)
                connection.cut()
                late = self.lies.delay_max.total_seconds()
                self._after(late, lambda: self._write_down(effect, carried, answer="late", taking=True))
            case "error_after_taking":
                self._write_down(effect, carried, answer="500", taking=True)
                self._after(delay, lambda: connection.answer(500))
            case _:
                self._write_down(effect, carried, answer="200", taking=True)
                self._after(delay, lambda: connection.answer(200))

    def opened(self, connection: "_Connection") -> None:
        self._connections.add(connection)

    def closed(self, connection: "_Connection") -> None:
        self._connections.discard(connection)

    def _write_down(self, effect: str, carried: Carried, *, answer: str, taking: bool) -> None:
        is_repeat = effect in self._taken
        accepted = taking and not (is_repeat and self._keyed)
        if taking:
            self._taken.add(effect)
        self._history.append(
            Wired(
                effect=effect,
                event=carried.event,
                lane=carried.lane,
                n=carried.n,
                oseq=carried.oseq,
                accepted=accepted,
                is_repeat=is_repeat,
                answer=answer,
            )
        )

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        if seconds <= 0:
            act()
            return

        def due() -> None:
            self._later.discard(timer)
            act()

        timer = asyncio.get_running_loop().call_later(seconds, due)
        self._later.add(timer)


class _Connection(asyncio.Protocol):
    """One keep-alive connection of the engine's; requests come one after the other."""

    def __init__(self, provider: FakeProvider) -> None:
        self._provider = provider
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._effect = ""
        self._body: list[bytes] = []

    def answer(self, status: int) -> None:
        if self._transport is not None and not self._transport.is_closing():
            head = f"HTTP/1.1 {status} As drawn\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n"
            self._transport.write(head.encode() + b"{}")

    def cut(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # By what it can do: uvloop's transports are no subclass of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._provider.opened(self)

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None
        self._provider.closed(self)

    def data_received(self, received: bytes) -> None:
        try:
            self._parser.feed_data(received)
        except httptools.HttpParserError:
            self.cut()

    def on_message_begin(self) -> None:
        self._effect = ""
        self._body.clear()

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == _ID_HEADER.encode():
            self._effect = value.decode("latin-1")

    def on_body(self, part: bytes) -> None:
        self._body.append(part)

    def on_message_complete(self) -> None:
        self._provider.called(self, self._effect, b"".join(self._body))
