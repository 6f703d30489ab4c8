"""One run of a simulation: people type for a while, then every reply that is owed has to come; and a verdict."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from procession.ports.clock import Clock
from procession.runtime.pause import pause
from procession.testing.whatsapp.verdict import Verdict
from procession.testing.whatsapp.world import World

_BEAT: Final = timedelta(milliseconds=200)


class Course:
    def __init__(self, world: World, *, seconds: float, drain_s: float, clock: Clock) -> None:
        """`seconds`: then nobody begins another burst. `drain_s`: how long replies may still take after that."""
        self.world = world
        self.now = "people type in bursts"
        self._seconds = seconds
        self._drain_s = drain_s
        self._clock = clock
        self._begun = clock.monotonic()
        self._asked_to_end = asyncio.Event()

    @property
    def passed(self) -> float:
        return self._clock.monotonic() - self._begun

    def end(self) -> None:
        """Nobody begins another burst; a second time: replies are not waited for either."""
        if self._asked_to_end.is_set():
            self._drain_s = 0.0
        self._asked_to_end.set()

    async def run(self) -> Verdict:
        self._begun = self._clock.monotonic()
        self.world.crowd.start()
        await self._until(
            lambda: self.passed >= self._seconds or self._asked_to_end.is_set() or not self.world.crowd.typing
        )
        self.world.crowd.hush()
        self.now = "nobody begins to type any more; every reply that is owed has to come"
        hushed = self.passed
        await self._until(lambda: self.world.is_quiet or self.passed - hushed >= self._drain_s)
        self.now = "over"
        return self.world.verdict()

    async def _until(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            await pause(_BEAT)
