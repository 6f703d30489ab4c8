"""Virtual time: to let it go by, and to read it off a node's two clocks, one of which the world may turn."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Protocol

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""What an honest wall clock shows when a simulation begins."""


class VirtualTime(Protocol):
    """The simulated loop, as far as a clock needs it."""

    @property
    def now(self) -> float: ...


class NodeClock:
    """Belongs to a machine and not to a process: hand the same one to the next life of a node.

    Wall time is the world's time and an offset: a clock that is wrong, or jumps. Monotonic time is the world's alone,
    counted from `booted_at`, so that two machines' readings cannot be compared; it goes on while the node is paused.
    """

    __slots__ = ("_booted_at", "_world", "offset")

    def __init__(self, world: VirtualTime, *, offset: timedelta = timedelta(), booted_at: float = 0.0) -> None:
        self.offset = offset
        self._world = world
        self._booted_at = booted_at

    def now(self) -> datetime:
        return BEGINNING + timedelta(seconds=self._world.now) + self.offset

    def monotonic(self) -> float:
        return self._world.now - self._booted_at

    def jump(self, by: timedelta) -> None:
        self.offset += by


async def sleep(seconds: float) -> None:
    """Let virtual time go by. It costs none of ours: a world, and a test of one, may sleep as long as it likes."""
    waking: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    timer = asyncio.get_running_loop().call_later(seconds, _wake, waking)
    try:
        await waking
    finally:
        timer.cancel()


def _wake(waking: asyncio.Future[None]) -> None:
    if not waking.done():
        waking.set_result(None)
