"""Many waits of one length, one timer."""

import asyncio
from datetime import timedelta

import pytest

from procession.runtime.patience import Patience

LONG = timedelta(hours=1)
SOON = timedelta(milliseconds=5)


async def never() -> None:
    await asyncio.get_running_loop().create_future()


async def test_an_answer_that_comes_is_given() -> None:
    async def answer() -> int:
        await asyncio.sleep(0)
        return 7

    assert await Patience(LONG).wait_for(answer()) == 7


async def test_a_wait_that_is_too_long_ends_and_so_does_what_was_waited_for() -> None:
    was_cancelled = False

    async def forever() -> None:
        nonlocal was_cancelled
        try:
            await never()
        except asyncio.CancelledError:
            was_cancelled = True
            raise

    with pytest.raises(TimeoutError):
        await Patience(SOON).wait_for(forever())

    assert was_cancelled
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


async def test_each_of_many_waits_ends() -> None:
    patience = Patience(SOON)

    ends = await asyncio.gather(*(patience.wait_for(never()) for _ in range(20)), return_exceptions=True)

    assert [type(end) for end in ends] == [TimeoutError] * 20


async def test_a_wait_that_begins_when_the_line_was_empty_ends_too() -> None:
    patience = Patience(SOON)

    for _ in range(3):
        with pytest.raises(TimeoutError):
            await patience.wait_for(never())


async def here() -> str:
    await asyncio.sleep(0)
    return "here"


async def test_an_answer_does_not_end_the_wait_of_another() -> None:
    patience, first = Patience(SOON), asyncio.get_running_loop().create_future()

    async with asyncio.TaskGroup() as group:
        answered = group.create_task(patience.wait_for(first))
        other = group.create_task(patience.wait_for(here()))
        await asyncio.sleep(0)
        first.set_result("there")

    assert (answered.result(), other.result()) == ("there", "here")


async def test_what_others_cancel_is_cancelled_and_not_too_late() -> None:
    patience = Patience(LONG)
    waiting = asyncio.ensure_future(patience.wait_for(never()))
    await asyncio.sleep(0)

    waiting.cancel()

    with pytest.raises(asyncio.CancelledError):
        await waiting


async def test_what_is_cancelled_when_it_is_overdue_as_well_stays_cancelled() -> None:
    patience = Patience(SOON)

    async def stubborn() -> None:
        try:
            await never()
        finally:
            # The wait is over; before that is told, somebody else cancels the task.
            current = asyncio.current_task()
            assert current is not None
            current.cancel()

    waiting = asyncio.ensure_future(patience.wait_for(stubborn()))

    with pytest.raises(asyncio.CancelledError):
        await waiting
