"""A service may be stopped before its start, twice, and in a hurry; what breaks it is heard."""

import asyncio
from datetime import timedelta

import pytest

from procession.runtime.service import Service
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.loop import SimulatedLoop, run


class Sample(Service):
    """Its drain takes as long as it is told to."""

    def __init__(self, *, drains_for: float = 0.0, breaks: Exception | None = None) -> None:
        super().__init__("sample", drain_wait=timedelta(seconds=20))
        self._drains_for = drains_for
        self._breaks = breaks
        self.told: list[str] = []

    async def body(self, group: asyncio.TaskGroup) -> None:
        self.told.append("body")
        group.create_task(self._for_ever())
        if self._breaks is not None:
            raise self._breaks

    async def _for_ever(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.told.append("cancelled")

    async def drain(self, wait: timedelta) -> None:
        self.told.append(f"drain {wait.total_seconds():g}")
        if wait:
            await sleep(self._drains_for)
            self.told.append("drained")

    async def close(self) -> None:
        self.told.append("close")


def test_it_drains_ends_what_runs_and_closes_in_this_order() -> None:
    async def world(_: SimulatedLoop) -> list[str]:
        service = Sample(drains_for=5)
        async with asyncio.TaskGroup() as group:
            await service.start(group)
            assert not service.stopping
            await service.stop()
        return service.told

    assert run(1, world) == ["body", "drain 20", "drained", "cancelled", "close"]


def test_a_second_stop_and_a_second_start_do_nothing_more() -> None:
    async def world(_: SimulatedLoop) -> list[str]:
        service = Sample()
        async with asyncio.TaskGroup() as group:
            await service.start(group)
            await service.start(group)
            await asyncio.gather(service.stop(), service.stop())
            await service.stop()
            await service.start(group)
        return service.told

    assert run(1, world) == ["body", "drain 20", "drained", "cancelled", "close"]


def test_stopped_before_its_start_it_never_starts() -> None:
    async def world(_: SimulatedLoop) -> list[str]:
        service = Sample()
        async with asyncio.TaskGroup() as group:
            await service.stop()
            await service.start(group)
        return service.told

    assert run(1, world) == []


def test_a_drain_has_a_bound_whatever_it_does() -> None:
    async def world(loop: SimulatedLoop) -> float:
        service = Sample(drains_for=10_000)
        async with asyncio.TaskGroup() as group:
            await service.start(group)
            await service.stop()
        assert service.told == ["body", "drain 20", "drain 0", "cancelled", "close"]
        return loop.now

    assert run(1, world) < 30


def test_a_hurry_cuts_a_drain_short() -> None:
    async def world(loop: SimulatedLoop) -> float:
        service = Sample(drains_for=15)
        async with asyncio.TaskGroup() as group:
            await service.start(group)
            group.create_task(service.stop())
            await sleep(3)
            await service.stop(at_once=True)
        assert service.told == ["body", "drain 20", "drain 0", "cancelled", "close"]
        return loop.now

    assert run(1, world) == 3


def test_what_breaks_a_service_is_heard_by_the_group_and_nobody_waits_for_ever() -> None:
    async def world(_: SimulatedLoop) -> None:
        service = Sample(breaks=LookupError("broken"))
        with pytest.raises(ExceptionGroup) as raised:
            async with asyncio.TaskGroup() as group:
                await service.start(group)
        assert raised.group_contains(LookupError)
        await service.stop()

    run(1, world)
