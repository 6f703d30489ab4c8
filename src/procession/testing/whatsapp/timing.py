"""The simulation's time: its own seconds, which may be shorter than ours, and what is to happen after some of them."""

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from procession.ports.clock import Clock


class Time(Protocol):
    def now(self) -> datetime:
        """What clocks on the wall show: for timestamps. It goes at the pace of the real world."""
        ...

    def seconds(self) -> float:
        """How many of its own seconds have passed."""
        ...

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        """Call `act` when so many of its own seconds have passed."""
        ...


class LoopTime:
    """On the running loop; `pace` of its seconds pass in one of ours."""

    def __init__(self, clock: Clock, pace: float = 1.0) -> None:
        self._clock = clock
        self._pace = pace
        self._begun = clock.monotonic()
        self._timers: set[asyncio.TimerHandle] = set()
        self._is_over = False

    def now(self) -> datetime:
        return self._clock.now()

    def seconds(self) -> float:
        return (self._clock.monotonic() - self._begun) * self._pace

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        if self._is_over:
            return

        def due() -> None:
            self._timers.discard(timer)
            act()

        timer = asyncio.get_running_loop().call_later(seconds / self._pace, due)
        self._timers.add(timer)

    def close(self) -> None:
        """Nothing more happens."""
        self._is_over = True
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()
