"""The seeded loop: asyncio without a clock, without a selector, without threads.

Theory of operation. Time is a number. It stands still while anything can run, and jumps to the next timer when nothing can. Who
runs next among all that could is drawn from the seed: the interleaving is part of the story that the seed tells. Nothing
from outside can come in, so when nothing is ready and no timer is set, nothing will ever happen: that is a `Deadlock`, and it is
raised with a list of all who wait.

To be the same in every run, the loop has to take some chance out of Python itself: tasks and futures are hashed by
their number and not by their address (asyncio iterates over sets of them), tasks are named by us, and the collector of cycles
runs at certain steps only (finalizers of async generators run code). The one thing left is the hash of strings: code that iterates
over a set of strings is the same in two processes only with the same PYTHONHASHSEED.

Whatever is made in a node's context is the node's; see `nodes`. All else is the world's, whose node is `home`.
"""

import asyncio
import gc
import heapq
import sys
import threading
import warnings
from asyncio import events
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar, TypeVarTuple, Unpack

from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.nodes import NODE, Gate, Node, NodeIsDead, Reaper
from procession.testing.simulation.sites import standing

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method: object) -> object:
        return method


T = TypeVar("T")
Ts = TypeVarTuple("Ts")

# How far ahead a shuffled node may reach into what is ready: far enough for every order of a few, and never a long wait for one.
_REACH = 16
# Cancelled timers are swept out when they are this many and more than half of all.
_CANCELLED_MAX = 100
# A collection looks only at what was made since the last: short at this distance, and the distance bounds the memory.
_STEPS_PER_COLLECTION = 20_000
# What a deadlock shows of all who wait.
_WAITING_SHOWN = 40

# Coroutines that could not be closed. To let them go would run their code at any moment.
_UNDYING: list[Gate] = []


class SimulationStopped(Exception):
    """The simulation could not come to its end. The text says why and where everybody stands."""


class Deadlock(SimulationStopped):
    """Nothing is ready and no timer is set: nothing will ever happen again."""


class OutOfTime(SimulationStopped):
    """Virtual time has reached its bound."""


class OutOfSteps(SimulationStopped):
    """So many steps were taken, in all or without any time going by, that somebody runs in circles."""


class NotSimulated(RuntimeError):
    """Code asked the loop for threads, sockets or processes. Hand it a port instead."""


class Unheard(ExceptionGroup[Exception]):
    """Failures that nobody looked at: of callbacks, and of tasks that nobody awaited."""

    @override
    def derive(self, errors: Any) -> "Unheard":
        return Unheard(self.message, errors)


class Interleaving(Enum):
    """Who runs next, of all who are ready."""

    ARRIVAL = "as they became ready, as asyncio does it"
    NODES = "any node; within a node as they became ready"
    ALL = "any node, and within a node any of the first sixteen"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """When a simulation is given up. All are far beyond what a seed of some hundred events needs."""

    virtual_seconds_max: float = 400 * 86400.0
    steps_max: int = 5_000_000
    steps_at_once_max: int = 200_000
    """Steps in a row without time going by."""


def run(
    seed: int,
    main: Callable[["SimulatedLoop"], Coroutine[Any, Any, T]],
    *,
    interleaving: Interleaving = Interleaving.ALL,
    bounds: Bounds | None = None,
    trace: Callable[[str], None] | None = None,
) -> T:
    """Play one seed: `main` is the world, and what it returns is the result. All nodes end when it ends."""
    loop = SimulatedLoop(SeededChance(seed), interleaving=interleaving, bounds=bounds or Bounds(), trace=trace)  # type: ignore[abstract]  # sockets, pipes and signals stay unimplemented on purpose
    with _collected_by_us():
        try:
            result: T = loop.run_until_complete(main(loop))
            gc.collect(0)
            loop.raise_unheard()
            return result
        finally:
            loop.close()


class Entry(asyncio.TimerHandle):
    """Something to be called once, at a time or as soon as possible, by a node."""

    __slots__ = ("args", "arrival", "at", "callback", "context", "is_cancelled", "is_timed", "node")

    def __init__(
        self,
        node: Node,
        context: Context,
        callback: Callable[..., object],
        args: tuple[Any, ...],
        at: float,
        *,
        is_timed: bool,
    ) -> None:
        # Not the parent's __init__: all that it prepares is replaced here, and this is the hottest object of all.
        self.node = node
        self.context = context
        self.callback = callback
        self.args = args
        self.at = at
        self.arrival = 0
        self.is_timed = is_timed
        self.is_cancelled = False

    @override
    def __repr__(self) -> str:
        return f"<{_named(self.callback)} of {self.node!r} at {self.at:.6f}>"

    @override
    def __hash__(self) -> int:
        return id(self)

    @override
    def __eq__(self, other: object) -> bool:
        return self is other

    @override
    def cancel(self) -> None:
        if not self.is_cancelled:
            self.is_cancelled = True
            self.callback = _nothing
            self.args = ()
            if self.is_timed:
                self.node.loop.timer_was_cancelled()

    @override
    def cancelled(self) -> bool:
        return self.is_cancelled

    @override
    def when(self) -> float:
        return self.at


