"""Nodes: processes of a simulated world, that can die at any await, stand still, and go on again.

All nodes of a world live in one Python process and on one loop. What makes them processes is this:

- A task, callback or timer belongs to the node in whose context it was made, and contexts are inherited: whatever
  begins below `node.spawn` is the node's, without knowing it.
- The loop runs something of a node only while the node lives and is not paused. A paused node's callbacks wait, and its
  timers, which went on meanwhile, all fire when it wakes: like SIGSTOP and SIGCONT.
- Each task of a node runs behind a `Gate`. When a step of it has come to an await, the node's reaper may let the node
  die there. A dead node's coroutines are kept, suspended as they are, until the loop is closed: were they let go,
  Python would throw `GeneratorExit` into them and run their `finally`, which no killed process does.
- When they are closed at last, their code does run. It finds its ports shut: a port that was handed over by
  `node.guard` raises `NodeIsDead` and does nothing.

Two rules for those who build a world:

- What happens outside of the process (a server that works on after its client died, a packet on its way) must be begun
  by `outside`, or by `loop.home`: otherwise it belongs to the node, and dies with it.
- No Event, Lock or Queue of asyncio may be shared by two nodes. A dead node's waiter would still stand in its line, and
  be given what was meant for a living one.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, cast

from procession.testing.simulation.gate import Gate, NodeIsDead
from procession.testing.simulation.guard import Guard
from procession.testing.simulation.overrides import override

if TYPE_CHECKING:
    from procession.testing.simulation.entries import Entry
    from procession.testing.simulation.loop import SimulatedLoop

T = TypeVar("T")
P = ParamSpec("P")

NODE: ContextVar["Node"] = ContextVar("procession.simulation.node")
"""The node whose code is running. Not set: the world's."""


class Reaper(Protocol):
    """Decides where nodes die."""

    def strikes(self, node: "Node", suspended: Coroutine[Any, Any, Any]) -> bool:
        """Asked each time a task of the node has come to an await. True: the node dies, before all else."""
        ...


class Node:
    """One life of one process. The next life is another `Node` of the same name, made by `loop.node`."""

    __slots__ = (
        "_awaited_by",
        "_context",
        "_label",
        "_pauses",
        "_spawned",
        "born_at",
        "dead",
        "gates",
        "is_listed",
        "is_paused",
        "life",
        "loop",
        "name",
        "ready",
        "reaper",
        "why",
    )

    def __init__(self, loop: "SimulatedLoop", name: str, life: int, context: Context, reaper: Reaper | None) -> None:
        self.loop = loop
        self.name = name
        self.life = life
        self.born_at = loop.now
        self.dead = False
        self.why: BaseException | None = None
        self.reaper = reaper
        self._context = context
        self._label = f"{name}#{life}"
        self._pauses = 0
        self._spawned = 0
        self._awaited_by: list[asyncio.Future[None]] = []
        # The loop's part: what may run, whether the node is in the loop's list, and what must not be let go.
        self.ready: deque[Entry] = deque()
        self.is_listed = False
        self.is_paused = False
        self.gates: dict[Gate, None] = {}

    @override
    def __repr__(self) -> str:
        return self._label

    @property
    def is_world(self) -> bool:
        return self is self.loop.home

    def spawn(self, work: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Begin `work` as this node's. What it begins is the node's too."""
        return self.loop.create_task(work, name=name, context=self._context.copy())

    def start(self, work: Coroutine[Any, Any, object], *, name: str | None = None) -> None:
        """The same for work that nobody waits for. If it fails while the node lives, the whole run does."""
        _ = self.spawn(work, name=name)

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `function` now, as this node: the timers and tasks that it makes are the node's."""
        return self._context.copy().run(function, *args, **kwargs)

    def guard(self, port: T) -> T:
        """The same port for this node only: it does nothing once the node is dead."""
        return cast("T", Guard(self, port))

    def crash(self, why: BaseException | None = None) -> None:
        """Kill it. Nothing of it runs any more; a step of its own that is running ends at its next port or await."""
        if self.dead:
            return
        assert not self.is_world
        self.dead = True
        self.why = why
        self.loop.forget(self)
        for waiting in self._awaited_by:
            if not waiting.done():
                waiting.set_result(None)
        self._awaited_by.clear()

    def halt(self) -> None:
        """What `os._exit` is to a process: for the node's own code, which does not go on."""
        self.crash()
        raise NodeIsDead(self._label)

    def pause(self, duration: timedelta | None = None) -> None:
        """Stop it for a while, or until `resume`. Pauses overlap: it wakes when the last of them has ended."""
        assert not self.is_world
        self._pauses += 1
        self.is_paused = True
        self.loop.pass_over(self)
        if duration is not None:
            self.loop.home.run(self.loop.call_later, duration.total_seconds(), self.resume)

    def resume(self) -> None:
        """End one pause."""
        self._pauses = max(0, self._pauses - 1)
        if self._pauses == 0 and self.is_paused:
            self.is_paused = False
            self.loop.recall(self)

    async def death(self) -> None:
        """Wait until it is dead: for the world, or another node, that restarts it."""
        if not self.dead:
            waiting = self.loop.create_future()
            self._awaited_by.append(waiting)
            await waiting

    def next_label(self) -> str:
        """A name for a task that has none: the same in every run, unlike those of asyncio."""
        self._spawned += 1
        return f"{self._label}/{self._spawned}"


async def outside(work: Coroutine[Any, Any, T]) -> T:
    """Let the world do `work`, and wait for it. It is done to its end, also when the node dies or gives up."""
    node = NODE.get(None)
    if node is None:
        return await work
    if node.dead:
        work.close()
        raise NodeIsDead(repr(node))
    home = node.loop.home
    answer: asyncio.Future[T] = node.loop.create_future()
    home.run(home.spawn(work).add_done_callback, lambda done: _relay(done, answer))
    return await answer


def _relay(done: asyncio.Task[T], answer: asyncio.Future[T]) -> None:
    failure = None if done.cancelled() else done.exception()
    if answer.done():
        return
    if done.cancelled():
        answer.cancel()
    elif failure is not None:
        answer.set_exception(failure)
    else:
        answer.set_result(done.result())
