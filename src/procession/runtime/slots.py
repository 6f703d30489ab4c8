"""Slots: a bounded number of things under way at once.

Each slot is one long-lived task that does one thing after the other, so that a short turn does not pay for a task of
its own. Tasks are made when they are first needed, and an idle slot costs one future.

Whoever fills the slots asks for `room` first and never puts more than is `free`: what a store has handed out is begun
at once, and does not age in a line of its own in our memory.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Generic, TypeVar

T = TypeVar("T")


class Slots(Generic[T]):
    def __init__(self, size: int, work: Callable[[T], Awaitable[None]], *, name: str = "slot") -> None:
        """`work` must not raise: what it lets through ends the service that the slots belong to."""
        assert size > 0
        self.size = size
        self._work = work
        self._name = name
        self._group: asyncio.TaskGroup | None = None
        self._made = 0
        self._busy = 0
        self._idle: list[asyncio.Future[T]] = []
        self._changed: asyncio.Future[None] | None = None

    def open(self, group: asyncio.TaskGroup) -> None:
        """From now on slots may be filled; their tasks belong to this group."""
        self._group = group

    @property
    def busy(self) -> int:
        return self._busy

    @property
    def free(self) -> int:
        return self.size - self._busy

    def put(self, thing: T) -> None:
        """Begin the work on it. Requires that a slot is free."""
        assert self.free > 0, "a slot was filled that nobody had asked for"
        assert self._group is not None, "the slots are not open"
        self._busy += 1
        while self._idle:
            waiting = self._idle.pop()
            if not waiting.done():
                waiting.set_result(thing)
                return
        self._made += 1
        self._group.create_task(self._slot(thing), name=f"{self._name}-{self._made}")

    async def room(self, at_most: timedelta) -> bool:
        """Wait until a slot is free, at most so long; says whether one is."""
        return await self._until(lambda: self.free > 0, at_most)

    async def empty(self, at_most: timedelta) -> bool:
        """Wait until nothing is under way, at most so long; says whether it is so."""
        return await self._until(lambda: self._busy == 0, at_most)

    async def _slot(self, thing: T) -> None:
        while True:
            try:
                await self._work(thing)
            finally:
                self._busy -= 1
                self._tell()
            waiting: asyncio.Future[T] = asyncio.get_running_loop().create_future()
            self._idle.append(waiting)
            thing = await waiting

    def _tell(self) -> None:
        if self._changed is not None and not self._changed.done():
            self._changed.set_result(None)
        self._changed = None

    async def _until(self, reached: Callable[[], bool], at_most: timedelta) -> bool:
        if reached():
            return True
        try:
            async with asyncio.timeout(at_most.total_seconds()):
                while not reached():
                    await self._next_change()
        except TimeoutError:
            return reached()
        return True

    async def _next_change(self) -> None:
        if self._changed is None:
            self._changed = asyncio.get_running_loop().create_future()
        # Several may wait for one change, and one that gives up must not take it from the others.
        await asyncio.shield(self._changed)
