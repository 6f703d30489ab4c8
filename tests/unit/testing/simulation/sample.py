"""A small program with every kind of await, for the tests to kill."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import TracebackType
from typing import Self

from procession.testing.simulation.clock import sleep


class Door:
    """Waits at both ends."""

    async def __aenter__(self) -> Self:
        await sleep(0.1)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await sleep(0.1)


@asynccontextmanager
async def opened() -> AsyncIterator[int]:
    await sleep(0.1)
    yield 1
    await sleep(0.1)


async def numbers(count: int) -> AsyncIterator[int]:
    for number in range(count):
        await sleep(0.1)
        yield number


async def child(count: int) -> None:
    for _ in range(count):
        await sleep(
            0.1,
        )


async def program() -> int:
    async with Door(), opened() as one:
        async for number in numbers(2):
            await child(number + one)
    total = sum([number async for number in numbers(3)])
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(child(2))
    async with asyncio.timeout(5):
        bell = asyncio.Event()
        asyncio.get_running_loop().call_later(1, bell.set)
        await bell.wait()
    return total
