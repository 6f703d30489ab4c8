"""A real engine on the connector `whatsapp`, declared for a simulated WhatsApp, and an operator who resolves doubts."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Final

from procession.app.system import SystemClock
from procession.runtime.document import Json
from procession.runtime.pause import pause
from procession.testing.chaos import Served, free_port
from procession.testing.whatsapp.declaration import declaration, token_env
from procession.testing.whatsapp.number import Number
from procession.testing.whatsapp.target import Target
from procession.testing.whatsapp.world import World

ENDPOINT: Final = "meta"
SECRET: Final = "the app secret of a simulated app"
VERIFY_TOKEN: Final = "a token that a person has thought up"
BOT: Final = "procession.testing.whatsapp.bot:app"
LEASE: Final = "3s"
_COMMAND_WITHIN_S: Final = 60
_LOOK: Final = timedelta(milliseconds=200)
_SETTINGS: Final = """\
[outbound]
allow_private = ["127.0.0.0/8"]
ports = ["1-65535"]
"""
_OWN: Final = """\
gate = "delivered"
doubt_policy = "park"
doubt_wait = 4
timeout = 3
tries_max = 1000
"""


class Line:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "procession-data"
        self.port = free_port()
        self.resolved: list[tuple[str, str]] = []
        """Doubts that the operator has ended: which effect, and how."""
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("PROCESSION_")}
        self._environment |= {"APP_SECRET": SECRET, "VERIFY_TOKEN": VERIFY_TOKEN}
        (folder / "procession.toml").write_text(_SETTINGS)

    @property
    def target(self) -> Target:
        return Target(host="127.0.0.1", port=self.port, path=f"/hooks/{ENDPOINT}")

    def declare(self, numbers: list[Number], url: str) -> Served:
        """The engine that plays with these numbers; it is not started yet."""
        declared = declaration(
            numbers, endpoint=ENDPOINT, secret_env="APP_SECRET", verify_env="VERIFY_TOKEN", url=url, pace=1000.0
        )
        declared = declared.replace("pair_every = 0.006\n", f"pair_every = 0\n{_OWN}")
        (self.folder / "platform.toml").write_text(declared)
        self._environment |= {token_env(number): number.token for number in numbers}
        self._ask("apply", "-f", "platform.toml")
        here = ("--host", "127.0.0.1", "--port", str(self.port), "--lease", LEASE, "--log", "silent")
        return Served(
            argv=(sys.executable, "-m", "procession.cli", "serve", BOT, *here),
            folder=self.folder,
            port=self.port,
            clock=SystemClock(),
            environ=self._environment,
        )

    async def ask(self, *arguments: str) -> Json:
        """A command's answer, as JSON; the simulation goes on meanwhile."""
        return await asyncio.to_thread(self._ask, *arguments)

    def _ask(self, *arguments: str) -> Json:
        ran = subprocess.run(
            [sys.executable, "-m", "procession.cli", *arguments, "--json"],
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=_COMMAND_WITHIN_S,
            check=False,
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return json.loads(ran.stdout)

    async def settle(self, world: World, within: timedelta) -> None:
        """Until every reply is there. Where all stands still, the operator looks at the handset of who waits, and says
        of each doubt whether it was sent.
        """
        async with asyncio.timeout(within.total_seconds()):
            while not world.is_quiet:
                await pause(_LOOK)
                if world.is_delivered:
                    await self._resolve(world)

    async def _resolve(self, world: World) -> None:
        for doubt in await self.ask("doubt", "list", "--limit", "1000"):
            how = "sent" if world.book.was_accepted(doubt["id"]) else "resend"
            await self.ask("doubt", "resolve", doubt["id"], how, "--tenant", doubt["tenant"])
            self.resolved.append((doubt["id"], how))


async def until(condition: Callable[[], bool], within: timedelta) -> None:
    async with asyncio.timeout(within.total_seconds()):
        while not condition():
            await pause(_LOOK)
