"""Where the demo takes place: a folder, a simulated WhatsApp on a port, and an engine on both that can be killed."""

from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from procession.ports.clock import Clock
from procession.testing.chaos import reading
from procession.testing.chaos.reading import AtDeath
from procession.testing.chaos.served import Served
from procession.testing.demo.bot import STEPS
from procession.testing.demo.shops import CHANNEL, FAULTS, PACE, RULES, SHAPE
from procession.testing.whatsapp.line import SECRET, Line
from procession.testing.whatsapp.verdict import Promise
from procession.testing.whatsapp.world import World, on_wires

BOT: Final = "procession.testing.demo.bot:app"
LEASE: Final = "2s"


class Ground(AsyncExitStack):
    def __init__(self, folder: Path, *, clock: Clock, seed: int, bot: str = BOT) -> None:
        """`bot`: so that a test can play one that answers wrongly."""
        super().__init__()
        self.line = Line(folder, clock=clock, bot=bot, lease=LEASE)
        self._clock = clock
        self._seed = seed

    async def open(self) -> tuple[World, Served]:
        """Tenants that are declared, and an engine that is not started yet."""
        world, graph = await self.enter_async_context(
            on_wires(
                self.line.target,
                clock=self._clock,
                secret=SECRET.encode(),
                seed=self._seed,
                pace=PACE,
                shape=SHAPE,
                rules=RULES,
                faults=FAULTS,
                promise=Promise(bubbles=len(STEPS)),
            )
        )
        served = self.line.declare(world.numbers, graph.url, CHANNEL)
        return world, await self.enter_async_context(served)

    def left_behind(self) -> AtDeath:
        """What the engine was in the middle of when it was killed."""
        return reading.at_death(self.line.data)
