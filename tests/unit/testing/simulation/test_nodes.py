"""Nodes: what belongs to one, how it dies, and that nothing of the dead moves."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

import pytest

from procession.testing.simulation.clock import sleep
from procession.testing.simulation.gate import NodeIsDead
from procession.testing.simulation.loop import SimulatedLoop, run
from procession.testing.simulation.nodes import NODE, Node, outside
from procession.testing.simulation.stops import Deadlock


class Store:
    """A port that writes down who called it."""

    def __init__(self) -> None:
        self.written: list[str] = []

    def write(self, what: str) -> None:
        self.written.append(what)

    async def settle(self, what: str) -> str:
        await sleep(0.5)
        self.written.append(what)
        await sleep(0.5)
        return f"{what} settled"

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator["Store"]:
        self.written.append("begin")
        yield self
        self.written.append("commit")


def test_all_that_begins_below_a_node_is_the_nodes() -> None:
    seen: list[Node | None] = []

    def note(*_: object) -> None:
        seen.append(NODE.get(None))

    async def child() -> None:
        note()
        await sleep(1)
        note()

    async def engine() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(note)
        loop.call_later(1, note)
        async with asyncio.TaskGroup() as group:
            group.create_task(child()).add_done_callback(note)
        await sleep(1)

    async def world(loop: SimulatedLoop) -> Node:
        node = loop.node("worker")
        await node.spawn(engine())
        assert NODE.get(None) is None
        return node

    node = run(1, world)

    assert seen == [node] * 5


def test_nothing_of_a_dead_node_runs() -> None:
    said: list[str] = []

    async def child(how: str) -> None:
        try:
            await sleep(2)
            said.append(f"{how} went on")
        except BaseException:
            said.append(f"{how} was told")
            raise
        finally:
            said.append(f"{how} cleaned up")

    async def engine() -> None:
        asyncio.get_running_loop().call_later(2, said.append, "timer")
        async with asyncio.TaskGroup() as group, asyncio.timeout(2):
            group.create_task(child("task"))
            group.create_task(child("other"))
            await asyncio.gather(child("gathered"), asyncio.shield(child("shielded")))

    async def world(loop: SimulatedLoop) -> list[str]:
        node = loop.node("worker")
        node.start(engine())
        await sleep(1)
        node.crash()
        gc.collect()
        await sleep(10)
        return list(said)

    assert run(1, world) == []


def test_what_was_ready_when_the_node_died_does_not_run() -> None:
    said: list[str] = []

    async def world(loop: SimulatedLoop) -> None:
        node = loop.node("worker")
        node.run(loop.call_soon, said.append, "callback")
        node.start(speaks(said))
        node.crash()
        await sleep(1)

    run(1, world)

    assert said == []


async def speaks(said: list[str]) -> None:
    said.append("task")


def test_the_answer_of_another_does_not_wake_the_dead() -> None:
    said: list[str] = []

    async def engine(answer: asyncio.Future[None]) -> None:
        await answer
        said.append("woken")

    async def world(loop: SimulatedLoop) -> None:
        node = loop.node("worker")
        answer = loop.create_future()
        node.start(engine(answer))
        await sleep(1)
        node.crash()
        answer.set_result(None)
        await sleep(1)

    run(1, world)

    assert said == []


def test_the_world_may_cancel_a_dead_nodes_task_in_vain() -> None:
    said: list[str] = []

    async def engine() -> None:
        try:
            await sleep(5)
        finally:
            said.append("cleaned up")

    async def world(loop: SimulatedLoop) -> None:
        node = loop.node("worker")
        running = node.spawn(engine())
        await sleep(1)
        node.crash()
        running.cancel()
        await sleep(10)
        assert not running.done()
        said.clear()
        assert said == []

    run(1, world)


@pytest.mark.filterwarnings("error")
def test_the_dead_leave_no_warnings(recwarn: pytest.WarningsRecorder, caplog: pytest.LogCaptureFixture) -> None:
    async def never_begun() -> None:
        await sleep(1)

    async def fails() -> None:
        raise KeyError("lost with the node")

    async def refuses_to_end() -> None:
        while True:
            try:
                await sleep(5)
            except GeneratorExit:
                continue

    async def awaits_at_its_end() -> None:
        try:
            await sleep(5)
        finally:
            await asyncio.gather(never_begun(), never_begun())

    async def engine(node: Node) -> None:
        running = [asyncio.ensure_future(each()) for each in (fails, refuses_to_end, awaits_at_its_end, never_begun)]
        await sleep(0.1)
        node.crash()
        running.append(asyncio.ensure_future(never_begun()))

    async def world(loop: SimulatedLoop) -> None:
        node = loop.node("worker")
        node.start(engine(node))
        await sleep(1)

    run(1, world)
    gc.collect()

    assert not recwarn.list
    assert not caplog.records


def test_a_failure_of_the_dead_is_not_held_against_the_run() -> None:
    async def fails() -> None:
        raise KeyError("lost with the node")

    async def world(loop: SimulatedLoop) -> None:
        node = loop.node("worker")
        node.start(fails())
        await sleep(1)
        node.crash()

    run(1, world)


def test_a_dead_nodes_port_does_nothing() -> None:
    store = Store()

    async def world(loop: SimulatedLoop) -> Store:
        node = loop.node("worker")
        port = node.guard(store)
        port.write("alive")
        node.crash()
        with pytest.raises(NodeIsDead):
            port.write("dead")
        with pytest.raises(NodeIsDead):
            await port.settle("dead")
        return port

    run(1, world)

    assert store.written == ["alive"]


def test_what_the_dead_do_when_they_are_let_go_has_no_effect() -> None:
    store = Store()
    cleaned: list[bool] = []

    async def engine(port: Store) -> None:
        try:
            async with port.transaction() as inner:
                inner.write("within")
                await sleep(5)
        finally:
            cleaned.append(True)
            port.write("clean-up")

    async def world(loop: SimulatedLoop) -> None:
        node = loop.node("worker")
        node.start(engine(node.guard(store)))
        await sleep(1)
        node.crash()

    run(1, world)

    assert cleaned, "the test would show nothing if Python had not closed the coroutine"
    assert store.written == ["begin", "within"]


def test_a_call_of_a_port_dies_with_the_node_between_its_awaits() -> None:
    store = Store()

    async def world(loop: SimulatedLoop) -> None:
        for name, seconds in (("early", 0.2), ("late", 0.7)):
            node = loop.node(name)
            node.start(node.guard(store).settle(name))
            await sleep(seconds)
            node.crash()

    run(1, world)

    assert store.written == ["late"]


def test_what_was_asked_of_the_outside_is_done_although_the_node_died() -> None:
    store = Store()

    async def world(loop: SimulatedLoop) -> None:
        node = loop.node("worker")
        node.start(outside(store.settle("sent")))
        await sleep(0.2)
        node.crash()
        await sleep(5)

    run(1, world)

    assert store.written == ["sent"]


def test_the_outside_answers_and_fails_as_if_it_were_called() -> None:
    async def fails() -> None:
        await sleep(1)
        raise KeyError("refused")

    async def engine() -> str:
        with pytest.raises(KeyError, match="refused"):
            await outside(fails())
        return await outside(Store().settle("it"))

    async def world(loop: SimulatedLoop) -> str:
        return await loop.node("worker").spawn(engine())

    assert run(1, world) == "it settled"


def test_a_node_may_end_itself_in_the_middle_of_a_step() -> None:
    said: list[str] = []

    async def engine(node: Node, end: Callable[[Node], None]) -> None:
        said.append("before")
        end(node)
        said.append("after")

    def leave(_: Node) -> None:
        raise SystemExit(3)

    async def world(loop: SimulatedLoop) -> list[BaseException | None]:
        nodes = []
        for end in (Node.halt, leave):
            node = loop.node("worker")
            node.start(engine(node, end))
            await node.death()
            nodes.append(node)
        return [node.why for node in nodes]

    halted, left = run(1, world)

    assert said == ["before", "before"]
    assert halted is None
    assert isinstance(left, SystemExit)


def test_a_node_restarts_as_its_next_life() -> None:
    async def engine(node: Node, lives: list[tuple[int, float]]) -> None:
        lives.append((node.life, node.born_at))
        await sleep(100)

    async def world(loop: SimulatedLoop) -> list[tuple[int, float]]:
        lives: list[tuple[int, float]] = []

        async def supervisor() -> None:
            # A node that starts nodes: they do not become a part of it.
            while True:
                node = loop.node("worker")
                node.start(engine(node, lives))
                await node.death()
                await sleep(1)

        above = loop.node("supervisor")
        above.start(supervisor())
        for _ in range(3):
            await sleep(5)
            loop.nodes[-1].crash()
        above.crash()
        await sleep(5)
        return lives

    assert run(1, world) == [(1, 0.0), (2, 6.0), (3, 11.0)]


def test_two_lives_of_a_node_never_overlap() -> None:
    async def world(loop: SimulatedLoop) -> None:
        loop.node("worker")
        with pytest.raises(AssertionError, match="still alive"):
            loop.node("worker")

    run(1, world)


def test_the_death_of_a_node_does_not_touch_what_it_started_elsewhere() -> None:
    said: list[float] = []

    async def neighbour(loop: SimulatedLoop) -> None:
        await sleep(5)
        said.append(loop.now)

    async def engine(other: Node) -> None:
        other.start(neighbour(other.loop))
        await sleep(100)

    async def world(loop: SimulatedLoop) -> None:
        node, other = loop.node("one"), loop.node("other")
        node.start(engine(other))
        await sleep(1)
        node.crash()
        await sleep(10)

    run(1, world)

    assert said == [5.0]


def test_a_paused_nodes_timers_fire_late_and_all_at_once() -> None:
    async def world(loop: SimulatedLoop) -> list[tuple[str, float]]:
        said: list[tuple[str, float]] = []

        async def ticks(name: str, seconds: float) -> None:
            await sleep(seconds)
            said.append((name, loop.now))

        node, other = loop.node("paused"), loop.node("other")
        for seconds in (1, 2, 3, 9):
            node.start(ticks(f"paused {seconds}", seconds))
        other.start(ticks("other", 2.5))
        await sleep(1.5)
        node.pause(timedelta(seconds=4))
        await sleep(10)
        return said

    said = run(1, world)

    assert said[:2] == [("paused 1", 1.0), ("other", 2.5)]
    assert sorted(said[2:4]) == [("paused 2", 5.5), ("paused 3", 5.5)]
    assert said[4:] == [("paused 9", 9.0)]


def test_pauses_overlap_and_the_last_one_ends_them() -> None:
    async def world(loop: SimulatedLoop) -> float:
        node = loop.node("paused")
        running = node.spawn(sleep(1))
        await sleep(0.5)
        node.pause(timedelta(seconds=5))
        node.pause(timedelta(seconds=3))
        await running
        return loop.now

    assert run(1, world) == 5.5


def test_a_node_that_pauses_itself_wakes_again() -> None:
    async def engine(node: Node) -> float:
        node.pause(timedelta(seconds=5))
        await asyncio.sleep(0)
        return node.loop.now

    async def world(loop: SimulatedLoop) -> float:
        node = loop.node("paused")
        return await node.spawn(engine(node))

    assert run(1, world) == 5.0


def test_a_paused_node_can_be_killed_and_does_not_wake() -> None:
    said: list[str] = []

    async def world(loop: SimulatedLoop) -> None:
        node = loop.node("paused")
        node.start(speaks(said))
        node.pause(timedelta(seconds=5))
        await sleep(1)
        node.crash()
        await sleep(10)

    run(1, world)

    assert said == []


def test_a_node_that_is_paused_for_ever_is_a_deadlock() -> None:
    async def world(loop: SimulatedLoop) -> None:
        node = loop.node("paused")
        node.pause()
        await node.spawn(sleep(1))

    with pytest.raises(Deadlock, match=r"\(paused\)"):
        run(1, world)


def test_a_generator_of_the_dead_is_not_closed() -> None:
    said: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            await sleep(5)
            yield 2
        finally:
            said.append("closed")

    async def engine(held: list[AsyncIterator[int]]) -> None:
        held.append(numbers())
        await anext(held[0])
        await sleep(100)

    async def world(loop: SimulatedLoop) -> None:
        held: list[AsyncIterator[int]] = []
        node = loop.node("worker")
        node.start(engine(held))
        await sleep(1)
        node.crash()
        held.clear()
        await sleep(10)

    run(1, world)

    assert said == []


def test_a_node_that_dies_within_a_call_of_its_port_does_not_go_on() -> None:
    said: list[str] = []

    class Deadly:
        def __init__(self, node: Node) -> None:
            self.node = node

        def call(self) -> None:
            self.node.crash()

    async def engine(port: Deadly) -> None:
        port.call()
        said.append("went on")

    async def world(loop: SimulatedLoop) -> None:
        node = loop.node("worker")
        node.start(engine(node.guard(Deadly(node))))
        await node.death()

    run(1, world)

    assert said == []


def test_a_guarded_port_is_what_it_guards() -> None:
    class Numbers:
        def __init__(self) -> None:
            self.left = [1, 2]

        def __aiter__(self) -> "Numbers":
            return self

        async def __anext__(self) -> int:
            if not self.left:
                raise StopAsyncIteration
            return self.left.pop(0)

    async def engine(port: Store, numbers: Numbers) -> list[object]:
        port.write("a")
        async with port.transaction() as inner:
            inner.write("b")
        found: list[object] = [number async for number in numbers]
        return [*found, await port.settle("c")]

    async def world(loop: SimulatedLoop) -> list[object]:
        node = loop.node("worker")
        return await node.spawn(engine(node.guard(store), node.guard(Numbers())))

    store = Store()

    assert run(1, world) == [1, 2, "c settled"]
    assert store.written == ["a", "begin", "b", "commit", "c"]


class Every:
    """Kills at the n-th await."""

    def __init__(self, nth: int) -> None:
        self.left = nth

    def strikes(self, node: Node, suspended: Coroutine[Any, Any, Any]) -> bool:
        self.left -= 1
        return self.left == 0


def test_a_node_can_die_at_any_of_its_awaits() -> None:
    async def engine(store: Store) -> None:
        for what in "abc":
            await store.settle(what)

    def dies_at(nth: int) -> tuple[list[str], bool]:
        store = Store()

        async def world(loop: SimulatedLoop) -> bool:
            node = loop.node("worker", Every(nth))
            node.start(engine(node.guard(store)))
            await sleep(10)
            return node.dead

        died = run(1, world)
        return store.written, died

    assert [dies_at(nth) for nth in range(1, 8)] == [
        ([], True),
        (["a"], True),
        (["a"], True),
        (["a", "b"], True),
        (["a", "b"], True),
        (["a", "b", "c"], True),
        (["a", "b", "c"], False),
    ]
