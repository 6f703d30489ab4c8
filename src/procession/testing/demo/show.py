"""The course of the demo: people type, one shop floods, the engine is killed and comes back, and all is counted."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from procession.ports.clock import Clock
from procession.runtime.pause import pause
from procession.testing.demo.crowd import Crowd
from procession.testing.demo.ground import BOT, FLOODS, Ground
from procession.testing.demo.pulse import Pulse
from procession.testing.demo.referee import Referee
from procession.testing.demo.verdict import Kill, Verdict, verdict
from procession.testing.simulation.chance import SeededChance

KILL_AT_MOST_S: Final = 10.0
KILLS_MAX: Final = 5
HEALTHY_WITHIN: Final = timedelta(seconds=30)
_DRAINED_WITHIN_S: Final = 45.0
_BEAT: Final = timedelta(milliseconds=50)
_NEWS_MAX: Final = 12


class Show:
    def __init__(self, folder: Path, *, seconds: float, seed: int, clock: Clock, bot: str = BOT) -> None:
        chance = SeededChance(seed)
        self.seconds = seconds
        self.referee = Referee()
        self.pulse = Pulse(clock)
        self.ground = Ground(
            folder, clock=clock, chance=chance.of("ground"), referee=self.referee, pulse=self.pulse, bot=bot
        )
        self.news: deque[tuple[float, str, str]] = deque(maxlen=_NEWS_MAX)
        """When, what kind (`kill`, `good`, `note`), what."""
        self.now = "starting an engine"
        self.kills: list[Kill] = []
        self.on_news: Callable[[float, str], None] = lambda _at, _text: None
        self._clock = clock
        self._begun = clock.monotonic()
        self._killed_at = 0.0
        self._owed_at_kill: set[tuple[str, int]] = set()
        self._asked_to_kill = False
        self._asked_to_end = False
        self._crowd = Crowd(
            port=self.ground.port, referee=self.referee, pulse=self.pulse, clock=clock, chance=chance.of("crowd")
        )

    # --- what keys do ---

    def kill(self) -> None:
        self._asked_to_kill = True

    def end(self) -> None:
        self._asked_to_end = True

    # --- the course ---

    @property
    def passed(self) -> float:
        return self._clock.monotonic() - self._begun

    async def run(self) -> Verdict:
        async with self.ground as ground:
            await ground.open()
            await ground.served.start()
            took = await ground.served.wait_until_healthy(HEALTHY_WITHIN)
            self.pulse.came_up()
            self._begun = self._clock.monotonic()
            self._tell("note", f"procession serve runs, {took.total_seconds():.1f} s after its start")
            async with asyncio.TaskGroup() as group:
                crowd = group.create_task(self._crowd.run())
                await self._acts()
                crowd.cancel()
            await ground.served.terminate(HEALTHY_WITHIN)
            return verdict(
                self.referee,
                kills=tuple(self.kills),
                in_doubt=ground.in_doubt(),
                answer_ms=self.pulse.answer_ms,
            )

    async def _acts(self) -> None:
        self.now = "people type in bursts; deliveries come twice, and overtake each other"
        await self._play_until(0.2 * self.seconds)
        self._crowd.floods = True
        self._tell("note", f"{FLOODS} floods: 24 buyers type without a pause")
        self.now = f"{FLOODS} floods; watch how long the other shops wait for a reply"
        await self._play_until(min(KILL_AT_MOST_S, 0.4 * self.seconds), or_a_kill=True)
        if not self.kills:
            await self._kill()
        await self._play_until(0.72 * self.seconds)
        if self._crowd.floods:
            self._crowd.floods = False
            self._tell("note", f"{FLOODS} has calmed down")
            self.now = "what is left is played"
        await self._play_until(0.88 * self.seconds)
        self._crowd.hush()
        self.now = "nobody types any more; every reply that is owed has to come"
        await self._drain()
        self.now = "all replies are there"

    async def _play_until(self, at: float, *, or_a_kill: bool = False) -> None:
        while self.passed < at and not self._asked_to_end:
            await self._beat()
            if self._asked_to_kill:
                self._asked_to_kill = False
                if len(self.kills) < KILLS_MAX:
                    await self._kill()
                if or_a_kill:
                    return

    async def _drain(self) -> None:
        until = self.passed + _DRAINED_WITHIN_S
        while (not self._crowd.is_quiet or self.referee.owed()) and self.passed < until:
            await self._beat()

    async def _beats(self) -> None:
        while True:
            await self._beat()

    async def _beat(self) -> None:
        await pause(_BEAT)
        self.pulse.beat()
        self._look_after_kill()

    # --- the kill ---

    async def _kill(self) -> None:
        served = self.ground.served
        self.pulse.went_down()
        self._killed_at = self._clock.monotonic()
        await served.kill()
        self._owed_at_kill = self.referee.owed()
        left = await asyncio.to_thread(self.ground.left_behind)
        self.ground.doubted = set(left.sends)
        what = f"{left.turns} turns in flight, {len(left.sends)} sends begun, {len(self._owed_at_kill)} texts waiting"
        self._tell("kill", f"kill -9 of the engine: {what}")
        self.now = "the engine is dead; the provider keeps on delivering"
        await served.start()
        async with asyncio.TaskGroup() as group:
            beats = group.create_task(self._beats())
            await served.wait_until_healthy(HEALTHY_WITHIN)
            beats.cancel()
        self.pulse.came_up()
        after = self._clock.monotonic() - self._killed_at
        self.kills.append(
            Kill(
                turns=left.turns, sends=len(left.sends), owed=len(self._owed_at_kill), accepting_after_s=round(after, 2)
            )
        )
        self._tell("good", f"back in {after:.1f} s: it accepts again")
        self.now = "it is back, and goes on where it was"

    def _look_after_kill(self) -> None:
        """Tell when the first reply comes after a kill, and when all that was owed then is made good."""
        if not self.kills or self.pulse.is_down:
            return
        last = self.kills[-1]
        first = self.pulse.first_reply_at
        if last.replying_after_s is None and first is not None:
            self.kills[-1] = last = replace(last, replying_after_s=round(first - self._killed_at, 2))
        if last.made_good_after_s is None and not self._owed_at_kill & self.referee.owed():
            after = self._clock.monotonic() - self._killed_at
            self.kills[-1] = replace(last, made_good_after_s=round(after, 2))
            owed = f"all {last.owed} texts that waited are answered" if last.owed else "nobody waited for a reply"
            self._tell("good", f"nothing lost: {owed}, {after:.1f} s after the kill")

    def _tell(self, kind: str, text: str) -> None:
        self.news.append((self.passed, kind, text))
        self.on_news(self.passed, text)
