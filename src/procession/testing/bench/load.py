"""The load, in a process of its own: keep-alive connections with one request under way on each.

    python -m procession.testing.bench.load '{"port": 8080, "prefix": "a", "kind": "quiet", …}'

Requests are made and signed before the clock starts, unless they are paced and carry the moment of their sending.
"""

import asyncio
import json
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle
from typing import Final, cast

import msgspec
import uvloop

from procession.testing.bench.deliveries import LANES, request, some
from procession.testing.bench.figures import Answers
from procession.testing.bench.texts import text_request

REQUESTS: Final = {"plain": request, "whatsapp": text_request}
_LAST_WAIT_S: Final = 10.0
"""For answers to what was sent last."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What a load is asked for."""

    port: int
    prefix: str
    kind: str
    seconds: float
    connections: int = 64
    requests_max: int = 60_000
    """Made beforehand; the load ends when they are used up."""
    per_second: float = 0.0
    """0: as fast as answers come."""
    lanes: int = LANES
    first_lane: int = 0
    redelivered: bool = True
    source: str = "plain"
    """Whose webhooks: of REQUESTS. Others than plain ones are paced."""
    repeat: bool = False
    """Begin again with the first request: for servers that keep nothing."""


class Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, answers: Answers, following: Iterator[bytes]) -> None:
        self._answers = answers
        self._following = following
        self._sent = 0.0
        self._seen = b""
        self.idle = True
        self.is_over = False
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # By what it can do: uvloop's transports are no subclass of asyncio's.
        self._transport = cast("asyncio.Transport", transport)

    def fire(self) -> None:
        """The next request, if there is one."""
        following = None if self.is_over else next(self._following, None)
        if following is None:
            self.idle = True
        else:
            self.send(following, time.perf_counter())

    def send(self, whole: bytes, since: float) -> None:
        assert self._transport is not None
        self.idle = False
        self._sent = since
        self._transport.write(whole)

    def data_received(self, data: bytes) -> None:
        self._seen = self._seen + data if self._seen else data
        if not _is_whole(self._seen):
            return
        now = time.perf_counter()
        self._answers.add(now - self._sent, good=self._seen.startswith(b"HTTP/1.1 200"))
        self._seen = b""
        self.fire()

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.idle:
            self._answers.lost += 1
        self.idle = self.is_over = True
        self._transport = None

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    @property
    def is_open(self) -> bool:
        return self._transport is not None


def _is_whole(seen: bytes) -> bool:
    end = seen.find(b"\r\n\r\n")
    if end < 0:
        return False
    head = seen[:end].lower()
    at = head.find(b"content-length:")
    if at < 0:
        return True
    length = int(head[at + 15 :].partition(b"\r\n")[0])
    return len(seen) >= end + 4 + length


async def load(order: Order) -> Answers:
    answers = Answers()
    made = _made(order)
    loop = asyncio.get_running_loop()
    clients = [
        (await loop.create_connection(lambda: Client(answers, made), "127.0.0.1", order.port))[1]
        for _ in range(order.connections)
    ]
    answers.began = time.monotonic()
    if order.per_second:
        await _paced(order, clients)
    else:
        for client in clients:
            client.fire()
        await _until_over(order, clients)
    for client in clients:
        client.is_over = True
    answers.ended = time.monotonic()
    with suppress(TimeoutError):
        async with asyncio.timeout(_LAST_WAIT_S):
            while not all(client.idle for client in clients):  # noqa: ASYNC110 - 64 of them would have to ring
                await asyncio.sleep(0.005)
    for client in clients:
        client.close()
    return answers


def _made(order: Order) -> Iterator[bytes]:
    if order.per_second:
        return iter(())
    made = some(order.requests_max, order.prefix, order.kind, lanes=order.lanes, redelivered=order.redelivered)
    return cycle(made) if order.repeat else iter(made)


async def _until_over(order: Order, clients: list[Client]) -> None:
    until = time.monotonic() + order.seconds
    while time.monotonic() < until and not all(client.idle for client in clients):  # noqa: ASYNC110 - as above
        await asyncio.sleep(0.005)


async def _paced(order: Order, clients: list[Client]) -> None:
    """One each so often, whatever the answers do; latency counts from the moment at which it should have been sent."""
    loop, between, made = asyncio.get_running_loop(), 1 / order.per_second, REQUESTS[order.source]
    begin = loop.time()
    for number in range(round(order.seconds * order.per_second)):
        due = begin + number * between
        if due > loop.time():
            await _at(loop, due)
        late = loop.time() - due
        client = next((each for each in clients if each.idle and each.is_open), None)
        if client is None:
            continue
        clients.remove(client)
        clients.append(client)
        whole = made(
            f"{order.prefix}.{number:x}",
            lane=order.first_lane + number % order.lanes,
            kind=order.kind,
            sent=time.monotonic() - late,
        )
        client.send(whole, time.perf_counter() - late)


async def _at(loop: asyncio.AbstractEventLoop, due: float) -> None:
    """Timers of the loop count whole milliseconds, and may be one late: the last bit is waited for actively."""
    coarse = due - loop.time() - 0.002
    if coarse > 0:
        await asyncio.sleep(coarse)
    while loop.time() < due:  # noqa: ASYNC110 - see above: this is the active part
        await asyncio.sleep(0)


def main() -> None:
    order = msgspec.json.decode(sys.argv[1].encode(), type=Order)
    answers = uvloop.run(load(order))
    sys.stdout.write(json.dumps(answers.told()) + "\n")


if __name__ == "__main__":
    main()
