"""Nodes: what belongs to one, how it dies, and that nothing of the dead moves."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Coroutine
from datetime import timedelta

import pytest

from procession.testing.simulation.clock import sleep
from procession.testing.simulation.loop import SimulatedLoop, run
from procession.testing.simulation.nodes import NODE, Node
from procession.testing.simulation.stops import Deadlock


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


def test_not_even_by_force_does_a_dead_nodes_task_take_a_step() -> None:
    said: list[str] = []

    async def world(loop: SimulatedLoop) -> None:
        node = loop.node("worker")
        forced = node.spawn(speaks(said)).get_coro()
        node.crash()
        assert isinstance(forced, Coroutine)
        assert forced.send(None) is None
        assert forced.throw(KeyError()) is None

    run(1, world)

    assert said == []


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
