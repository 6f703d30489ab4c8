"""What an HTTP server costs the ingress: signature and decoding of a 1 KB body, no store, deadlines in place.

    PYTHONPATH=src:. python -m tests.integration.http_server_speed [--seconds 3] [--rounds 3] [--only ours,uvicorn]

Not a test: it prints figures. Each server runs in a process of its own, one after the other and round by round, so that
a noisy machine is noisy for all of them. Besides the rate, which the load and other programs on the machine bend, it
prints the processor time that the server itself spent on a request: that figure is steadier. uvicorn and granian are
installed for this comparison only.
"""

import argparse
import asyncio
import contextlib
import hashlib
import hmac
import json
import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Final

import msgspec

from procession.ingress.asgi_types import Receive, Scope, Send

SECRET: Final = b"a signing secret of a bench, long enough"
CONNECTIONS: Final = 64
TICKS: Final = os.sysconf("SC_CLK_TCK")


class Contact(msgspec.Struct):
    wa_id: str
    name: str


class Text(msgspec.Struct):
    body: str


class Entry(msgspec.Struct):
    id: str
    sender: str
    timestamp: str
    text: Text
    contacts: list[Contact]


DECODER: Final = msgspec.json.Decoder(Entry)
FIELDS: Final = [(b"content-type", b"application/json"), (b"content-length", b"2")]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """What any ingress has to do before it may accept."""
    body = b""
    more = True
    while more:
        event = await receive()
        body += event["body"]  # type: ignore[operator]  # ASGI promises bytes
        more = bool(event.get("more_body"))
    signature = next((value for name, value in scope["headers"] if name == b"x-hub-signature-256"), b"")  # type: ignore[attr-defined]  # ASGI promises pairs
    is_right = hmac.compare_digest(signature, b"sha256=" + hmac.digest(SECRET, body, "sha256").hex().encode())
    DECODER.decode(body)
    await send({"type": "http.response.start", "status": 200 if is_right else 401, "headers": FIELDS})
    await send({"type": "http.response.body", "body": b"{}"})


# ------------------------------------------------------------------------------------------------------ the servers


async def serve_ours(announce: Callable[[int], None]) -> None:
    from procession.ingress.server import HttpServer

    await HttpServer(app, host="127.0.0.1", port=0, on_listening=announce).run()


async def serve_uvicorn(announce: Callable[[int], None]) -> None:
    await _uvicorn(announce, "httptools")


async def serve_uvicorn_with_deadlines(  # noqa: C901 - one class inside
    announce: Callable[[int], None],
) -> None:
    impl = import_module("uvicorn.protocols.http.httptools_impl")

    from procession.ingress.deadlines import Mortal, Sweep
    from procession.ingress.http_limits import HttpLimits

    limits = HttpLimits()
    head_s, body_s, idle_s = (ttl.total_seconds() for ttl in (limits.head_ttl, limits.body_ttl, limits.idle_ttl))
    everybody: set[Mortal] = set()

    class Bounded(impl.HttpToolsProtocol):  # type: ignore[misc, name-defined]  # it may not be installed
        """The least that would have to be added: no caps, no room for bodies, no lingering, no order of refusals."""

        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            self.deadline = self.loop.time() + head_s
            everybody.add(self)

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            everybody.discard(self)

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self.body_bytes = 0
            self.deadline = self.loop.time() + head_s

        def on_header(self, name: bytes, value: bytes) -> None:
            super().on_header(name, value)
            if len(self.headers) > limits.head_fields_max:
                raise ValueError

        def on_headers_complete(self) -> None:
            self.deadline = self.loop.time() + body_s
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self.body_bytes += len(body)
            if self.body_bytes > limits.body_bytes_max:
                raise ValueError
            super().on_body(body)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self.deadline = self.loop.time() + idle_s

        def overdue(self, now: float) -> None:
            self.deadline = now + 1
            self.transport.abort()

    Sweep(limits.sweep_every.total_seconds(), lambda: tuple(everybody)).start()
    await _uvicorn(announce, Bounded)


async def _uvicorn(announce: Callable[[int], None], protocol: object) -> None:
    uvicorn = import_module("uvicorn")

    class Server(uvicorn.Server):  # type: ignore[misc, name-defined]  # it may not be installed
        async def startup(self, sockets: object = None) -> None:
            await super().startup(sockets)
            announce(self.servers[0].sockets[0].getsockname()[1])

    config = uvicorn.Config(
        app,
        host="127.0.0.1",
        port=0,
        http=protocol,
        lifespan="off",
        access_log=False,
        log_level="error",
        ws="none",
    )
    await Server(config).serve()


