"""Nodes: processes of a simulated world, that can die at any await, stand still, and go on again.

All nodes of a world live in one Python process and on one loop. What makes them processes is this:

- A task, callback or timer belongs to the node in whose context it was made, and contexts are inherited: whatever begins
  below `node.spawn` is the node's, without knowing it.
- The loop runs something of a node only while the node lives and is not paused. A paused node's callbacks wait, and its timers,
  which went on meanwhile, all fire when it wakes: like SIGSTOP and SIGCONT.
- Each task of a node runs behind a `Gate`. When a step of it has come to an await, the gate may let the node die there. A dead
  node's coroutines are kept, suspended as they are, until the loop is closed: were they let go, Python would throw
  `GeneratorExit` into them and run their `finally`, which no killed process does.
- When they are closed at last, their code does run. It finds its ports shut: a port that was handed over by `node.guard`
  raises `NodeIsDead` and does nothing.

Two rules for those who build a world:

- What happens outside of the process (a server that works on after the client died, a packet on its way) must be begun by
  `outside`: otherwise it belongs to the node, and dies with it.
- No Event, Lock or Queue of asyncio may be shared by two nodes. A dead node's waiter would still stand in its line and be given
  what was meant for a living one.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar
from datetime import timedelta
from types import CoroutineType, TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from procession.testing.simulation.loop import Entry, SimulatedLoop

T = TypeVar("T")
P = ParamSpec("P")

# A coroutine that awaits in its `finally` refuses to be closed at first. One that refuses this often never will.
_CLOSES_MAX = 100


class NodeIsDead(BaseException):  # noqa: N818 - says what is the case
    """Nobody can answer it: it is only ever raised in code of a process that does not exist any more."""


class Reaper(Protocol):
    """Decides where nodes die."""

    def strikes(self, node: "Node", suspended: Coroutine[Any, Any, Any]) -> bool:
        """Asked each time a task of the node has come to an await. True: the node dies before anything else happens."""
        ...


class Node:
    """One life of one process. It is spawned into, paused and crashed; the next life is another `Node` of the same name."""

    __slots__ = (
        "_awaited_by", "_context", "_label", "_pauses", "_spawned",
        "born_at", "dead", "gates", "is_listed", "is_paused", "life", "loop", "name", "ready", "reaper", "why",
    )  # fmt: skip

    def __init__(self, loop: "SimulatedLoop", name: str, life: int, context: Context, reaper: Reaper | None, *, born_at: float) -> None:
        self.loop = loop
        self.name = name
        self.life = life
        self.born_at = born_at
        self.dead = False
        self.why: BaseException | None = None
        self.reaper = reaper
        self._context = context
        self._label = f"{name}#{life}"
        self._pauses = 0
        self._spawned = 0
        self._awaited_by: list[asyncio.Future[None]] = []
        # The loop's part: what may run, whether the node stands in the loop's list, and what must not be let go.
        self.ready: deque[Entry] = deque()
        self.is_listed = False
        self.is_paused = False
        self.gates: dict[Gate, None] = {}

    def __repr__(self) -> str:
        return self._label

    @property
    def is_alive(self) -> bool:
        return not self.dead

    def spawn(self, work: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Begin `work` as this node's. What it begins is the node's too."""
        return self.loop.create_task(work, name=name, context=self._context.copy())

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function` now, as this node: the timers and tasks that it makes are the node's."""
        return self._context.copy().run(function, *args, **kwargs)

    def guard(self, port: T) -> T:
        """The same port for this node only: it does nothing once the node is dead."""
        return cast(T, Guard(self, port))

    def crash(self, why: BaseException | None = None) -> None:
        """Kill it. Nothing of it runs any more; a step of its own that is running now ends at its next port or await."""
        if self.dead:
            return
        self.dead = True
        self.why = why
        self.loop.forget(self)
        for waiting in self._awaited_by:
            if not waiting.done():
                waiting.set_result(None)
        self._awaited_by.clear()

    def halt(self) -> None:
        """What `os._exit` is to a process: to be called by the node's own code, which does not go on."""
        self.crash()
        raise NodeIsDead(self._label)

    def pause(self, duration: timedelta | None = None) -> None:
        """Stop it for a while, or until `resume`. Pauses overlap: it wakes when the last of them has ended."""
        self._pauses += 1
        self.is_paused = True
        self.loop.forget(self, keep_ready=True)
        if duration is not None:
            self.loop.home.run(self.loop.call_later, duration.total_seconds(), self.resume)

    def resume(self) -> None:
        """End one pause."""
        self._pauses = max(0, self._pauses - 1)
        if self._pauses == 0 and self.is_paused:
            self.is_paused = False
            self.loop.recall(self)

    async def death(self) -> None:
        """Wait until it is dead: for another node, or the world, to restart it."""
        if not self.dead:
            waiting = self.loop.create_future()
            self._awaited_by.append(waiting)
            await waiting

    def next_label(self) -> str:
        """A name for a task that has none: the same in every run, unlike those of asyncio."""
        self._spawned += 1
        return f"{self._label}/{self._spawned}"


NODE: ContextVar[Node] = ContextVar("procession.simulation.node")


async def outside(work: Coroutine[Any, Any, T]) -> T:
    """Let the world do `work`, and wait for it. It is done to its end, even when the node that asked dies or is cancelled."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[T] = loop.create_future()
    home: Node = loop.home  # type: ignore[attr-defined]  # only ever run on a SimulatedLoop
    home.run(home.spawn(work).add_done_callback, lambda done: _relay(done, answer))
    return await answer


def _relay(done: asyncio.Task[T], answer: asyncio.Future[T]) -> None:
    failure = asyncio.CancelledError() if done.cancelled() else done.exception()
    if answer.done():
        return
    if failure is None:
        answer.set_result(done.result())
    elif isinstance(failure, asyncio.CancelledError):
        answer.cancel()
    else:
        answer.set_exception(failure)


class Gate(Coroutine[Any, Any, Any]):
    """Stands in a task's place before its coroutine, and lets no step through that a dead process could not take.

    The task is asyncio's own and takes it for a coroutine. To yield None is a coroutine's way to ask for another step; the loop
    drops that wish for a dead node, so that the task stays as it is, for ever pending.
    """

    __slots__ = ("_coroutine", "_node", "task")

    task: asyncio.Task[Any]

    def __init__(self, node: Node, coroutine: Coroutine[Any, Any, Any]) -> None:
        self._node = node
        self._coroutine = coroutine
        node.gates[self] = None

    def __getattr__(self, name: str) -> Any:
        # What asyncio shows of a coroutine in reprs and stacks: its names, frame and code.
        return getattr(self._coroutine, name)

    def send(self, value: Any) -> Any:
        return self._step(self._coroutine.send, value)

    def throw(self, *error: Any) -> Any:
        return self._step(self._coroutine.throw, *error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        raise TypeError("a gate is stepped by its task only")

    @property
    def node(self) -> Node:
        return self._node

    @property
    def coroutine(self) -> Coroutine[Any, Any, Any]:
        return self._coroutine

    def _step(self, step: Callable[..., Any], *args: Any) -> Any:
        node = self._node
        if node.dead:
            return None
        try:
            awaited = step(*args)
        except SystemExit as wish:
            node.crash(wish)
            return None
        except BaseException:
            if node.dead:
                return None
            del node.gates[self]
            raise
        if node.dead:
            return None
        if node.reaper is not None and node.reaper.strikes(node, self._coroutine):
            node.crash()
            return None
        return awaited

    def dispose(self) -> bool:
        """Close the coroutine of a dead node for good. False: it does not let itself be closed."""
        for _ in range(_CLOSES_MAX):
            try:
                self._coroutine.close()
            except RuntimeError as refusal:
                if "ignored GeneratorExit" not in str(refusal):
                    return True
            except BaseException:  # noqa: BLE001 - a dead node's last words, whatever they are
                return True
            else:
                return True
        return False


class Guard:
    """A port as seen by one node. The methods run as the node's own; what they give back to be entered or iterated is
    guarded in turn. An awaited result is given as it is: where it is a port itself, guard it at its birth."""

    __slots__ = ("_guarded_by", "_guarded_port")

    def __init__(self, node: Node, port: object) -> None:
        object.__setattr__(self, "_guarded_by", node)
        object.__setattr__(self, "_guarded_port", port)

    @property  # type: ignore[misc]  # isinstance() is answered as the port would
    def __class__(self) -> type:  # type: ignore[override]  # typeshed knows the setter only
        return type(self._guarded_port)

    def __repr__(self) -> str:
        return f"<{self._guarded_port!r} as seen by {self._guarded_by!r}>"

    def __getattr__(self, name: str) -> Any:
        return self._let(getattr, self._guarded_port, name)

    def __setattr__(self, name: str, value: object) -> None:
        self._let(setattr, self._guarded_port, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._let(self._guarded_port, *args, **kwargs)

    async def __aenter__(self) -> Any:
        return await self._let(type(self._guarded_port).__aenter__, self._guarded_port)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return await self._let(type(self._guarded_port).__aexit__, self._guarded_port, kind, error, trace)

    def __enter__(self) -> Any:
        return self._let(type(self._guarded_port).__enter__, self._guarded_port)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Any:
        return self._let(type(self._guarded_port).__exit__, self._guarded_port, kind, error, trace)

    def __aiter__(self) -> Any:
        return self._let(type(self._guarded_port).__aiter__, self._guarded_port)

    async def __anext__(self) -> Any:
        return await self._let(type(self._guarded_port).__anext__, self._guarded_port)

    def _let(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        node: Node = self._guarded_by
        if node.dead:
            raise NodeIsDead(repr(node))
        result = function(*args, **kwargs)
        if node.dead:
            if isinstance(result, CoroutineType):
                result.close()
            raise NodeIsDead(repr(node))
        return Guard(node, result) if _is_to_be_guarded(result) else result


def _is_to_be_guarded(result: object) -> bool:
    kind = type(result)
    if isinstance(result, (CoroutineType, asyncio.Future, Guard)) or kind.__module__ == "builtins":
        return False
    return callable(result) or any(hasattr(kind, name) for name in ("__aenter__", "__enter__", "__anext__"))
