"""Where the demo takes place: a folder, an engine on it that can be killed, a receiver of replies for each tenant."""

import hashlib
import hmac
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from procession.ports.clock import Clock
from procession.testing.chaos import reading
from procession.testing.chaos.final_state import EffectEnd
from procession.testing.chaos.history import Happening, History, Wired
from procession.testing.chaos.provider import Carried, FakeProvider, Lies
from procession.testing.chaos.served import Served, free_port
from procession.testing.demo.pulse import Pulse
from procession.testing.demo.referee import STEPS, Call, Referee
from procession.testing.simulation.chance import SeededChance

ENDPOINT: Final = "chat"
BOT: Final = "procession.testing.demo.bot:app"
LEASE: Final = "2s"
_ANSWERED_WITHIN: Final = timedelta(milliseconds=8)
FLOODS: Final = "megastore"
TENANTS: Final = ("bakery", "clinic", FLOODS)
_SECRET: Final = "the signing secret of a demo that nobody else sees"  # noqa: S105 (of a throw-away engine)
_APPLY_WITHIN_S: Final = 60

_PLATFORM: Final = """\
[[endpoint]]
name = "chat"
connector = "plain"
account = "/shop"
signing = [{ env = "DEMO_SECRET" }]
"""
_TENANT: Final = """
[[tenant]]
name = "{tenant}"

[[channel]]
tenant = "{tenant}"
endpoint = "chat"
account = "{tenant}"
id = "/id"
lane = "/from"
kind = "/kind"
text = "/text"
order = "/n"
order_by = "number"
order_first = 1
order_window = 60
url = "http://127.0.0.1:{port}/replies"
tries_max = 1000
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftBehind:
    """What the engine was in the middle of when it was killed, read from a copy of its file."""

    turns: int
    sends: frozenset[str]
    """Effects that were begun and not answered for: in doubt."""


class Overheard(History):
    """What one receiver gets; told to the referee as it comes."""

    def __init__(self, path: Path, clock: Clock, tenant: str, ground: "Ground") -> None:
        super().__init__(path, clock)
        self._tenant = tenant
        self._ground = ground

    def append(self, happening: Happening) -> int:
        if isinstance(happening, Wired):
            self._ground.heard(self._tenant, happening)
        return super().append(happening)


class Ground(AsyncExitStack):
    def __init__(
        self, folder: Path, *, clock: Clock, chance: SeededChance, referee: Referee, pulse: Pulse, bot: str = BOT
    ) -> None:
        """`bot`: so that a test can play one that answers wrongly."""
        super().__init__()
        self.port = free_port()
        self.doubted: set[str] = set()
        """Sends that a kill left in doubt, and that have not been seen again since."""
        self._folder = folder
        self._bot = bot
        self._data = folder / "procession-data"
        self._clock = clock
        self._chance = chance
        self._referee = referee
        self._pulse = pulse
        self._environment = _environment()
        self._served: Served | None = None

    @property
    def served(self) -> Served:
        assert self._served is not None, "open() first"
        return self._served

    async def open(self) -> None:
        """Receivers that listen, tenants that are declared, and an engine that is not started yet."""
        ports = {tenant: await self._receiver(tenant) for tenant in TENANTS}
        declared = _PLATFORM + "".join(_TENANT.format(tenant=tenant, port=port) for tenant, port in ports.items())
        (self._folder / "platform.toml").write_text(declared, encoding="utf-8")
        procession = (sys.executable, "-m", "procession.cli")
        subprocess.run(  # noqa: S603, ASYNC221 (our own command, before anything else goes on)
            (*procession, "apply", "-f", "platform.toml"),
            cwd=self._folder,
            env=self._environment,
            check=True,
            timeout=_APPLY_WITHIN_S,
            stdout=subprocess.DEVNULL,
        )
        reach = ("--allow-private", "127.0.0.0/8", "--outbound-ports", ",".join(str(port) for port in ports.values()))
        here = ("--host", "127.0.0.1", "--port", str(self.port), "--lease", LEASE, "--log", "silent")
        self._served = await self.enter_async_context(
            Served(
                argv=(*procession, "serve", self._bot, *here, *reach),
                folder=self._folder,
                port=self.port,
                clock=self._clock,
                environ=self._environment,
            )
        )

    async def _receiver(self, tenant: str) -> int:
        history = self.enter_context(Overheard(self._folder / f"{tenant}.jsonl", self._clock, tenant, self))
        lies = Lies(delay_max=_ANSWERED_WITHIN)
        receiver = FakeProvider(history=history, chance=self._chance.of(tenant), lies=lies, read=_carried)
        await self.enter_async_context(receiver)
        return receiver.port

    def heard(self, tenant: str, wired: Wired) -> None:
        self.doubted.discard(wired.effect)
        if wired.accepted:
            call = self._referee.replied(tenant, wired.lane, wired.n, wired.oseq or 0)
            if call is Call.RIGHT and wired.oseq == STEPS[-1]:
                self._pulse.answered(tenant, f"{wired.lane}#{wired.n}")
        elif wired.is_repeat:
            self._referee.dropped()

    def left_behind(self) -> LeftBehind:
        """Read from a copy: opening the file itself would recover its log before the engine does."""
        with tempfile.TemporaryDirectory(prefix="procession-demo-") as folder:
            for path in self._data.glob(f"{reading.DATABASE}*"):
                if not path.name.endswith("-shm"):
                    shutil.copy(path, folder)
            copied = Path(folder)
            effects = reading.final_state(copied).effects
            return LeftBehind(
                turns=reading.at_death(copied).turns_in_flight,
                sends=frozenset(effect.effect for effect in effects if effect.end is EffectEnd.ARMED),
            )

    def in_doubt(self) -> int:
        """Sends that are in doubt in the store; for the end, when nothing is on its way any more."""
        effects = reading.final_state(self._data).effects
        return sum(1 for effect in effects if effect.end in (EffectEnd.IN_DOUBT, EffectEnd.ARMED))


def signed(content: Mapping[str, object]) -> tuple[bytes, Mapping[str, str]]:
    """A delivery as the simulated provider makes it: body and headers."""
    body = json.dumps(content).encode()
    digest = hmac.new(_SECRET.encode(), body, hashlib.sha256).hexdigest()
    return body, {"content-type": "application/json", "x-signature-256": f"sha256={digest}"}


def _carried(body: bytes) -> Carried:
    """Which reply this is: the provider's `oseq` is our step."""
    match json.loads(body):
        case {"event": str() as event, "lane": str(), "n": int() as n, "step": int() as step}:
            return Carried(event=event, lane=event.rpartition("#")[0], n=n, oseq=step)
        case _:
            raise ValueError(f"not a reply: {body[:200]!r}")


def _environment() -> Mapping[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PROCESSION_")}
    return {**own, "DEMO_SECRET": _SECRET}
