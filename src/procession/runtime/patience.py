"""Patience: many waits of one length, with one timer for all of them.

A timer for each wait (`asyncio.timeout`) costs several times what the wait itself does when hundreds of deliveries a
pass wait for one commit. All waits here are of one length, so they end in the order in which they began: a single
timer stands at the oldest, and whoever has its answer leaves the line without touching it.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable
from datetime import timedelta
from typing import TypeVar

T = TypeVar("T")


class _Waiting:
    __slots__ = ("cancelling", "due", "is_over", "is_overdue", "task")

    def __init__(self, task: asyncio.Task[object], due: float) -> None:
        self.task = task
        self.due = due
        self.cancelling = task.cancelling()
        self.is_over = False
        self.is_overdue = False


class Patience:
    def __init__(self, wait: timedelta) -> None:
        self._wait = wait.total_seconds()
        self._line: deque[_Waiting] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def wait_for(self, answer: Awaitable[T]) -> T:
        """The answer; TimeoutError when it does not come in time, and whatever made it is cancelled then."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        waiting = _Waiting(task, loop.time() + self._wait)
        self._line.append(waiting)
        if self._timer is None:
            self._timer = loop.call_at(waiting.due, self._look, loop)
        try:
            return await answer
        except asyncio.CancelledError:
            # Somebody else may have cancelled this task too, and that goes on.
            if waiting.is_overdue and task.uncancel() <= waiting.cancelling:
                raise TimeoutError from None
            raise
        finally:
            waiting.is_over = True
            self._forget_those_over()

    def _forget_those_over(self) -> None:
        line = self._line
        while line and line[0].is_over:
            line.popleft()

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """Cancel what is overdue, and come back when the next is."""
        self._timer = None
        self._forget_those_over()
        now = loop.time()
        while self._line and self._line[0].due <= now:
            overdue = self._line.popleft()
            if not overdue.is_over:
                overdue.is_overdue = True
                overdue.task.cancel()
        if self._line:
            self._timer = loop.call_at(self._line[0].due, self._look, loop)
