"""A real engine, declared for a simulated WhatsApp: `procession serve` on SQLite in a folder of its own, with a bot.

And its operator, who says of each doubt that nobody can prove whether it was sent.
"""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final

from procession.ports.clock import Clock
from procession.runtime.document import Json
from procession.runtime.pause import pause
from procession.testing.chaos.served import Served, free_port
from procession.testing.whatsapp.declaration import declaration, token_env
from procession.testing.whatsapp.number import Number
from procession.testing.whatsapp.target import Target
from procession.testing.whatsapp.world import World

ENDPOINT: Final = "meta"
SECRET: Final = "the app secret of a simulated app"  # noqa: S105 (of a throw-away engine)
VERIFY_TOKEN: Final = "a token that a person has thought up"  # noqa: S105
BOT: Final = "procession.testing.whatsapp.bot:app"
_SECRET_ENV: Final = "APP_SECRET"  # noqa: S105 (a name)
_VERIFY_ENV: Final = "VERIFY_TOKEN"
_COMMAND_WITHIN_S: Final = 60
_LOOK: Final = timedelta(milliseconds=200)
_PROCESSION: Final = (sys.executable, "-m", "procession.cli")
_SETTINGS: Final = """\
[outbound]
allow_private = ["127.0.0.0/8"]
ports = ["1-65535"]
"""


class CommandFailed(Exception):
    """What `procession` said when it exited with something else than 0."""


class Line:
    def __init__(self, folder: Path, *, clock: Clock, bot: str = BOT, lease: str = "3s") -> None:
        self.folder = folder
        self.data = folder / "procession-data"
        self.port = free_port()
        self.resolved: list[tuple[str, str]] = []
        """Doubts that the operator has ended: which effect, and how."""
        self._clock = clock
        self._bot = bot
        self._lease = lease
        self._environment = {name: value for name, value in os.environ.items() if not name.startswith("PROCESSION_")}
        self._environment |= {_SECRET_ENV: SECRET, _VERIFY_ENV: VERIFY_TOKEN}
        (folder / "procession.toml").write_text(_SETTINGS, encoding="utf-8")

    @property
    def target(self) -> Target:
        return Target(host="127.0.0.1", port=self.port, path=f"/hooks/{ENDPOINT}")

    def declare(self, numbers: Sequence[Number], url: str, channel: Mapping[str, str | float]) -> Served:
        """The engine that plays with these numbers; it is not started yet. `channel`: settings of every channel."""
        declared = declaration(
            numbers, endpoint=ENDPOINT, secret_env=_SECRET_ENV, verify_env=_VERIFY_ENV, url=url, channel=channel
        )
        (self.folder / "platform.toml").write_text(declared, encoding="utf-8")
        self._environment |= {token_env(number): number.token for number in numbers}
        self._ask("apply", "-f", "platform.toml")
        here = ("--host", "127.0.0.1", "--port", str(self.port), "--lease", self._lease, "--log", "silent")
        return Served(
            argv=(*_PROCESSION, "serve", self._bot, *here),
            folder=self.folder,
            port=self.port,
            clock=self._clock,
            environ=self._environment,
        )

    async def ask(self, *arguments: str) -> Json:
        """A command's answer; the simulation goes on meanwhile."""
        return await asyncio.to_thread(self._ask, *arguments)

    def _ask(self, *arguments: str) -> Json:
        ran = subprocess.run(  # noqa: S603 (our own command)
            (*_PROCESSION, *arguments, "--json"),
            cwd=self.folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=_COMMAND_WITHIN_S,
            check=False,
        )
        if ran.returncode:
            raise CommandFailed(ran.stdout + ran.stderr)
        answer: Json = json.loads(ran.stdout)
        return answer

    async def settle(self, world: World, within: timedelta) -> None:
        """Until every reply is there, or `TimeoutError`. Where all stands still, the operator acts."""
        async with asyncio.timeout(within.total_seconds()):
            while not world.is_quiet:
                await pause(_LOOK)
                if world.is_delivered:
                    await self.resolve(world)

    async def resolve(self, world: World) -> None:
        """The operator looks at the handset of whoever waits, and says of each doubt whether it was sent."""
        for doubt in await self.ask("doubt", "list", "--limit", "1000"):
            how = "sent" if world.book.was_accepted(doubt["id"]) else "resend"
            await self.ask("doubt", "resolve", doubt["id"], how, "--tenant", doubt["tenant"])
            self.resolved.append((doubt["id"], how))
