"""A service: what is started once and stopped for good, with one group of tasks inside.

    start --> running --> stop --> draining --> closed
      |                     ^
      +---- stop before start: closed at once, and a later start does nothing

A stop may come before the start (a signal while the others are still being started), twice, and from several at once:
every caller returns when the service is closed. Draining has a bound; what is then still under way is cancelled.
"""

import asyncio
from abc import ABC, abstractmethod
from contextlib import suppress
from datetime import timedelta
from typing import Final

from procession.core.limits import DRAIN_WAIT

_TIDY_UP: Final = timedelta(seconds=3)
"""What a drain may take beyond its wait, for giving back what it did not finish."""


class _Enough(Exception):
    """Raised inside the group to cancel whatever of it still runs."""


class Service(ABC):
    """Subclasses say what runs (`body`), how it comes to a calm end (`drain`), and what is let go of (`close`)."""

    def __init__(self, name: str, *, drain_wait: timedelta = DRAIN_WAIT) -> None:
        self.name = name
        self._drain_wait = drain_wait
        self._stopping = asyncio.Event()
        self._at_once = asyncio.Event()
        self._started = asyncio.Event()
        self._closed = asyncio.Event()

    @abstractmethod
    async def body(self, group: asyncio.TaskGroup) -> None:
        """Start what the service consists of, in this group, and return. What raises in the group ends the service."""

    @abstractmethod
    async def drain(self, wait: timedelta) -> None:
        """Begin nothing new, wait at most so long for what is under way, and give the rest back.

        It may be cancelled and called once more with a wait of zero: somebody is in a hurry.
        """

    async def close(self) -> None:
        """Let go of what was held; nothing of the group runs any more."""
        return

    @property
    def stopping(self) -> bool:
        return self._stopping.is_set()

    async def start(self, group: asyncio.TaskGroup) -> None:
        """Return when the service runs, as one task of `group`, which learns what breaks it.

        A second start, and one after a stop, does nothing.
        """
        if self._started.is_set() or self._stopping.is_set():
            return
        group.create_task(self._run(), name=self.name)
        await self._started.wait()

    async def stop(self, *, at_once: bool = False) -> None:
        """Drain, end, and return when it is closed. `at_once`, also of a later call: wait for nothing under way."""
        self._stopping.set()
        if at_once:
            self._at_once.set()
        if self._started.is_set():
            await self._closed.wait()

    async def _run(self) -> None:
        try:
            await self._live()
            await self.close()
        finally:
            # Whatever happened: who waits for the start or the end of this service must not wait for ever.
            self._stopping.set()
            self._started.set()
            self._closed.set()

    async def _live(self) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                await self.body(group)
                self._started.set()
                await self._stopping.wait()
                await self._drain(group)
                raise _Enough
        except* _Enough:
            pass

    async def _drain(self, group: asyncio.TaskGroup) -> None:
        if not self._at_once.is_set():
            calm = group.create_task(self.drain(self._drain_wait), name=f"{self.name}-drain")
            hurry = group.create_task(self._at_once.wait(), name=f"{self.name}-hurry")
            bound = (self._drain_wait + _TIDY_UP).total_seconds()
            done, _ = await asyncio.wait({calm, hurry}, timeout=bound, return_when=asyncio.FIRST_COMPLETED)
            if calm in done:
                return
            calm.cancel()
            await asyncio.wait({calm}, timeout=_TIDY_UP.total_seconds())
        with suppress(TimeoutError):
            async with asyncio.timeout(_TIDY_UP.total_seconds()):
                await self.drain(timedelta(0))