async def serve_granian(announce: Callable[[int], None]) -> None:
    import socket

    embed = import_module("granian.server.embed")

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = embed.Server(app, port=port, interface=embed.Interfaces.ASGI, log_enabled=False, websockets=False)
    serving = asyncio.ensure_future(server.serve())
    while True:
        with contextlib.suppress(OSError):
            _, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.close()
            break
        await asyncio.sleep(0.02)
    announce(port)
    await serving


SERVERS: Final[dict[str, Callable[[Callable[[int], None]], Awaitable[None]]]] = {
    "ours": serve_ours,
    "uvicorn+deadlines": serve_uvicorn_with_deadlines,
    "uvicorn": serve_uvicorn,
    "granian": serve_granian,
}


# --------------------------------------------------------------------------------------------------------- the load


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    server: str
    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    """Of the server, for each request."""
    idle_rss_mb: float
    loaded_rss_mb: float


class Client(asyncio.Protocol):
    """One connection, one request under way at a time."""

    def __init__(self, request: bytes, took: list[float]) -> None:
        self._request = request
        self._took = took
        self._sent = 0.0
        self._seen = b""
        self.is_over = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]  # of TCP
        self._fire()

    def _fire(self) -> None:
        self._sent = perf_counter()
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._seen += data
        if not self._seen.endswith(b"\r\n\r\n{}"):
            return
        if not self._seen.startswith(b"HTTP/1.1 200"):
            raise SystemExit(f"not an answer: {self._seen!r}")
        self._seen = b""
        self._took.append(perf_counter() - self._sent)
        if self.is_over:
            self._transport.close()
        else:
            self._fire()


def request() -> bytes:
    filler = "Guten Tag, wann kommt meine Bestellung? " * 20
    body = json.dumps(
        {
            "id": "wamid.HBgLNDkxNzAxMjM0NTY3FQIAEhgUM0E",
            "sender": "491701234567",
            "timestamp": "1767225600",
            "text": {"body": filler},
            "contacts": [{"wa_id": "491701234567", "name": "Erika Mustermann"}],
        }
    ).encode()
    signature = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    head = (
        "POST /hooks/acme HTTP/1.1\r\nHost: hooks.example.com\r\nUser-Agent: facebookexternalua\r\nAccept: */*\r\n"
        f"Content-Length: {len(body)}\r\nContent-Type: application/json\r\nX-Hub-Signature-256: sha256={signature}\r\n"
        "X-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\n\r\n"
    )
    return head.encode() + body


async def load(port: int, seconds: float) -> list[float]:
    loop = asyncio.get_running_loop()
    took: list[float] = []
    clients = [
        (await loop.create_connection(lambda: Client(request(), took), "127.0.0.1", port))[1]
        for _ in range(CONNECTIONS)
    ]
    await asyncio.sleep(seconds)
    for client in clients:
        client.is_over = True
    await asyncio.sleep(0.1)
    return took


def measure(server: str, seconds: float) -> Figures:
    with served(server) as (pid, port):
        idle = rss_mb(pid)
        run(load(port, 0.5))
        before = cpu_s(pid)
        took = run(load(port, seconds))
        spent = cpu_s(pid) - before
        took.sort()
        return Figures(
            server=server,
            rate=round(len(took) / seconds),
            p50_ms=round(took[len(took) // 2] * 1000, 2),
            p99_ms=round(took[len(took) * 99 // 100] * 1000, 2),
            cpu_us=round(spent / len(took) * 1_000_000, 1),
            idle_rss_mb=idle,
            loaded_rss_mb=rss_mb(pid),
        )


@contextlib.contextmanager
def served(server: str) -> Iterator[tuple[int, int]]:
    command = [sys.executable, "-m", "tests.integration.http_server_speed", "--serve", server]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.pid, int(process.stdout.readline())
        finally:
            process.send_signal(signal.SIGKILL)


def run(loading: Awaitable[list[float]]) -> list[float]:
    import uvloop

    return uvloop.run(loading)  # type: ignore[arg-type]  # it is a coroutine


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def rss_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 2**20, 1)


def median(rounds: list[Figures]) -> Figures:
    values = {
        name: statistics.median(getattr(figures, name) for figures in rounds)
        for name in Figures.__slots__
        if name != "server"
    }
    return Figures(server=rounds[0].server, **values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default=",".join(SERVERS))
    parser.add_argument("--serve", choices=tuple(SERVERS), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        import uvloop

        uvloop.run(SERVERS[arguments.serve](say))  # type: ignore[arg-type]  # coroutines
        return
    rounds: dict[str, list[Figures]] = {server: [] for server in arguments.only.split(",")}
    for _ in range(arguments.rounds):
        for server, figures in rounds.items():
            figures.append(measure(server, arguments.seconds))
    for figures in rounds.values():
        say(json.dumps(asdict(median(figures))))


def say(line: object) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
