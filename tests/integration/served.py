"""An HTTP server of ours in a thread with a loop of its own, and peers on raw sockets, as rude as they like."""

import asyncio
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Self

import uvloop

from procession.ingress.asgi_types import Headers, Receive, Scope, Send
from procession.ingress.http_limits import HttpLimits
from procession.ingress.server import HttpServer

SOON: Final = timedelta(milliseconds=150)
SWEEP: Final = timedelta(milliseconds=10)
PATIENCE_S: Final = 20.0
"""How long a test waits for what must happen before it fails: no expectation of speed."""
LOOPS: Final[dict[str, Callable[[], asyncio.AbstractEventLoop]]] = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}


class Manners:
    """The application: its path says how it behaves. What it saw is kept for the test."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, bytes]] = []
        self.written = 0
        self.saw_disconnect = threading.Event()
        self.was_cancelled = threading.Event()
        self.is_held = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._held: list[asyncio.Event] = []

    def release(self) -> None:
        assert self._loop is not None
        for held in self._held:
            self._loop.call_soon_threadsafe(held.set)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._loop = asyncio.get_running_loop()
        path = str(scope["path"])
        event = await receive()
        body = event["body"]
        assert isinstance(body, bytes)
        assert not event["more_body"]
        self.calls.append((path, body))
        try:
            await self._behave(path, scope, body, receive, send)
        except asyncio.CancelledError:
            self.was_cancelled.set()
            raise

    async def _behave(self, path: str, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:  # noqa: C901 - a table
        match path.split("/")[1]:
            case "hold":
                held = asyncio.Event()
                self._held.append(held)
                self.is_held.set()
                await held.wait()
                await answer(send, body=path.encode())
            case "fail":
                raise LookupError("on purpose")
            case "silent":
                return
            case "half":
                await send(start(headers=[] if path == "/half/open" else [(b"content-length", b"10")]))
                await send({"type": "http.response.body", "body": b"12345", "more_body": True})
                raise LookupError("on purpose")
            case "short" | "long":
                await answer(send, headers=[(b"content-length", b"4")], body=b"123" if path == "/short" else b"12345")
            case "split":
                await answer(send, headers=[(b"x-evil", b"a\r\nx-other: b")], body=b"")
            case "chunks":
                await send(start())
                for part in (b"one", b"", b"two"):
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                await send({"type": "http.response.body"})
            case "status":
                await send(start(status=int(path.split("/")[2])))
                await send({"type": "http.response.body"})
            case "flood":
                await self._flood(send)
            case "blob":
                await answer(send, body=b"x" * int(path.split("/")[2]))
                self.written += int(path.split("/")[2])
            case "watch":
                self.is_held.set()
                event = await receive()
                assert event["type"] == "http.disconnect"
                self.saw_disconnect.set()
            case "fields":
                headers = scope["headers"]
                assert isinstance(headers, list)
                await answer(send, body=b",".join(name for name, _ in headers))
            case "stubborn":
                await answer(send, body=b"done")
                assert (await receive())["type"] == "http.disconnect"
                self.saw_disconnect.set()
            case _:
                await answer(send, body=b"%b %b %b" % (str(scope["method"]).encode(), path.encode(), body[:1000]))

    async def _flood(self, send: Send) -> None:
        """A stream that ends only with its reader, and waits for nothing but the server."""
        await send(start())
        self.is_held.set()
        try:
            while True:
                await send({"type": "http.response.body", "body": b"x" * 65536, "more_body": True})
                self.written += 65536
        except OSError:
            self.saw_disconnect.set()
            raise


def start(*, status: int = 200, headers: Headers | None = None) -> Mapping[str, object]:
    return {"type": "http.response.start", "status": status, "headers": headers or []}


async def answer(send: Send, *, body: bytes, headers: Headers | None = None) -> None:
    await send(start(headers=headers))
    await send({"type": "http.response.body", "body": body})


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    status: int
    fields: dict[str, str]
    body: bytes


class Peer:
    """A client without manners: it writes bytes, and reads answers."""

    def __init__(self, port: int, *, address: str = "127.0.0.1", receive_buffer: int | None = None) -> None:
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.bind((address, 0))
        self.socket.settimeout(PATIENCE_S)
        try:
            self.socket.connect(("127.0.0.1", port))
        except OSError:
            self.socket.close()
            raise
        self._seen = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, piece: bytes) -> Self:
        self.socket.sendall(piece)
        return self

    def drip(self, piece: bytes, *, every_s: float = 0.01) -> int:
        """Send byte by byte until the other side says or does something; answers how many bytes went out."""
        for sent, byte in enumerate(piece):
            try:
                self.socket.sendall(bytes([byte]))
            except OSError:
                return sent
            if select.select([self.socket], [], [], every_s)[0]:
                return sent + 1
        return len(piece)

    def answer(self, *, to_head: bool = False) -> Answer:
        head = self._until(b"\r\n\r\n").decode("latin-1")
        first, *lines = head.removesuffix("\r\n\r\n").split("\r\n")
        fields = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        status = int(first.split(" ")[1])
        if to_head or status in (100, 204, 304):
            body = b""
        elif fields.get("transfer-encoding") == "chunked":
            body = b"".join(self._chunks())
        else:
            body = self._exactly(int(fields["content-length"]))
        return Answer(status=status, fields=fields, body=body)

    def rest(self) -> bytes:
        """Everything up to the end of the other side; a reset is an end as well."""
        try:
            while piece := self.socket.recv(65536):
                self._seen += piece
        except ConnectionResetError:
            pass
        rest, self._seen = self._seen, b""
        return rest

    def is_reset(self) -> bool:
        """Read to the end, and say whether it was a bad one."""
        try:
            while self.socket.recv(65536):
                pass
        except ConnectionResetError:
            return True
        return False

    def reset_at_end(self) -> None:
        """Closing throws away what is unread and unsent, as a dying process does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def is_open(self) -> bool:
        """Whether the other side has neither closed nor said anything."""
        return not select.select([self.socket], [], [], 0)[0]

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self._until(b"\r\n"), 16):
            yield self._exactly(size)
            assert self._exactly(2) == b"\r\n"
        assert self._exactly(2) == b"\r\n"

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._seen:
            self._read()
        end = self._seen.index(mark) + len(mark)
        head, self._seen = self._seen[:end], self._seen[end:]
        return head

    def _exactly(self, size: int) -> bytes:
        while len(self._seen) < size:
            self._read()
        part, self._seen = self._seen[:size], self._seen[size:]
        return part

    def _read(self) -> None:
        piece = self.socket.recv(65536)
        assert piece, f"the connection ended after {self._seen!r}"
        self._seen += piece


