"""A port as one node sees it: shut, once the node is dead."""

from asyncio import Future
from collections.abc import Awaitable, Callable
from types import CoroutineType, TracebackType
from typing import TYPE_CHECKING, Any, cast

from procession.testing.simulation.gate import NodeIsDead
from procession.testing.simulation.overrides import override

if TYPE_CHECKING:
    from procession.testing.simulation.nodes import Node

_ENTERED_OR_ITERATED = ("__aenter__", "__enter__", "__anext__")


class Guard:
    """Passes everything on to the port, as long as the node lives.

    The methods run as the node's own. What they give back to be called, entered or iterated is guarded in turn. The
    result of an await is given as it is: where it is a port itself, guard it at its birth.
    """

    __slots__ = ("_guarding_for", "_guarding_port")
    _guarding_for: "Node"
    _guarding_port: Any

    def __init__(self, node: "Node", port: object) -> None:
        object.__setattr__(self, "_guarding_for", node)
        object.__setattr__(self, "_guarding_port", port)

    @override
    def __repr__(self) -> str:
        return f"<{self._guarding_port!r} as {self._guarding_for!r} sees it>"

    def __getattr__(self, name: str) -> object:
        return self._let(getattr, self._guarding_port, name)

    @override
    def __setattr__(self, name: str, value: object) -> None:
        self._let(setattr, self._guarding_port, name, value)

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self._let(self._guarding_port, *args, **kwargs)

    async def __aenter__(self) -> object:
        return await self._let_await(self._guarding_port.__aenter__)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> object:
        return await self._let_await(self._guarding_port.__aexit__, kind, error, trace)

    def __enter__(self) -> object:
        return self._let(self._guarding_port.__enter__)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> object:
        return self._let(self._guarding_port.__exit__, kind, error, trace)

    def __aiter__(self) -> object:
        return self._let(self._guarding_port.__aiter__)

    async def __anext__(self) -> object:
        return await self._let_await(self._guarding_port.__anext__)

    async def _let_await(self, function: Callable[..., object], *args: object) -> object:
        return await cast("Awaitable[object]", self._let(function, *args))

    def _let(self, function: Callable[..., object], *args: object, **kwargs: object) -> object:
        node = self._guarding_for
        if self._guarding_for.dead:
            raise NodeIsDead(repr(node))
        result = function(*args, **kwargs)
        if node.dead:
            if isinstance(result, CoroutineType):
                result.close()
            raise NodeIsDead(repr(node))
        return Guard(node, result) if _is_to_be_guarded(result) else result


def _is_to_be_guarded(result: object) -> bool:
    if isinstance(result, CoroutineType | Future | Guard | type):
        return False
    return callable(result) or any(hasattr(type(result), name) for name in _ENTERED_OR_ITERATED)
