"""Slots bound what is under way, reuse their tasks, and tell when there is room and when they are empty."""

import asyncio
from datetime import timedelta

import pytest

from procession.runtime.slots import Slots
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.loop import SimulatedLoop, run

MINUTE = timedelta(minutes=1)


class Enough(Exception):
    pass


def test_a_slot_does_one_thing_after_the_other_with_one_task() -> None:
    async def world(loop: SimulatedLoop) -> None:
        tasks: set[asyncio.Task[object] | None] = set()
        done: list[int] = []

        async def work(number: int) -> None:
            tasks.add(asyncio.current_task())
            await sleep(1)
            done.append(number)

        slots = Slots[int](2, work)
        try:
            async with asyncio.TaskGroup() as group:
                slots.open(group)
                for number in range(6):
                    assert await slots.room(MINUTE)
                    slots.put(number)
                    assert slots.busy <= 2
                assert await slots.empty(MINUTE)
                raise Enough
        except* Enough:
            pass

        assert sorted(done) == list(range(6))
        assert len(tasks) == 2
        assert loop.now == 3

    run(1, world)


def test_waiting_for_room_or_emptiness_has_a_bound() -> None:
    async def world(loop: SimulatedLoop) -> None:
        async def work(seconds: int) -> None:
            await sleep(seconds)

        slots = Slots[int](1, work)
        try:
            async with asyncio.TaskGroup() as group:
                slots.open(group)
                assert await slots.empty(MINUTE)
                slots.put(100)
                assert not await slots.room(MINUTE)
                assert loop.now == 60
                assert not await slots.empty(timedelta(seconds=20))
                assert await slots.room(MINUTE)
                assert loop.now == 100
                raise Enough
        except* Enough:
            pass

    run(1, world)


def test_several_may_wait_for_the_same_change_and_one_may_give_up() -> None:
    async def world(_: SimulatedLoop) -> None:
        async def work(seconds: int) -> None:
            await sleep(seconds)

        slots = Slots[int](1, work)
        try:
            async with asyncio.TaskGroup() as group:
                slots.open(group)
                slots.put(10)
                impatient = group.create_task(slots.room(timedelta(seconds=1)))
                patient = group.create_task(slots.empty(MINUTE))
                assert not await impatient
                assert await patient
                raise Enough
        except* Enough:
            pass

    run(1, world)


def test_what_work_lets_through_ends_the_group() -> None:
    async def world(_: SimulatedLoop) -> None:
        async def work(_: int) -> None:
            raise LookupError

        slots = Slots[int](1, work)
        async with asyncio.TaskGroup() as group:
            slots.open(group)
            slots.put(1)

    with pytest.raises(ExceptionGroup) as raised:
        run(1, world)
    assert raised.group_contains(LookupError)