class Served:
    """The running server, as a test sees it."""

    def __init__(self, server: HttpServer, app: Manners, loop: asyncio.AbstractEventLoop) -> None:
        self._server = server
        self._loop = loop
        self.app = app
        self.port = 0
        self.is_down = threading.Event()

    def peer(self, *, address: str = "127.0.0.1", receive_buffer: int | None = None) -> Peer:
        return Peer(self.port, address=address, receive_buffer=receive_buffer)

    def stop(self, *, within: timedelta | None = None) -> None:
        self._loop.call_soon_threadsafe(lambda: self._server.stop(within=within))

    def ask(self, question: Callable[[HttpServer], int]) -> int:
        """On the server's own thread, after everything that has arrived there before."""
        return asyncio.run_coroutine_threadsafe(_asked(question, self._server), self._loop).result(PATIENCE_S)

    def wait_for_connections(self, count: int) -> None:
        reached = _until(lambda: self._server.connections == count)
        asyncio.run_coroutine_threadsafe(reached, self._loop).result(PATIENCE_S)

    def answers_well(self) -> bool:
        """From another address, so that no cap of the rude peer's own stands in the way."""
        with self.peer(address="127.0.0.9") as peer:
            return peer.send(post(b"hello")).answer().body == b"POST /any hello"


async def _asked(question: Callable[[HttpServer], int], server: HttpServer) -> int:
    return question(server)


async def _until(condition: Callable[[], bool]) -> None:
    while not condition():  # noqa: ASYNC110 - of the server's own state, which rings no bell
        await asyncio.sleep(0.002)


def post(body: bytes, *, path: str = "/any", fields: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: h\r\nContent-Length: {len(body)}\r\n{fields}\r\n".encode() + body


def get(path: str, *, fields: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: h\r\n{fields}\r\n".encode()


@contextmanager
def served(limits: HttpLimits | None = None, *, loop: str = "uvloop") -> Iterator[Served]:
    app = Manners()
    running = LOOPS[loop]()
    limits = limits or HttpLimits(sweep_every=SWEEP)
    port: Future[int] = Future()
    server = HttpServer(app, host="127.0.0.1", port=0, limits=limits, on_listening=port.set_result)
    it = Served(server, app, running)

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: running) as runner:
            runner.run(server.run())
        it.is_down.set()

    thread = threading.Thread(target=run, name="http server")
    thread.start()
    try:
        it.port = port.result(PATIENCE_S)
        yield it
    finally:
        if not it.is_down.is_set():
            it.stop(within=timedelta(0))
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "the server did not stop"


@contextmanager
def good_traffic(server: Served) -> Iterator[None]:
    """Somebody else, one request after the other: none may fail, and some must be answered meanwhile."""
    over = threading.Event()
    statuses: list[int] = []
    seen_some = threading.Event()

    def go_on() -> None:
        with server.peer(address="127.0.0.8") as peer:
            while not over.is_set():
                statuses.append(peer.send(post(b"good")).answer().status)
                if len(statuses) >= 3:
                    seen_some.set()

    thread = threading.Thread(target=go_on, name="good traffic")
    thread.start()
    try:
        yield
        seen_some.clear()
        assert seen_some.wait(PATIENCE_S), "good traffic stands still"
    finally:
        over.set()
        thread.join(PATIENCE_S)
    assert set(statuses) == {200}
