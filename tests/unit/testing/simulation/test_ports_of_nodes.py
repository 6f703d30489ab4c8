"""What a node may do to the world: nothing once it is dead, and at each await it may be dead."""

from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any

import pytest

from procession.testing.simulation.clock import sleep
from procession.testing.simulation.gate import NodeIsDead
from procession.testing.simulation.loop import SimulatedLoop, run
from procession.testing.simulation.nodes import Node, outside


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


def test_a_dead_nodes_port_does_nothing() -> None:
    store = Store()

    async def world(loop: SimulatedLoop) -> Store:
        node = loop.node("worker")
        port = node.guard(store)
        port.write("alive")
        write = port.write
        node.crash()
        with pytest.raises(NodeIsDead):
            write("dead")
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
