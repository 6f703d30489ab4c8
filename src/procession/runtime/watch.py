"""A watch over calls that have to end in time: one timer for all of them.

A timer for each call (`asyncio.timeout`) costs more than a short turn itself. Here a call only notes when it has to
end; a single timer fires at the earliest of these moments, cancels what is due, and is set anew for the next. Calls
that ended in time cost nothing: the timer that was set for them fires once and finds them gone.

A cancelled call may go on (it tidies up, or swallows the cancellation): it is cancelled again each `_AGAIN` until it is
gone. Whoever began the call sees in `cause` why it was cancelled, and that it was us and not somebody who cancels the
whole stage.
"""

import asyncio
import math
from enum import StrEnum
from typing import Final

from procession.ports.clock import Clock
from procession.runtime.trust import Trust

_AGAIN: Final = 1.0
"""Seconds until a call that was cancelled and still runs is cancelled once more."""
_SOON: Final = 0.001
"""Seconds: the event loop's clock and ours may differ by a hair."""


class Cause(StrEnum):
    """Why a watched call was cancelled."""

    DEADLINE = "deadline"
    TRUST = "trust"
    """Trust in its lease has run out."""
    LOST = "lost"
    """The store has said that its lease is another's."""
    STOP = "stop"
    """The stage is stopping."""


class Watched:
    """One call of the task that began it."""

    __slots__ = ("cancels", "cause", "deadline", "task", "trust")

    def __init__(self, task: asyncio.Task[object], trust: Trust, deadline: float) -> None:
        self.task = task
        self.trust = trust
        self.deadline = deadline
        self.cause: Cause | None = None
        self.cancels = 0

    def due_at(self) -> float:
        return min(self.deadline, self.trust.until)


class Watch:
    """Cancels calls at their deadline, when trust in their lease has run out, or when it is told to."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._running: dict[Watched, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = math.inf

    def begin(self, trust: Trust, deadline: float = math.inf) -> Watched:
        """Watch what the current task does from now to `end`. `deadline` is on the monotonic clock."""
        task = asyncio.current_task()
        assert task is not None
        watched = Watched(task, trust, deadline)
        self._running[watched] = None
        self._set_timer(watched.due_at())
        return watched

    def end(self, watched: Watched) -> None:
        """The call is over, whichever way; takes back the cancellations that were its own."""
        self._running.pop(watched, None)
        while watched.cancels:
            watched.task.uncancel()
            watched.cancels -= 1

    def cancel(self, watched: Watched, cause: Cause) -> None:
        """End a call now, if it still runs."""
        if watched in self._running:
            self._cancel(watched, cause)
            self._set_timer(self._clock.monotonic() + _AGAIN)

    def cancel_all(self, cause: Cause) -> None:
        for watched in list(self._running):
            self.cancel(watched, cause)

    def close(self) -> None:
        """Let go of the timer."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer, self._timer_at = None, math.inf

    def _cancel(self, watched: Watched, cause: Cause) -> None:
        # The first cause is the true one: a deadline that passes while a lost turn tidies up explains nothing.
        watched.cause = watched.cause or cause
        watched.cancels += 1
        watched.task.cancel(f"cancelled: {watched.cause}")

    def _set_timer(self, at: float) -> None:
        if at >= self._timer_at:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = at
        wait = max(at - self._clock.monotonic(), _SOON)
        self._timer = asyncio.get_running_loop().call_later(wait, self._look)

    def _look(self) -> None:
        """Cancel what is due, and come back when the next is."""
        self._timer, self._timer_at = None, math.inf
        now = self._clock.monotonic()
        next_at = math.inf
        for watched in list(self._running):
            if watched.cause is not None or watched.due_at() <= now:
                self._cancel(watched, _why(watched, now))
                next_at = min(next_at, now + _AGAIN)
            else:
                next_at = min(next_at, watched.due_at())
        if next_at < math.inf:
            self._set_timer(next_at)


def _why(watched: Watched, now: float) -> Cause:
    if watched.trust.until == -math.inf:
        return Cause.LOST
    return Cause.TRUST if watched.trust.until <= now else Cause.DEADLINE
