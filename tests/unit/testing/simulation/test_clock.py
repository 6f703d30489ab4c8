"""Clocks that the world may turn."""

from datetime import timedelta

from procession.ports.clock import Clock
from procession.testing.simulation.clock import BEGINNING, NodeClock, sleep
from procession.testing.simulation.loop import SimulatedLoop, run


def test_an_honest_clock_shows_the_time_of_the_world() -> None:
    async def world(loop: SimulatedLoop) -> tuple[object, float]:
        clock: Clock = NodeClock(loop)
        await sleep(90)
        return clock.now(), clock.monotonic()

    assert run(1, world) == (BEGINNING + timedelta(seconds=90), 90.0)


def test_wall_time_jumps_and_monotonic_time_does_not() -> None:
    async def world(loop: SimulatedLoop) -> tuple[object, list[float]]:
        clock = NodeClock(loop, offset=timedelta(hours=1), booted_at=-1000.0)
        before = clock.monotonic()
        clock.jump(timedelta(hours=-3))
        return clock.now(), [before, clock.monotonic()]

    assert run(1, world) == (BEGINNING - timedelta(hours=2), [1000.0, 1000.0])


def test_two_nodes_may_disagree_about_the_time() -> None:
    async def world(loop: SimulatedLoop) -> timedelta:
        return NodeClock(loop, offset=timedelta(minutes=5)).now() - NodeClock(loop).now()

    assert run(1, world) == timedelta(minutes=5)
