"""The loop of all stages: it looks again in time, waits out an absence, and ends the process of a broken store."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from itertools import pairwise

import pytest

from procession.core.errors import OutcomeUnknown, StoreAway, StoreBroken
from procession.core.limits import POLL
from procession.ports.bell import Ring
from procession.runtime.loop import AGAIN, Loop
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.loop import SimulatedLoop, run
from procession.testing.stand_ins import NoChance, Notebook

HOUR = timedelta(hours=1)


class OneBell:
    def __init__(self) -> None:
        self._rung = asyncio.Event()

    def ring(self, ring: Ring) -> None:
        self._rung.set()

    async def hear(self, ring: Ring, at_most: timedelta) -> bool:
        try:
            async with asyncio.timeout(at_most.total_seconds()):
                await self._rung.wait()
        except TimeoutError:
            return False
        self._rung.clear()
        return True


class Passes:
    """What each pass does, and when it was made."""

    def __init__(self, loop: SimulatedLoop, *answers: timedelta | Exception) -> None:
        self._loop = loop
        self._answers = list(answers)
        self.at: list[float] = []

    async def look(self) -> timedelta:
        self.at.append(round(self._loop.now, 3))
        answer = self._answers.pop(0) if self._answers else HOUR
        if isinstance(answer, Exception):
            raise answer
        return answer


class Stand:
    def __init__(self, work: Callable[[], Awaitable[timedelta]], ring: Ring | None = Ring.TURNS) -> None:
        self.bell = OneBell()
        self.log = Notebook()
        self.ended: list[str] = []
        self.loop = Loop(
            "turns",
            work,
            bell=self.bell,
            ring=ring,
            chance=NoChance(),
            telemetry=self.log,
            fail_stop=self.ended.append,
        )

    async def run_for(self, seconds: float) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self.loop.run())
            await sleep(seconds)
            self.loop.stop()


def test_it_looks_again_at_once_at_a_ring_and_after_a_poll_at_the_latest() -> None:
    async def world(loop: SimulatedLoop) -> list[float]:
        passes = Passes(loop, AGAIN, HOUR, timedelta(seconds=0.2), HOUR)
        stand = Stand(passes.look)
        async with asyncio.TaskGroup() as group:
            group.create_task(stand.run_for(3))
            await sleep(2.5)
            stand.bell.ring(Ring.TURNS)
        return passes.at

    poll = POLL.total_seconds()
    assert run(1, world) == [0, 0, poll, poll + 0.2, poll + 1.2, 2.5]


def test_without_a_ring_it_rests_exactly_as_long_as_it_was_told() -> None:
    async def world(loop: SimulatedLoop) -> list[float]:
        passes = Passes(loop, timedelta(seconds=5), timedelta(seconds=7))
        await Stand(passes.look, ring=None).run_for(20)
        return passes.at

    assert run(1, world) == [0, 5, 12]


def test_a_stop_wakes_it_wherever_it_rests() -> None:
    async def world(loop: SimulatedLoop) -> float:
        stand = Stand(Passes(loop).look, ring=None)
        await stand.run_for(2)
        assert stand.loop.stopped
        return loop.now

    assert run(1, world) == 2


@pytest.mark.parametrize("error", [StoreAway("away"), OutcomeUnknown("unknown"), LookupError("a bug")])
def test_it_waits_longer_each_time_a_pass_fails_up_to_a_bound(error: Exception) -> None:
    async def world(loop: SimulatedLoop) -> list[float]:
        passes = Passes(loop, *[error] * 50)
        stand = Stand(passes.look)
        await stand.run_for(30)
        assert stand.log.counts[stand.log.lines[0].what] == len(passes.at)
        return [round(later - sooner, 3) for sooner, later in pairwise(passes.at)]

    waits = run(1, world)

    assert waits[:6] == [0.075, 0.15, 0.3, 0.6, 1.2, 1.5]
    assert set(waits[6:]) == {1.5}


def test_after_a_pass_that_worked_the_waits_begin_anew() -> None:
    async def world(loop: SimulatedLoop) -> list[float]:
        away = StoreAway("away")
        passes = Passes(loop, away, away, AGAIN, away, HOUR)
        await Stand(passes.look).run_for(0.5)
        return passes.at

    assert run(1, world) == [0, 0.075, 0.225, 0.225, 0.3]


def test_a_broken_store_ends_the_process_and_the_loop() -> None:
    async def world(loop: SimulatedLoop) -> None:
        passes = Passes(loop, StoreBroken("disk I/O error"))
        stand = Stand(passes.look)
        await stand.loop.run()

        assert stand.ended == ["turns: disk I/O error"]
        assert len(passes.at) == 1

    run(1, world)