class SimulatedFuture(asyncio.Future[T]):
    """A future with the same hash in every run."""

    __slots__ = ("node", "number")

    def __init__(self, loop: "SimulatedLoop") -> None:
        self.number = loop.next_number()
        self.node = NODE.get(loop.home)
        super().__init__(loop=loop)

    @override
    def __hash__(self) -> int:
        return self.number


class SimulatedTask(asyncio.Task[T]):
    """A task with the same hash in every run."""

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


class SimulatedLoop(asyncio.AbstractEventLoop):
    """See the head of this file. Made by `run`; `home` is the world's own node."""

    def __init__(
        self,
        chance: SeededChance,
        *,
        interleaving: Interleaving = Interleaving.ALL,
        bounds: Bounds | None = None,
        trace: Callable[[str], None] | None = None,
    ) -> None:
        self.chance = chance
        self.steps = 0
        self.unheard: list[dict[str, Any]] = []
        self.home = Node(self, "world", 1, copy_context(), None, born_at=0.0)
        self.nodes: list[Node] = []
        self._random = chance.of("interleaving").random
        self._interleaving = interleaving
        self._bounds = bounds or Bounds()
        self._trace = trace
        self._now = 0.0
        self._moved_at_step = 0
        self._number = 0
        self._arrivals = 0
        self._lives: dict[str, int] = {}
        self._listed: list[Node] = []
        self._timers: list[tuple[float, float, int, Entry]] = []
        self._timers_cancelled = 0
        self._generators: dict[int, Node] = {}
        self._exception_handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None = None
        self._thread = threading.get_ident()
        self._is_running = False
        self._is_stopping = False
        self._is_closed = False

    # Nodes

    def node(self, name: str, reaper: Reaper | None = None) -> Node:
        """A new life of the process of that name."""
        life = self._lives[name] = self._lives.get(name, 0) + 1
        assert all(other.dead for other in self.nodes if other.name == name), f"{name} is still alive"
        context = self.home.run(copy_context)
        node = Node(self, name, life, context, reaper, born_at=self._now)
        context.run(NODE.set, node)
        self.nodes.append(node)
        return node

    def forget(self, node: Node, *, keep_ready: bool = False) -> None:
        """A node has died, or was paused."""
        assert node is not self.home, "the world can neither die nor pause"
        if not keep_ready:
            node.ready.clear()
        if node.is_listed:
            node.is_listed = False
            self._listed.remove(node)

    def recall(self, node: Node) -> None:
        """A node goes on after a pause."""
        if node.ready and not node.dead and not node.is_listed:
            node.is_listed = True
            self._listed.append(node)

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def timer_was_cancelled(self) -> None:
        self._timers_cancelled += 1

    # Running

    @override
    def run_forever(self) -> None:
        assert not self._is_closed
        assert not self._is_running
        hooks = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._generator_begun, finalizer=self._generator_let_go)
        events._set_running_loop(self)
        self._is_running = True
        try:
            while not self._is_stopping:
                while not self._listed:
                    self._move_time()
                self._step()
        finally:
            self._is_running = False
            self._is_stopping = False
            events._set_running_loop(None)
            sys.set_asyncgen_hooks(*hooks)

    @override
    def run_until_complete(self, future: Any) -> Any:
        main = asyncio.ensure_future(future, loop=self)
        main.add_done_callback(lambda _: self.stop())
        try:
            self.run_forever()
        except BaseException:
            if main.done() and not main.cancelled():
                main.exception()
            raise
        return main.result()

    def _step(self) -> None:
        """Let one of those who are ready take one step."""
        entry = self._next()
        if entry.is_cancelled:
            return
        self.steps += 1
        if self.steps - self._moved_at_step > self._bounds.steps_at_once_max or self.steps > self._bounds.steps_max:
            self._give_up(OutOfSteps, f"{self.steps} steps, {self.steps - self._moved_at_step} since time moved")
        if self.steps % _STEPS_PER_COLLECTION == 0:
            gc.collect(0)
        if self._trace is not None:
            self._trace(f"{self._now:.6f} {entry.node!r} {_named(entry.callback)}")
        try:
            entry.context.run(entry.callback, *entry.args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - the top of the loop
            if not entry.node.dead:
                text = f"a callback of {entry.node!r} failed: {_named(entry.callback)}"
                self.call_exception_handler({"message": text, "exception": error})

    def _next(self) -> Entry:
        listed = self._listed
        if self._interleaving is Interleaving.ARRIVAL:
            place = min(range(len(listed)), key=lambda index: listed[index].ready[0].arrival) if len(listed) > 1 else 0
        else:
            place = int(self._random() * len(listed)) if len(listed) > 1 else 0
        node = listed[place]
        ready = node.ready
        if self._interleaving is Interleaving.ALL and len(ready) > 1:
            chosen = int(self._random() * min(len(ready), _REACH))
            entry = ready[chosen]
            del ready[chosen]
        else:
            entry = ready.popleft()
        if not ready:
            node.is_listed = False
            listed[place] = listed[-1]
            listed.pop()
        return entry

    def _admit(self, entry: Entry) -> None:
        """It may run now, as far as its node may."""
        node = entry.node
        if node.dead:
            return
        self._arrivals += 1
        entry.arrival = self._arrivals
        node.ready.append(entry)
        if not node.is_listed and not node.is_paused:
            node.is_listed = True
            self._listed.append(node)

    def _move_time(self) -> None:
        """Nothing is ready: go to the next timer."""
        timers = self._timers
        self._sweep_timers()
        while timers and (timers[0][3].is_cancelled or timers[0][3].node.dead):
            self._take_timer()
        if not timers:
            self._give_up(Deadlock, "nothing is ready and no timer is set")
        when = timers[0][0]
        if when > self._bounds.virtual_seconds_max:
            self._give_up(OutOfTime, f"the next timer is at {when} s of at most {self._bounds.virtual_seconds_max}")
        self._now = when
        self._moved_at_step = self.steps
        while timers and timers[0][0] <= when:
            entry = self._take_timer()
            if not entry.is_cancelled:
                self._admit(entry)

    def _take_timer(self) -> Entry:
        entry = heapq.heappop(self._timers)[3]
        entry.is_timed = False
        if entry.is_cancelled:
            self._timers_cancelled -= 1
        return entry

    def _sweep_timers(self) -> None:
        if self._timers_cancelled > max(_CANCELLED_MAX, len(self._timers) // 2):
            self._timers = [timer for timer in self._timers if not timer[3].is_cancelled]
            heapq.heapify(self._timers)
            self._timers_cancelled = 0

    def _give_up(self, kind: type[SimulationStopped], why: str) -> NoReturn:
        waiting = [
            f"  {gate.task.get_name()}{' (paused)' if node.is_paused else ''} at {standing(gate.coroutine)}"
            for node in (self.home, *self.nodes)
            if not node.dead
            for gate in node.gates
        ]
        more = len(waiting) - _WAITING_SHOWN
        shown = waiting[:_WAITING_SHOWN] + ([f"  and {more} more"] if more > 0 else [])
        raise kind("\n".join([f"{why}; at {self._now:.6f} s, after {self.steps} steps, these wait:", *shown]))

    @override
    def stop(self) -> None:
        self._is_stopping = True

    @override
    def is_running(self) -> bool:
        return self._is_running

    @override
    def is_closed(self) -> bool:
        return self._is_closed

    @override
    def close(self) -> None:
        """End the world. What is still suspended, of the dead and of the living, is let go here and can do nothing."""
        assert not self._is_running
        if self._is_closed:
            return
        self._is_closed = True
        everybody = [*self.nodes, self.home]
        for node in everybody:
            node.dead = True
            node.ready.clear()
        self._listed.clear()
        self._timers.clear()
        with _unseen():
            for node in everybody:
                _UNDYING.extend(gate for gate in list(node.gates) if not gate.dispose())
                node.gates.clear()
            gc.collect(1)

    @override
    async def shutdown_asyncgens(self) -> None:
        """Nothing to do: `close` lets them go."""

    @override
    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Nothing to do: there is none."""

    # Scheduling

    @override
    def time(self) -> float:
        return self._now

    @override
    def call_soon(
        self, callback: Callable[[Unpack[Ts]], object], *args: Unpack[Ts], context: Context | None = None
    ) -> Entry:
        context = copy_context() if context is None else context
        entry = Entry(context.get(NODE, self.home), context, callback, args, self._now, is_timed=False)
        self._admit(entry)
        return entry

    @override
    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[Ts]], object], *args: Unpack[Ts], context: Context | None = None
    ) -> Entry:
        """The same as `call_soon`, since there is one thread; from another one it is refused."""
        if threading.get_ident() != self._thread:
            raise NotSimulated("a thread spoke to the simulated loop: what needs a thread has to be a port")
        return self.call_soon(callback, *args, context=context)

    @override
    def call_later(
        self, delay: float, callback: Callable[[Unpack[Ts]], object], *args: Unpack[Ts], context: Context | None = None
    ) -> Entry:
        return self.call_at(self._now + delay, callback, *args, context=context)

    @override
    def call_at(
        self, when: float, callback: Callable[[Unpack[Ts]], object], *args: Unpack[Ts], context: Context | None = None
    ) -> Entry:
        context = copy_context() if context is None else context
        is_timed = when > self._now
        entry = Entry(context.get(NODE, self.home), context, callback, args, when, is_timed=is_timed)
        if is_timed:
            tie = 0.0 if self._interleaving is Interleaving.ARRIVAL else self._random()
            heapq.heappush(self._timers, (when, tie, self.next_number(), entry))
        else:
            self._admit(entry)
        return entry

    @override
    def create_future(self) -> SimulatedFuture[Any]:
        return SimulatedFuture(self)

    @override
    def create_task(
        self, coro: Any, *, name: str | None = None, context: Context | None = None, **wishes: Any
    ) -> SimulatedTask[Any]:
        if wishes.get("eager_start"):
            raise NotSimulated("tasks begin when the loop says so, never at once")
        context = copy_context() if context is None else context
        node = context.get(NODE, self.home)
        if node.dead:
            coro.close()
            raise NodeIsDead(repr(node))
        gate = Gate(node, coro)
        gate.task = SimulatedTask(gate, self, node, name or node.next_label(), context)
        return gate.task

    @override
    def set_task_factory(self, factory: Any) -> None:
        raise NotSimulated("the tasks of the simulation are its own")

    @override
    def get_task_factory(self) -> None:
        return None

    @override
    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> NoReturn:
        raise NotSimulated(f"a thread for {_named(func)}: what needs a thread has to be a port")

    @override
    def set_default_executor(self, executor: Any) -> NoReturn:
        raise NotSimulated("there are no threads here")

    # Failures

    @override
    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """A failure that nobody has heard. Those of the dead are not worth hearing."""
        about = context.get("task") or context.get("future")
        if self._is_closed or (isinstance(about, (SimulatedTask, SimulatedFuture)) and about.node.dead):
            return
        if self._exception_handler is not None:
            self._exception_handler(self, context)
        else:
            self.default_exception_handler(context)

    @override
    def default_exception_handler(self, context: dict[str, Any]) -> None:
        self.unheard.append(context)

    @override
    def set_exception_handler(self, handler: Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None) -> None:
        self._exception_handler = handler

    @override
    def get_exception_handler(self) -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object] | None:
        return self._exception_handler

    def raise_unheard(self) -> None:
        if self.unheard:
            raise Unheard("nobody looked at these failures", [_failure(context) for context in self.unheard])

    @override
    def get_debug(self) -> bool:
        return False

    @override
    def set_debug(self, enabled: bool) -> None:
        """Ignored: what debugging records is not the same in two runs."""

    # Async generators: their end, when nobody holds them any more, is a step of their node.

    def _generator_begun(self, generator: AsyncGenerator[Any, Any]) -> None:
        self._generators[id(generator)] = NODE.get(self.home)

    def _generator_let_go(self, generator: AsyncGenerator[Any, Any]) -> None:
        node = self._generators.pop(id(generator), self.home)
        if not node.dead:
            node.spawn(_end(generator))


async def _end(generator: AsyncGenerator[Any, Any]) -> None:
    await generator.aclose()


def _failure(context: dict[str, Any]) -> Exception:
    error = context.get("exception")
    if isinstance(error, Exception):
        error.add_note(context["message"])
        return error
    failure = RuntimeError(context["message"])
    failure.__cause__ = error
    return failure


def _named(callback: Callable[..., object]) -> str:
    """A name that is the same in every run: without addresses."""
    bound = getattr(callback, "__self__", None)
    if isinstance(bound, asyncio.Task):
        return bound.get_name()
    return str(getattr(callback, "__qualname__", type(callback).__qualname__))


def _nothing(*_: object) -> None:
    """What a cancelled entry calls."""


@contextmanager
def _collected_by_us() -> Iterator[None]:
    """The collector of cycles runs finalizers: let it run where the loop says so."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _unseen() -> Iterator[None]:
    """What code of the dead says while it is closed is nobody's warning."""
    hook = sys.unraisablehook
    sys.unraisablehook = _nothing
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        sys.unraisablehook = hook
