"""Two tenants whose secrets, senders and texts are canaries, a life full of failures, and a sweep through all of it.

A canary of one tenant may be seen by that tenant's own commands and receiver. A secret may be seen nowhere.
"""

import base64
import hashlib
import hmac
import http.client
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, cast
from urllib.parse import quote

from click.testing import CliRunner

from procession.cli import main
from tests.integration.engines import PATIENCE_S, Engine, House, Provider

APPLICATION: Final = """
from procession import App, PlainTurn, Turn

app = App()

@app.on("text")
async def answer(turn: Turn) -> None:
    turn.state["key_size"] = len(await turn.secret("model-key"))
    turn.log.note("answered", kind=turn.event.kind)
    turn.reply(turn.event.data["text"])

@app.on("plain")
def plain(turn: PlainTurn) -> None:
    turn.reply(f"{len(turn.secret('model-key'))} {turn.event.data['text']}")

@app.on("fail", tries=1)
async def fail(turn: Turn) -> None:
    await turn.secret("model-key")
    raise LookupError(f"{turn.lane_key} wrote {turn.event.data['text']}")

@app.on("park", tries=2, when_used_up="park")
async def park(turn: Turn) -> None:
    raise LookupError(f"{turn.lane_key} wrote {turn.event.data['text']}")

@app.on("missing", tries=1)
async def missing(turn: Turn) -> None:
    await turn.secret("no-such-key")
"""

PLATFORM: Final = """
[[tenant]]
name = "{tenant}"

[[endpoint]]
name = "{tenant}"
connector = "plain"
tenant = "{tenant}"
signing = [{{ env = "{upper}_SIGNING" }}]

[[channel]]
tenant = "{tenant}"
endpoint = "{tenant}"
id = "/id"
lane = "/who"
kind = "/kind"
text = "/text"
url = "{url}"
signing = {{ env = "{upper}_SENDING" }}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Canaries:
    """What is unique about one tenant."""

    tenant: str
    phone: str
    text: str
    signing: str
    sending: str
    model_key: str
    verify_token: str

    def people(self) -> tuple[str, ...]:
        return self.phone, self.text

    def secrets(self) -> tuple[str, ...]:
        return self.signing, self.sending, self.model_key, self.verify_token

    def forms_of_secrets(self) -> Iterator[bytes]:
        """As they are, and as something on the way might have written them."""
        for secret in self.secrets():
            raw = secret.encode()
            shapes = [raw, base64.b64encode(raw), raw.hex().encode(), quote(secret, safe="").encode()]
            yield from (shape.rstrip(b"=") for shape in shapes)
        yield base64.b64decode(self.sending.removeprefix("whsec_"))


def canaries_of(tenant: str, number: int) -> Canaries:
    sending = base64.b64encode(f"{tenant}-sending-canary-secret-{number}".encode()).decode()
    return Canaries(
        tenant=tenant,
        phone=f"49155500{number}777",
        text=f"text-canary+{tenant}/{number}",
        signing=f"signing+canary/secret-of-{tenant}",
        sending=f"whsec_{sending}",
        model_key=f"sk+canary/model-key-of-{tenant}",
        verify_token=f"verify+canary/token-of-{tenant}",
    )


ACME, BOLT = canaries_of("acme", 1), canaries_of("bolt", 2)
BOTH: Final = (ACME, BOLT)


class Receiver:
    """Takes sends at a path for each tenant; what a send says tells how it is answered. Failures echo the body."""

    def __init__(self) -> None:
        self.taken: dict[str, list[bytes]] = {own.tenant: [] for own in BOTH}
        self.grown = threading.Condition()
        receiver = self

        class Answers(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                with receiver.grown:
                    receiver.taken[self.path.split("/")[1]].append(str(self.headers).encode() + body)
                    receiver.grown.notify_all()
                if b"send-cut" in body:
                    self.close_connection = True
                    return
                status, answer = receiver.answer(self.path, str(self.headers), body)
                self.send_response(status)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the base's own)
                """Nothing: a test that fails shows what it needs."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def answer(self, path: str, headers: str, body: bytes) -> tuple[int, bytes]:
        del path, headers
        status = next((code for code in (400, 500, 503) if b"send-%d" % code in body), 200)
        return status, body

    def url(self, tenant: str) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{tenant}"

    def wait_for(self, marks: Mapping[str, list[bytes]]) -> None:
        """Until each tenant has got all of these."""

        def there() -> bool:
            return all(mark in b"".join(self.taken[own]) for own, wanted in marks.items() for mark in wanted)

        with self.grown:
            assert self.grown.wait_for(there, PATIENCE_S), self.taken

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@dataclass(slots=True, kw_only=True)
class Seen:
    """All that came out, by where: what anybody may see, what one tenant's commands say, what its receiver got."""

    anybody: dict[str, bytes] = field(default_factory=dict)
    operator: dict[str, bytes] = field(default_factory=dict)
    """Of all tenants at once: senders may be in it, secrets may not."""
    own: dict[str, dict[str, bytes]] = field(default_factory=lambda: {own.tenant: {} for own in BOTH})
    files: dict[str, bytes] = field(default_factory=dict)


