"""The floor: what one would write first. The same server and verification, and nothing shared between requests.

    python -m procession.testing.bench.floor bare|meta|ingress|accept|drain|live FILE

bare      verify and decode, and answer: what any server has to do that keeps nothing
meta      the same, of WhatsApp's webhooks
ingress   the same by this product's own ingress, over a store that keeps nothing
accept    one INSERT, one COMMIT (synchronous=FULL) for each request, on a thread of its own; a unique key drops repeats
drain     play what is there: one event a claim, one transaction for the claim, one for its end
live      both at once, on the same thread

It keeps order: no second event of a lane is claimed while one is being played. It has no tenants' shares, no leases,
no fence, no tries, no state, and after a crash somebody has to look for what was being played.
"""

import asyncio
import hmac
import json
import queue
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import msgspec
import uvloop

from procession.ingress.asgi import body_of
from procession.ingress.asgi_types import Receive, Scope, Send
from procession.ingress.server import HttpServer
from procession.testing.bench.deliveries import SECRET
from procession.testing.whatsapp.line import SECRET as APP_SECRET

T = TypeVar("T")
Event = tuple[int, str, bytes]

_SCHEMA: Final = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
CREATE TABLE IF NOT EXISTS event (
    no INTEGER PRIMARY KEY, tenant TEXT, lane TEXT, id TEXT, kind TEXT, state INTEGER, payload BLOB, UNIQUE (tenant, id)
);
CREATE INDEX IF NOT EXISTS event_waiting ON event (no) WHERE state = 0;
CREATE INDEX IF NOT EXISTS event_playing ON event (tenant, lane) WHERE state = 1;
"""
_INSERT: Final = (
    "INSERT INTO event (tenant, lane, id, kind, state, payload) VALUES (?, ?, ?, ?, 0, ?) ON CONFLICT DO NOTHING"
)
_HEAD: Final = """
SELECT no, lane, payload FROM event WHERE state = 0 AND NOT EXISTS (
    SELECT 1 FROM event AS playing
    WHERE playing.state = 1 AND playing.tenant = event.tenant AND playing.lane = event.lane
) ORDER BY no LIMIT 1
"""
_HOLD: Final = "UPDATE event SET state = 1 WHERE no = ?"
_DONE: Final = "UPDATE event SET state = 2 WHERE no = ?"
PLAYERS: Final = 16
_FIELDS: Final = [(b"content-type", b"text/plain"), (b"content-length", b"3")]


class Document(msgspec.Struct):
    """What is looked at."""

    id: str
    account: str
    who: str
    kind: str


DECODER: Final = msgspec.json.Decoder(Document)


class OneByOne:
    """A thread that writes: a transaction for each."""

    def __init__(self, file: Path) -> None:
        self._connection = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
        self._connection.executescript(_SCHEMA)
        self._works: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        threading.Thread(target=self._write, daemon=True).start()

    def put(self, do: Callable[[sqlite3.Connection], T]) -> "asyncio.Future[T]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()

        def work() -> None:
            self._connection.execute("BEGIN IMMEDIATE")
            answer = do(self._connection)
            self._connection.execute("COMMIT")
            loop.call_soon_threadsafe(future.set_result, answer)

        self._works.put(work)
        return future

    def _write(self) -> None:
        while True:
            self._works.get()()


def _insert(document: Document, body: bytes) -> Callable[[sqlite3.Connection], int]:
    row = (document.account, document.who, document.id, document.kind, body)
    return lambda connection: connection.execute(_INSERT, row).rowcount


def _claim(connection: sqlite3.Connection) -> Event | None:
    found: Event | None = connection.execute(_HEAD).fetchone()
    if found is not None:
        connection.execute(_HOLD, (found[0],))
    return found


def _end(number: int) -> Callable[[sqlite3.Connection], int]:
    return lambda connection: connection.execute(_DONE, (number,)).rowcount


class Bare:
    """Meta's: verified and decoded, answered and forgotten."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await body_of(receive)
        msgspec.json.decode(body)
        await _answer(send, good=_is_signed(scope, body, b"x-hub-signature-256", APP_SECRET.encode()))


class Floor:
    def __init__(self, writer: OneByOne | None) -> None:
        self._writer = writer
        self._rung = asyncio.Event()
        self.done = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = await body_of(receive)
        document = DECODER.decode(body)
        good = _is_signed(scope, body)
        if good and self._writer is not None:
            await self._writer.put(_insert(document, body))
            self._rung.set()
        await _answer(send, good=good)

    async def play(self, handler: Callable[[Event], object], *, stay: bool) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(PLAYERS):
                group.create_task(self._player(handler, stay=stay))

    async def _player(self, handler: Callable[[Event], object], *, stay: bool) -> None:
        assert self._writer is not None
        while True:
            self._rung.clear()
            event = await self._writer.put(_claim)
            if event is not None:
                handler(event)
                await self._writer.put(_end(event[0]))
                self._rung.set()
                self.done += 1
            elif stay:
                await self._rung.wait()
            else:
                return


async def _answer(send: Send, *, good: bool) -> None:
    await send({"type": "http.response.start", "status": 200 if good else 401, "headers": _FIELDS})
    await send({"type": "http.response.body", "body": b"ok\n"})


def _is_signed(scope: Scope, body: bytes, header: bytes = b"x-signature-256", secret: bytes = SECRET) -> bool:
    headers = scope["headers"]
    assert isinstance(headers, list)
    said = next((value for name, value in headers if name == header), b"")
    return hmac.compare_digest(said, b"sha256=" + hmac.digest(secret, body, "sha256").hex().encode())


def _say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


def _nothing(_event: Event) -> None:
    """The handler."""


async def _run(mode: str, file: Path) -> None:
    floor = Floor(None if mode in ("bare", "meta") else OneByOne(file))
    if mode == "drain":
        _say({"port": 0})
        began = time.monotonic()
        await floor.play(_nothing, stay=False)
        _say({"done": floor.done, "seconds": time.monotonic() - began})
        return
    app = Bare() if mode == "meta" else floor
    server = HttpServer(app, host="127.0.0.1", port=0, on_listening=lambda port: _say({"port": port}))
    async with asyncio.TaskGroup() as group:
        if mode == "live":
            group.create_task(floor.play(_nothing, stay=True))
        group.create_task(server.run())


def main() -> None:
    mode, file = sys.argv[1], Path(sys.argv[2])
    if mode == "ingress":
        from procession.testing.bench.keepless import serve

        uvloop.run(serve(lambda port: _say({"port": port})))
    else:
        uvloop.run(_run(mode, file))


if __name__ == "__main__":
    main()
