"""Plain functions run in a bounded number of threads, and what nobody waits for any more is dropped."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from procession.runtime.threads import ThreadPool


async def test_a_call_runs_elsewhere_and_answers_here() -> None:
    assert await ThreadPool().run(threading.get_ident) != threading.get_ident()


async def test_a_call_sees_the_context_of_its_caller() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="nothing")
    variable.set("the caller's")

    assert await ThreadPool().run(variable.get) == "the caller's"


@pytest.mark.parametrize("error", [LookupError("a"), StopIteration(), SystemExit(1)])
async def test_what_a_call_raises_is_raised_here(error: BaseException) -> None:
    def fail() -> None:
        raise error

    pool = ThreadPool(1)
    with pytest.raises((type(error), RuntimeError)):
        await pool.run(fail)
    assert await pool.run(lambda: 1) == 1


async def test_threads_are_bounded_and_used_again() -> None:
    pool = ThreadPool(2)
    go_on, both = threading.Event(), threading.Barrier(2, timeout=60)
    names: set[str] = set()

    def work() -> None:
        names.add(threading.current_thread().name)
        go_on.wait()
        both.wait()

    async with asyncio.TaskGroup() as group:
        calls = [group.create_task(pool.run(work)) for _ in range(6)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not any(call.done() for call in calls)
        go_on.set()

    assert len(names) == 2


async def test_a_cancelled_caller_goes_on_and_its_thread_is_free_only_when_the_call_returns() -> None:
    pool = ThreadPool(1)
    running, go_on = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def stuck() -> str:
        loop.call_soon_threadsafe(running.set)
        go_on.wait()
        return "late"

    async with asyncio.TaskGroup() as group:
        given_up = group.create_task(pool.run(stuck))
        await running.wait()
        given_up.cancel()
        with pytest.raises(asyncio.CancelledError):
            await given_up
        behind = group.create_task(pool.run(lambda: "behind"))
        await asyncio.sleep(0)
        assert not behind.done()
        go_on.set()

    assert behind.result() == "behind"
