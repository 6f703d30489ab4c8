"""Futures and tasks with the same hash in every run.

asyncio keeps tasks in sets and goes through them: a task group cancels its tasks in the order of a set. The hash of a
plain task is its address, so that order would be another one in each run.
"""

import asyncio
from collections.abc import Coroutine
from contextvars import Context
from typing import TYPE_CHECKING, Any, TypeVar

from procession.testing.simulation.nodes import NODE, Node
from procession.testing.simulation.overrides import override

if TYPE_CHECKING:
    from procession.testing.simulation.loop import SimulatedLoop

T = TypeVar("T")


class SimulatedFuture(asyncio.Future[T]):
    __slots__ = ("node", "number")

    def __init__(self, loop: "SimulatedLoop") -> None:
        self.number = loop.next_number()
        self.node = NODE.get(loop.home)
        super().__init__(loop=loop)

    @override
    def __hash__(self) -> int:
        return self.number


class SimulatedTask(asyncio.Task[T]):
    __slots__ = ("node", "number")

    def __init__(
        self, work: Coroutine[Any, Any, T], loop: "SimulatedLoop", node: Node, name: str, context: Context
    ) -> None:
        # First the number: a new task enters itself into a set.
        self.number = loop.next_number()
        self.node = node
        super().__init__(work, loop=loop, name=name, context=context)

    @override
    def __hash__(self) -> int:
        return self.number