def leaks(seen: Seen) -> list[str]:
    """Where something was seen that should not be there."""
    found: list[str] = []
    everywhere = {**seen.anybody, **seen.operator, **seen.files}
    for tenant, outputs in seen.own.items():
        everywhere |= {f"{tenant}: {place}": output for place, output in outputs.items()}
    for canary in BOTH:
        for secret in canary.forms_of_secrets():
            found += [f"secret in {place}: {secret!r}" for place, output in everywhere.items() if secret in output]
        others = {
            f"{tenant}: {place}": output
            for tenant, outputs in seen.own.items()
            for place, output in outputs.items()
            if tenant != canary.tenant
        }
        for person in canary.people():
            forbidden = {**seen.anybody, **others}
            found += [f"{person} in {place}" for place, output in forbidden.items() if person.encode() in output]
    return found


class Life:
    """The house of two tenants, and what is done in it."""

    def __init__(self, folder: Path, receiver: Receiver, application: str) -> None:
        # Nobody sends to the house's own provider: what it would answer is too friendly.
        self.house = House(
            folder, cast("Provider", receiver), application=application, platform=self._platform(receiver)
        )
        self.receiver = receiver
        self.seen = Seen()
        self._runs = 0
        for own in BOTH:
            upper = own.tenant.upper()
            names = {"SIGNING": own.signing, "SENDING": own.sending, "MODEL": own.model_key}
            names |= {"VERIFY": own.verify_token}
            self.house.environment |= {f"{upper}_{name}": value for name, value in names.items()}

    def _platform(self, receiver: Receiver) -> str:
        return "".join(
            PLATFORM.format(tenant=own.tenant, upper=own.tenant.upper(), url=receiver.url(own.tenant)) for own in BOTH
        )

    def person(self, own: Canaries, number: int) -> str:
        """Each in a conversation of its own, so that one that stands still holds up no other."""
        return f"{own.phone}-{number}"

    def set_up(self) -> None:
        self.tell("operator", "apply", "-f", "platform.toml")
        for own in BOTH:
            self.tell(own.tenant, "secret", "set", own.tenant, "model-key", "--env", f"{own.tenant.upper()}_MODEL")

    def tell(self, whose: str, *arguments: str) -> bytes:
        """One command, in this process: the folder is the working directory. What it prints is seen by whose it is,
        what it complains of by anybody.
        """
        ran = CliRunner().invoke(main, [*arguments, "--json"], env=self.house.environment, catch_exceptions=False)
        name = f"procession {' '.join(arguments)} ({len(self.seen.anybody)})"
        mine = self.seen.operator if whose == "operator" else self.seen.own[whose]
        mine[name] = ran.stdout.encode()
        self.seen.anybody[f"{name}: errors"] = ran.stderr.encode()
        return ran.stdout.encode()

    @contextmanager
    def engine(self) -> Iterator[Engine]:
        self._runs += 1
        with self.house.engine("--log", "note") as engine:
            yield engine
            if engine.is_running:
                engine.stop()
            self.seen.anybody[f"engine {self._runs}: printed"] = engine.printed.encode()
            self.seen.anybody[f"engine {self._runs}: logged"] = engine.said.encode()

    def deliver(self, engine: Engine, own: Canaries, kind: str, number: int, more: str = "") -> None:
        body = {"id": f"{own.tenant}-{number}", "who": self.person(own, number), "kind": kind}
        answer = self.post(engine, own, json.dumps({**body, "text": f"{own.text} {more} #{number}#"}).encode())
        assert answer == 200

    def post(
        self, engine: Engine, own: Canaries, body: bytes, *, secret: str = "", path: str = "", **headers: str
    ) -> int:
        signature = hmac.new((secret or own.signing).encode(), body, hashlib.sha256).hexdigest()
        signed = {"content-type": "application/json", "x-signature-256": f"sha256={signature}"}
        return self.request(engine, "POST", path or f"/hooks/{own.tenant}", body, {**signed, **headers})

    def request(
        self, engine: Engine, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", engine.port, timeout=PATIENCE_S)
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            seen = str(answer.headers).encode() + answer.read()
            self.seen.anybody[f"answer to {method} {len(self.seen.anybody)}: {answer.status}"] = seen
            return answer.status
        finally:
            connection.close()

    def look_into_files(self, when: str) -> None:
        for file in sorted((self.house.folder / "procession-data").iterdir()):
            if file.is_file():
                self.seen.files[f"{when}: {file.name}"] = file.read_bytes()
