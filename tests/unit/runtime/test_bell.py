"""The bell of one process."""

import asyncio
from datetime import timedelta

from procession.ports.bell import Ring
from procession.runtime.bell import InnerBell

LONG = timedelta(minutes=10)
SHORT = timedelta(milliseconds=1)


async def test_a_ring_wakes_everybody_who_hears_it_and_nobody_else() -> None:
    bell = InnerBell()
    async with asyncio.TaskGroup() as group:
        both = [group.create_task(bell.hear(Ring.TURNS, LONG)) for _ in range(2)]
        other = group.create_task(bell.hear(Ring.SENDS, SHORT))
        await asyncio.sleep(0)

        bell.ring(Ring.TURNS)

    assert [one.result() for one in both] == [True, True]
    assert other.result() is False


async def test_rings_that_nobody_waits_for_are_remembered_once() -> None:
    bell = InnerBell()

    bell.ring(Ring.TURNS)
    bell.ring(Ring.TURNS)

    assert await bell.hear(Ring.TURNS, LONG) is True
    assert await bell.hear(Ring.TURNS, SHORT) is False


async def test_a_ring_that_was_heard_is_not_remembered() -> None:
    bell = InnerBell()
    async with asyncio.TaskGroup() as group:
        heard = group.create_task(bell.hear(Ring.UPKEEP, LONG))
        await asyncio.sleep(0)
        bell.ring(Ring.UPKEEP)

    assert heard.result() is True
    assert await bell.hear(Ring.UPKEEP, SHORT) is False


async def test_a_cancelled_hearer_leaves_nothing_behind() -> None:
    bell = InnerBell()
    async with asyncio.TaskGroup() as group:
        gone = group.create_task(bell.hear(Ring.TURNS, LONG))
        await asyncio.sleep(0)
        gone.cancel()

    bell.ring(Ring.TURNS)

    assert await bell.hear(Ring.TURNS, LONG) is True
