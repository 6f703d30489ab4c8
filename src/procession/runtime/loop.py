"""The one loop that all stages use.

A pass looks into the store, does what there is to do, and says how long nothing more is expected. Then the loop waits
for its bell, but never longer than POLL: bells are hints, polling is the truth.

What a pass raises is judged here, once for all stages:

    StoreAway, OutcomeUnknown   wait, longer each time, with jitter so that many processes do not come back at once
    StoreBroken                 the process ends, now: going on would build on what is not there
    anything else               a bug of ours: it is shown, counted, and waited out like an absence
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from procession.core.errors import OutcomeUnknown, StoreAway, StoreBroken
from procession.core.limits import POLL
from procession.core.retry import Retry
from procession.ports.bell import Bell, Ring
from procession.ports.chance import Chance
from procession.ports.telemetry import Telemetry

FailStop = Callable[[str], None]
"""Ends the process with this reason, without tidying up. Only where it is injected does anybody know how."""

AGAIN: Final = timedelta(0)
"""A pass that answers this is followed by the next at once."""

_ABSENCE: Final = Retry(base=timedelta(milliseconds=100), cap=timedelta(seconds=2))
"""Waits while the store is away. The cap keeps service within 10 s of its return (P9), whatever the outage took."""


class Loop:
    """Calls a pass until it is stopped."""

    def __init__(
        self,
        name: str,
        work: Callable[[], Awaitable[timedelta]],
        *,
        bell: Bell,
        ring: Ring | None,
        chance: Chance,
        telemetry: Telemetry,
        fail_stop: FailStop,
        poll: timedelta = POLL,
    ) -> None:
        """`work` is one pass and answers how long to rest. `ring` None: nothing wakes this loop but time."""
        self.name = name
        self._work = work
        self._bell = bell
        self._ring = ring
        self._chance = chance
        self._telemetry = telemetry
        self._fail_stop = fail_stop
        self._poll = poll
        self._stopped = asyncio.Event()
        self._ended = asyncio.Event()
        self._failures = 0

    @property
    def stopped(self) -> bool:
        return self._stopped.is_set()

    def stop(self) -> None:
        """Begin no further pass; the one under way comes to its end. May be called twice, and before `run`."""
        self._stopped.set()
        if self._ring is not None:
            self._bell.ring(self._ring)

    async def ended(self, at_most: timedelta) -> bool:
        """Wait until the pass that was under way at the stop is over, at most so long; says whether it is."""
        try:
            async with asyncio.timeout(at_most.total_seconds()):
                await self._ended.wait()
        except TimeoutError:
            return False
        return True

    async def run(self) -> None:
        try:
            await self._run()
        finally:
            self._ended.set()

    async def _run(self) -> None:
        while not self._stopped.is_set():
            rest = await self._pass()
            if self._stopped.is_set():
                return
            if rest is None:
                await self._pause(self._backoff())
            else:
                await self._rest(rest)

    async def _pass(self) -> timedelta | None:
        """One pass; None when it failed."""
        try:
            rest = await self._work()
        except StoreBroken as broken:
            self.stop()
            self._fail_stop(f"{self.name}: {broken}")
            return None
        except (StoreAway, OutcomeUnknown) as away:
            self._fail("loop.store_away", away)
            return None
        except Exception as bug:  # noqa: BLE001 - the top of every loop: a bug in one pass must not end the stage
            self._fail("loop.failed", bug)
            return None
        self._failures = 0
        return rest

    def _fail(self, what: str, error: Exception) -> None:
        self._failures += 1
        self._telemetry.count(what)
        self._telemetry.warn(what, loop=self.name, error=type(error).__name__, reason=str(error), times=self._failures)

    def _backoff(self) -> timedelta:
        return _ABSENCE.after(self._failures, self._chance.uniform(0.0, 1.0))

    async def _rest(self, rest: timedelta) -> None:
        wait = min(rest, self._poll) if self._ring is not None else rest
        if wait <= AGAIN:
            # Others get their turn between two passes, whatever the passes themselves wait for.
            await asyncio.sleep(0)
        elif self._ring is not None:
            await self._bell.hear(self._ring, wait)
        else:
            await self._pause(wait)

    async def _pause(self, wait: timedelta) -> None:
        """Wait so long, or until the loop is stopped."""
        try:
            async with asyncio.timeout(wait.total_seconds()):
                await self._stopped.wait()
        except TimeoutError:
            return
