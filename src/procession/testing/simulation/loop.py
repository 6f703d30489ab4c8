"""The seeded loop: asyncio without a clock, without a selector, without threads.

Theory of operation. Time is a number. It stands still while anything can run, and jumps to the next timer when nothing
can. Who runs next among all that could is drawn from the seed: the interleaving is part of the story that the seed
tells. Nothing can come in from outside, so when nothing is ready and no timer is set, nothing will ever happen: that is
a `Deadlock`, raised with a list of all who wait.

To be the same in every run, the loop has to take some chance out of Python itself: tasks and futures are hashed by
their number and not by their address (asyncio goes through sets of them), tasks are named by us, and the collector of
cycles runs at certain steps only (finalizers of async generators run code). One thing is left, the hash of strings:
code that goes through a set of strings is the same in two processes only under the same PYTHONHASHSEED.

Whatever is made in a node's context is the node's; see `nodes`. All else is the world's, whose node is `home`.
"""

import asyncio
import gc
import sys
import threading
from asyncio import events
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator
from concurrent.futures import Executor
from contextvars import Context, copy_context
from typing import Any, NoReturn, TypeVar, TypeVarTuple

from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.collecting import collected_by_us, dispose
from procession.testing.simulation.entries import Entry, Timers, named
from procession.testing.simulation.futures import SimulatedFuture, SimulatedTask
from procession.testing.simulation.gate import Gate, NodeIsDead
from procession.testing.simulation.interleaving import Interleaving
from procession.testing.simulation.nodes import NODE, Node, Reaper
from procession.testing.simulation.overrides import override
from procession.testing.simulation.sites import standing
from procession.testing.simulation.stops import (
    Bounds,
    Deadlock,
    NotSimulated,
    OutOfSteps,
    OutOfTime,
    SimulationStopped,
    Unheard,
    failure,
)

T = TypeVar("T")
Ts = TypeVarTuple("Ts")
Handler = Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object]

# How far into what is ready a shuffled node may reach: far enough for every order of a few, and never a long wait.
_REACH = 16
# A collection looks only at what was made since the last: short at this distance, which also bounds the memory.
_STEPS_PER_COLLECTION = 20_000
_WAITING_SHOWN = 40


def run(
    seed: int,
    main: Callable[["SimulatedLoop"], Coroutine[Any, Any, T]],
    *,
    interleaving: Interleaving = Interleaving.ALL,
    bounds: Bounds | None = None,
    trace: Callable[[str], None] | None = None,
) -> T:
    """Play one seed: `main` is the world, and what it returns is the result. Everybody ends when it ends."""
    loop = SimulatedLoop(  # type: ignore[abstract]  # sockets, pipes and signals stay without a body on purpose
        SeededChance(seed), interleaving=interleaving, bounds=bounds or Bounds(), trace=trace
    )
    with collected_by_us():
        try:
            result = loop.run_until_complete(main(loop))
            gc.collect(0)
            loop.raise_unheard()
            return result
        finally:
            loop.close()
            del loop


