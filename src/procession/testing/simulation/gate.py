"""The gate before each task of a node: what a dead process could not do does not happen."""

import asyncio
from collections.abc import Callable, Coroutine, Generator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from procession.testing.simulation.overrides import override

if TYPE_CHECKING:
    from procession.testing.simulation.nodes import Node

# A coroutine that awaits in its `finally` refuses to be closed at first. One that refuses this often never will.
_CLOSES_MAX = 100


class NodeIsDead(BaseException):
    """Nobody can answer it: it is only ever raised in code of a process that does not exist any more."""


class Gate(Coroutine[Any, Any, Any]):
    """Stands in a task's place before its coroutine, and lets no step through that a dead process could not take.

    The task is asyncio's own and takes it for a coroutine. To yield None is a coroutine's way to ask for another step;
    the loop drops that wish for a dead node, so that the task stays as it is, for ever pending.
    """

    __slots__ = ("coroutine", "node", "task")

    task: asyncio.Task[Any]

    def __init__(self, node: "Node", coroutine: Coroutine[Any, Any, Any]) -> None:
        self.node = node
        self.coroutine = coroutine
        node.gates[self] = None

    def __getattr__(self, name: str) -> object:
        # What asyncio shows of a coroutine in reprs and stacks: its names, frame and code.
        return getattr(self.coroutine, name)

    @override
    def send(self, value: object, /) -> object:
        return self._step(self.coroutine.send, value)

    @override
    def throw(
        self, error: type[BaseException] | BaseException, value: object = None, trace: TracebackType | None = None, /
    ) -> object:
        assert (value, trace) == (None, None), "asyncio throws instances"
        return self._step(self.coroutine.throw, error)

    @override
    def close(self) -> None:
        self.coroutine.close()

    @override
    def __await__(self) -> Generator[Any, Any, Any]:
        raise TypeError("a gate is stepped by its task only")

    def _step(self, step: Callable[..., object], value: object) -> object:
        if self.node.dead:
            return None
        node = self.node
        try:
            awaited = step(value)
        except SystemExit as wish:
            if node.is_world:
                raise
            node.crash(wish)
            return None
        except BaseException:
            if node.dead:
                return None
            del node.gates[self]
            raise
        if not node.dead and node.reaper is not None and node.reaper.strikes(node, self.coroutine):
            node.crash()
        return None if node.dead else awaited

    def dispose(self) -> bool:
        """Close the coroutine of a dead node for good. False: it does not let itself be closed."""
        for _ in range(_CLOSES_MAX):
            try:
                self.coroutine.close()
            except RuntimeError as refusal:
                if "ignored GeneratorExit" not in str(refusal):
                    return True
            except BaseException:  # noqa: BLE001 - a dead node's last words, whatever they are
                return True
            else:
                return True
        return False
