"""A real engine: `procession serve` as a child process, with a provider of its own that takes what is sent."""

import hashlib
import hmac
import http.client
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, Self

from procession.runtime.document import Json

PATIENCE_S: Final = 60.0
"""How long a test waits for what must happen before it fails: no expectation of speed."""
SIGNING: Final = "signing-secret-of-the-shop-endpoint"
SENDING: Final = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"

PLATFORM: Final = """
[[tenant]]
name = "acme"

[[endpoint]]
name = "shop"
connector = "plain"
signing = [{ env = "SHOP_SIGNING" }]

[[channel]]
tenant = "acme"
endpoint = "shop"
id = "/id"
lane = "/who"
kind = "/kind"
text = "/text"
url = "%s"
signing = { env = "SHOP_SENDING" }
"""

APPLICATION: Final = """
from urllib.request import urlopen
from procession import App, PlainTurn, Turn

app = App()

@app.on("text")
async def answer(turn: Turn) -> None:
    turn.state["count"] = turn.state.get("count", 0) + 1
    turn.reply(f"{turn.state['count']}: {turn.event.data['text']}")

@app.on("fail", tries=1)
async def fail(turn: Turn) -> None:
    raise LookupError("nobody knows why")

@app.on("park", tries=1, when_used_up="park")
async def park(turn: Turn) -> None:
    raise LookupError("a person has to look")

@app.on("hold")
def hold(turn: PlainTurn) -> None:
    with urlopen(turn.event.data["at"]) as held:
        held.read()
    turn.reply("held")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """One POST that the provider has taken."""

    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Json:
        return json.loads(self.body)


class Provider:
    """Takes every POST with 200; a GET is held until it is let go."""

    def __init__(self) -> None:
        self.taken: queue.Queue[Taken] = queue.Queue()
        self.holds: queue.Queue[str] = queue.Queue()
        self.let_go = threading.Event()
        provider = self

        class Answers(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                provider.taken.put(Taken(headers={k.lower(): v for k, v in self.headers.items()}, body=body))
                self._answer()

            def do_GET(self) -> None:
                provider.holds.put(self.path)
                provider.let_go.wait(PATIENCE_S)
                self._answer()

            def _answer(self) -> None:
                self.send_response(200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base's own)
                """Nothing: a test that fails shows what it needs."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/taken"

    def next(self) -> Taken:
        return self.taken.get(timeout=PATIENCE_S)

    def close(self) -> None:
        self.let_go.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class House:
    """A working directory with an application and a declaration, and the commands run in it."""

    def __init__(
        self, folder: Path, provider: Provider, *, application: str = APPLICATION, platform: str | None = None
    ) -> None:
        self.folder = folder
        self.provider = provider
        (folder / "bot.py").write_text(application)
        (folder / "platform.toml").write_text(PLATFORM % provider.url if platform is None else platform)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PROCESSION_")},
            "SHOP_SIGNING": SIGNING,
            "SHOP_SENDING": SENDING,
        }

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        """One command, to its end."""
        return subprocess.run(
            [sys.executable, "-m", "procession.cli", *arguments],
            cwd=self.folder,
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def ask(self, *arguments: str) -> Json:
        """A command's answer, as JSON."""
        ran = self.run(*arguments, "--json")
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    def engine(self, *options: str, app: str | None = "bot:app") -> "Engine":
        """Started and listening."""
        return Engine(self, ([app] if app else []) + list(options))


class Engine:
    """A `procession serve` of its own; killed at the end if it has not ended by itself."""

    def __init__(self, house: House, options: list[str]) -> None:
        command = [sys.executable, "-m", "procession.cli", "serve", *options, "--port", "0", "--json"]
        reach = ["--allow-private", "127.0.0.0/8", "--outbound-ports", "1-65535"]
        self._process = subprocess.Popen(
            [*command, *reach],
            cwd=house.folder,
            env=house.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.port: int = self._announced().get("port") or 0

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def _announced(self) -> Json:
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], PATIENCE_S)
        line = self._process.stdout.readline() if readable else ""
        if not line:
            self._process.kill()
            _, said = self._process.communicate()
            raise AssertionError(f"the engine did not come up: {said}")
        return json.loads(line)

    def request(self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None) -> int:
        """The status that it answers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body, dict(headers or {}))
            return connection.getresponse().status
        finally:
            connection.close()

    def deliver(self, document: object, *, secret: str = SIGNING, endpoint: str = "shop") -> int:
        """A signed webhook."""
        body = json.dumps(document).encode()
        signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        headers = {"content-type": "application/json", "x-signature-256": f"sha256={signature}"}
        return self.request("POST", f"/hooks/{endpoint}", body, headers)

    def text(self, event: str, text: str = "hello", who: str = "bob") -> int:
        return self.deliver({"id": event, "who": who, "kind": "text", "text": text})

    def signal(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def stand_still(self, seconds: float) -> None:
        """SIGSTOP for so long: the length is the very thing that is tested, longer than a lease."""
        self.signal(signal.SIGSTOP)
        time.sleep(seconds)
        self.signal(signal.SIGCONT)

    def wait(self) -> int:
        """Its exit status; what it said is in `said` then, and what it printed after its announcement in `printed`."""
        self.printed, self.said = self._process.communicate(timeout=PATIENCE_S)
        return self._process.returncode

    def stop(self) -> int:
        self.signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> None:
        self._process.kill()
        self.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self.kill()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()


def appears(path: Path) -> bytes:
    """What a file holds once it is there, whole."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if path.exists():
            return path.read_bytes()
        time.sleep(0.01)
    raise AssertionError(f"{path.name} never appeared")


@contextmanager
def house_in(folder: Path, **environment: str) -> Iterator[House]:
    """With nobody in it yet; `apply` is done already."""
    provider = Provider()
    try:
        house = House(folder, provider)
        house.environment.update(environment)
        house.ask("apply", "-f", "platform.toml")
        yield house
    finally:
        provider.close()
