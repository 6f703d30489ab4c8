"""The bell of one process: a ring wakes everybody who hears it here, and nobody elsewhere."""

import asyncio
from datetime import timedelta
from typing import Final

from procession.ports.bell import Ring


class InnerBell:
    """Implements `ports.bell.Bell` within one loop. Stages of other processes find the work by polling."""

    def __init__(self) -> None:
        self._rung: Final[set[Ring]] = set()
        self._hearing: Final[dict[Ring, set[asyncio.Future[bool]]]] = {}

    def ring(self, ring: Ring) -> None:
        waiting = self._hearing.get(ring)
        if not waiting:
            # Remembered once: however often it rang while nobody listened, one look into the store finds all of it.
            self._rung.add(ring)
            return
        for heard in waiting:
            if not heard.done():
                heard.set_result(True)
        waiting.clear()

    async def hear(self, ring: Ring, at_most: timedelta) -> bool:
        if ring in self._rung:
            self._rung.discard(ring)
            return True
        loop = asyncio.get_running_loop()
        heard: asyncio.Future[bool] = loop.create_future()
        self._hearing.setdefault(ring, set()).add(heard)
        timer = loop.call_later(at_most.total_seconds(), _give_up, heard)
        try:
            return await heard
        finally:
            timer.cancel()
            self._hearing[ring].discard(heard)


def _give_up(heard: asyncio.Future[bool]) -> None:
    if not heard.done():
        heard.set_result(False)