class SimulatedLoop(asyncio.AbstractEventLoop):
    """See the head of this file. Made by `run`; `home` is the world's own node."""

    def __init__(
        self,
        chance: SeededChance,
        *,
        interleaving: Interleaving,
        bounds: Bounds,
        trace: Callable[[str], None] | None = None,
    ) -> None:
        self.chance = chance
        self.now = 0.0
        self.steps = 0
        self.unheard: list[dict[str, Any]] = []
        self.nodes: list[Node] = []
        self.home = Node(self, "world", 1, copy_context(), None)
        self._random = chance.of("interleaving").random
        self._interleaving = interleaving
        self._bounds = bounds
        self._trace = trace
        self._moved_at_step = 0
        self._number = 0
        self._arrivals = 0
        self._lives: dict[str, int] = {}
        self._listed: list[Node] = []
        self._timers = Timers()
        self._generators: dict[int, Node] = {}
        self._exception_handler: Handler | None = None
        self._thread = threading.get_ident()
        self._is_running = False
        self._is_stopping = False
        self._is_closed = False

    # Nodes

    def node(self, name: str, reaper: Reaper | None = None) -> Node:
        """A new life of the process of that name, whose last one must have ended."""
        assert all(other.dead for other in self.nodes if other.name == name), f"{name} is still alive"
        life = self._lives[name] = self._lives.get(name, 0) + 1
        context = self.home.run(copy_context)
        node = Node(self, name, life, context, reaper)
        context.run(NODE.set, node)
        self.nodes.append(node)
        return node

    def forget(self, node: Node) -> None:
        """A node has died."""
        node.ready.clear()
        self.pass_over(node)

    def pass_over(self, node: Node) -> None:
        """A node does not run for now."""
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

    # Running

    @override
    def run_forever(self) -> None:
        assert not self._is_closed
        assert events._get_running_loop() is None, "a simulation cannot run within another loop"
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
    def run_until_complete(self, future: Generator[Any, None, T] | Awaitable[T]) -> T:
        assert isinstance(future, Awaitable)
        main = asyncio.ensure_future(future, loop=self)
        main.add_done_callback(lambda _: self.stop())
        self.run_forever()
        return main.result()

    def _step(self) -> None:
        """Let one of those who are ready take one step."""
        entry = self._next()
        if entry.is_cancelled:
            return
        self.steps += 1
        if self.steps - self._moved_at_step > self._bounds.steps_at_once_max or self.steps > self._bounds.steps_max:
            self._give_up(OutOfSteps, f"{self.steps - self._moved_at_step} steps since time moved")
        if self.steps % _STEPS_PER_COLLECTION == 0:
            gc.collect(0)
        if self._trace is not None:
            self._trace(f"{self.now:.6f} {entry.node!r} {entry.named}")
        try:
            entry.context.run(entry.callback, *entry.args)
        except (SystemExit, KeyboardInterrupt):
            raise
        except BaseException as error:  # noqa: BLE001 - the top of the loop
            if not entry.node.dead:
                told = f"a callback of {entry.node!r} failed: {entry.named}"
                self.call_exception_handler({"message": told, "exception": error})

    def _next(self) -> Entry:
        listed = self._listed
        place = self._place() if len(listed) > 1 else 0
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

    def _place(self) -> int:
        listed = self._listed
        if self._interleaving is Interleaving.ARRIVAL:
            return min(range(len(listed)), key=lambda place: listed[place].ready[0].arrival)
        return int(self._random() * len(listed))

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
        when = self._timers.next_at()
        if when is None:
            self._give_up(Deadlock, "nothing is ready and no timer is set")
        if when > self._bounds.virtual_seconds_max:
            self._give_up(OutOfTime, f"the next timer is at {when} s of at most {self._bounds.virtual_seconds_max}")
        self.now = when
        self._moved_at_step = self.steps
        for entry in self._timers.due(when):
            self._admit(entry)

    def _give_up(self, kind: type[SimulationStopped], why: str) -> NoReturn:
        living = [node for node in (self.home, *self.nodes) if not node.dead]
        waiting = [
            f"  {gate.task.get_name()}{' (paused)' if node.is_paused else ''} at {standing(gate.coroutine)}"
            for node in living
            for gate in node.gates
        ]
        more = len(waiting) - _WAITING_SHOWN
        shown = waiting[:_WAITING_SHOWN] + ([f"  and {more} more"] if more > 0 else [])
        text = "\n".join([f"{why}; at {self.now:.6f} s, after {self.steps} steps, these wait:", *shown])
        # Often somebody failed before, nobody looked, and the others wait for what that one would have done.
        gc.collect(0)
        raise kind(text) from self._unheard()

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
        """End the world. What is still suspended, of the dead and the living, is let go here, and can do nothing."""
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
        dispose([gate for node in everybody for gate in node.gates], self)

    # Scheduling

    @override
    def time(self) -> float:
        return self.now

    @override
    def call_soon(self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None) -> Entry:
        context = copy_context() if context is None else context
        entry = Entry(context.get(NODE, self.home), context, callback, args, self.now)
        self._admit(entry)
        return entry

    @override
    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> Entry:
        """The same as `call_soon`, since there is one thread; from another one it is refused."""
        if threading.get_ident() != self._thread:
            raise NotSimulated("a thread spoke to the simulated loop: what needs a thread has to be a port")
        return self.call_soon(callback, *args, context=context)

    @override
    def call_later(
        self, delay: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> Entry:
        return self.call_at(self.now + delay, callback, *args, context=context)

    @override
    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> Entry:
        context = copy_context() if context is None else context
        entry = Entry(context.get(NODE, self.home), context, callback, args, when)
        if when > self.now:
            self._timers.add(entry, 0.0 if self._interleaving is Interleaving.ARRIVAL else self._random())
        else:
            self._admit(entry)
        return entry

    @override
    def create_future(self) -> SimulatedFuture[Any]:
        return SimulatedFuture(self)

    @override
    def create_task(
        self,
        coro: Generator[Any, None, T] | Coroutine[Any, Any, T],
        *,
        name: str | None = None,
        context: Context | None = None,
        **wishes: object,
    ) -> SimulatedTask[T]:
        assert isinstance(coro, Coroutine), f"{coro!r} is no coroutine"
        if wishes.get("eager_start"):
            raise NotSimulated("tasks begin when the loop says so, never at once")
        context = copy_context() if context is None else context
        node = context.get(NODE, self.home)
        if node.dead:
            coro.close()
            raise NodeIsDead(repr(node))
        gate = Gate(node, coro)
        made = SimulatedTask[T](gate, self, node, name or node.next_label(), context)
        gate.task = made
        return made

    @override
    def run_in_executor(self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts) -> NoReturn:  # noqa: ARG002
        raise NotSimulated(f"a thread for {named(func)}: what needs a thread has to be a port")

    # Failures

    @override
    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """A failure that nobody has heard. Those of the dead are not worth hearing."""
        about = context.get("task") or context.get("future")
        if self._is_closed or (isinstance(about, SimulatedTask | SimulatedFuture) and about.node.dead):
            return
        if self._exception_handler is None:
            self.unheard.append(context)
        else:
            self._exception_handler(self, context)

    def raise_unheard(self) -> None:
        if unheard := self._unheard():
            raise unheard

    def _unheard(self) -> Unheard | None:
        failures = [failure(told) for told in self.unheard]
        return Unheard("nobody looked at these failures", failures) if failures else None

    @override
    def set_exception_handler(self, handler: Handler | None) -> None:
        self._exception_handler = handler

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
            node.start(_end(generator))


async def _end(generator: AsyncGenerator[Any, Any]) -> None:
    await generator.aclose()
