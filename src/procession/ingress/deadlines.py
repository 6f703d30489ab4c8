"""One look over all connections every now and then, instead of a timer for each request.

A timer for each phase of each request costs more than the phase itself, and nearly all of them are cancelled. A sweep
costs one comparison a connection, four times a second; in return a deadline strikes up to one period late, which no
peer can use.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Protocol


class Mortal(Protocol):
    deadline: float
    """An instant of the loop's clock."""

    def overdue(self, now: float) -> None:
        """Called after the deadline, again and again until there is a later one."""


class Sweep:
    def __init__(self, every_s: float, all_of_them: Callable[[], Iterable[Mortal]]) -> None:
        self._every_s = every_s
        self._all_of_them = all_of_them
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._every_s, self._look)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self.start()  # first: one connection's trouble must not end the sweep of all others
        now = asyncio.get_running_loop().time()
        for mortal in self._all_of_them():
            if mortal.deadline <= now:
                mortal.overdue(now)
