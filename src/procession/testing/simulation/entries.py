"""What the simulated loop runs: callbacks, and the timers that make them ready."""

import asyncio
import heapq
from collections.abc import Callable
from contextvars import Context
from typing import Any

from procession.testing.simulation.nodes import Node
from procession.testing.simulation.overrides import override

# Cancelled timers are swept out when they are more than this, and more than half of all.
_CANCELLED_MAX = 100


class Entry(asyncio.TimerHandle):
    """Something to be called once, as soon as possible or at a time, by a node.

    It replaces all of its parent, which it has only to be known as what `call_later` gives: it is the hottest object of
    a simulation, and the parent keeps more than we need.
    """

    __slots__ = ("args", "arrival", "at", "callback", "context", "is_cancelled", "node", "timers")

    def __init__(
        self, node: Node, context: Context, callback: Callable[..., object], args: tuple[Any, ...], at: float
    ) -> None:
        self.node = node
        self.context = context
        self.callback = callback
        self.args = args
        self.at = at
        self.arrival = 0
        self.is_cancelled = False
        self.timers: Timers | None = None

    @override
    def __repr__(self) -> str:
        return f"<{self.named} of {self.node!r} at {self.at:.6f}>"

    @override
    def __hash__(self) -> int:
        return id(self)

    @override
    def __eq__(self, other: object) -> bool:
        return self is other

    @property
    def named(self) -> str:
        return named(self.callback)

    @override
    def cancel(self) -> None:
        if not self.is_cancelled:
            self.is_cancelled = True
            self.callback = _nothing
            self.args = ()
            if self.timers is not None:
                self.timers.cancelled += 1

    @override
    def cancelled(self) -> bool:
        return self.is_cancelled

    @override
    def when(self) -> float:
        return self.at


class Timers:
    """Entries by their time; those of one time in the order of their ties."""

    __slots__ = ("_heap", "_number", "cancelled")

    def __init__(self) -> None:
        self.cancelled = 0
        self._heap: list[tuple[float, float, int, Entry]] = []
        self._number = 0

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, entry: Entry, tie: float) -> None:
        self._number += 1
        entry.timers = self
        heapq.heappush(self._heap, (entry.at, tie, self._number, entry))

    def next_at(self) -> float | None:
        """When the next one is due that somebody still waits for."""
        self._sweep()
        while self._heap and (self._heap[0][3].is_cancelled or self._heap[0][3].node.dead):
            self._take()
        return self._heap[0][0] if self._heap else None

    def due(self, now: float) -> list[Entry]:
        found = []
        while self._heap and self._heap[0][0] <= now:
            found.append(self._take())
        return found

    def clear(self) -> None:
        self._heap.clear()

    def _take(self) -> Entry:
        entry = heapq.heappop(self._heap)[3]
        entry.timers = None
        if entry.is_cancelled:
            self.cancelled -= 1
        return entry

    def _sweep(self) -> None:
        if self.cancelled > max(_CANCELLED_MAX, len(self._heap) // 2):
            self._heap = [timer for timer in self._heap if not timer[3].is_cancelled]
            heapq.heapify(self._heap)
            self.cancelled = 0


def named(callback: Callable[..., object]) -> str:
    """A name that is the same in every run: without addresses. A step of a task goes under the task's name."""
    bound = getattr(callback, "__self__", None)
    if isinstance(bound, asyncio.Task):
        return bound.get_name()
    return str(getattr(callback, "__qualname__", type(callback).__qualname__))


def _nothing(*_: object) -> None:
    """What a cancelled entry calls."""
