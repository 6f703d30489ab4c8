"""The machines of a world: each runs one engine process, is started again when it dies, and has troubles of its own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from procession.ports.directory import Directory
from procession.ports.store import Store
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import NodeClock, sleep
from procession.testing.simulation.embedded import Embedded
from procession.testing.simulation.faults import StoreFaults
from procession.testing.simulation.loop import SimulatedLoop
from procession.testing.simulation.node_engine import NodeEngine
from procession.testing.simulation.nodes import Node, Reaper
from procession.testing.simulation.scribe import Scribe
from procession.testing.simulation.servers import Server
from procession.testing.simulation.store_proxy import DirectoryProxy, StoreProxy


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """What one life of a node is handed: its clock, its chance, and its ways to the store."""

    node: Node
    clock: NodeClock
    chance: SeededChance
    store: Store
    directory: Directory


@dataclass(slots=True, kw_only=True)
class Machines:
    loop: SimulatedLoop
    chance: SeededChance
    """The world's own: what belongs to a node has a stream of its name."""
    trouble: float
    lease_ttl: timedelta
    clocks: dict[str, NodeClock]
    server: Server
    faults: StoreFaults
    scribe: Scribe
    reaper: Reaper
    make: Callable[[Life], NodeEngine]
    is_healed: bool = False
    is_off: bool = False
    """Nobody is started again."""
    engines: dict[str, NodeEngine] = field(default_factory=dict[str, NodeEngine])

    def start(self) -> None:
        for name in self.clocks:
            self.loop.home.start(self._keep_alive(name))
        self.loop.home.start(self._make_trouble())

    def pick(self, chance: SeededChance) -> NodeEngine | None:
        """One that can be reached just now."""
        there = [engine for engine in self.engines.values() if engine.is_ready and not engine.node.dead]
        return chance.pick(there) if there else None

    @property
    def alive(self) -> set[str]:
        return {repr(engine.node) for engine in self.engines.values() if not engine.node.dead}

    # --- lives ---

    async def _keep_alive(self, name: str) -> None:
        """A supervisor: starts it, and starts it again."""
        chance = self.chance.of(f"node {name}")
        while True:
            node = self.loop.node(name, self.reaper)
            engine = self._begin_life(node, chance)
            await node.death()
            self.scribe.node_died(node, "" if node.why is None else repr(node.why))
            engine.hang_up()
            if isinstance(self.server, Embedded):
                self.server.end_life()
            if not self.is_healed:
                await sleep(chance.uniform(0.02, 1.0) if chance.happens(0.6) else chance.uniform(1, 7))
            else:
                await sleep(0.05)
            while self.is_off:
                await sleep(_LOOK_AGAIN)

    def _begin_life(self, node: Node, chance: SeededChance) -> NodeEngine:
        self.scribe.node_starts(node)
        server = self.server
        embedded = isinstance(server, Embedded)
        store = server.begin_life(node, self.loop) if isinstance(server, Embedded) else None
        life = Life(
            node=node,
            clock=self.clocks[node.name],
            chance=chance.of(f"life {node.life}"),
            store=store or StoreProxy(node, server, self.faults, self.scribe),
            directory=server.directory if embedded else DirectoryProxy(node, server, self.faults),
        )
        engine = node.run(self.make, life)
        self.engines[node.name] = engine
        node.start(engine.live())
        return engine

    # --- trouble ---

    async def _make_trouble(self) -> None:
        """What happens to whole machines: standing still, clocks that jump, outages, calm restarts."""
        chance = self.chance.of("trouble")
        troubles = (self._stand_still, self._stand_still, self._jump, self._go_away, self._restart_calmly)
        while True:
            await sleep(chance.uniform(1, 12) / self.trouble**0.5)
            if self.is_healed:
                return
            await chance.pick(troubles)(chance)

    def _living(self, chance: SeededChance) -> NodeEngine | None:
        there = [engine for engine in self.engines.values() if not engine.node.dead]
        return chance.pick(there) if there else None

    async def _stand_still(self, chance: SeededChance) -> None:
        engine = self._living(chance)
        if engine is not None:
            seconds = chance.pick((0.5, 0.9, 1.1, 2.5)) * self.lease_ttl.total_seconds()
            self.scribe.note(repr(engine.node), "stands still", (), f"for {seconds:.1f} s")
            engine.node.pause(timedelta(seconds=seconds))

    async def _jump(self, chance: SeededChance) -> None:
        name = chance.pick(sorted(self.clocks))
        self.clocks[name].jump(timedelta(seconds=chance.pick((-600, -5, 5, 600, 7200))))

    async def _go_away(self, chance: SeededChance) -> None:
        self.server.is_away = True
        await sleep(chance.uniform(0.2, 6))
        if chance.happens(0.3):
            self.server.restart()
        self.server.is_away = False

    async def _restart_calmly(self, chance: SeededChance) -> None:
        engine = self._living(chance)
        if engine is not None and engine.is_ready:
            engine.node.start(engine.stop(at_once=chance.happens(0.4)))

    # --- healing ---

    def heal(self) -> None:
        self.is_healed = self.faults.is_healed = True
        self.server.is_away = False
        for engine in self.engines.values():
            while engine.node.is_paused:
                engine.node.resume()

    def switch_off(self) -> None:
        """All at once, until `is_off` is taken back: a data centre without power."""
        self.is_off = True
        for engine in self.engines.values():
            if not engine.node.dead:
                engine.node.crash()


_LOOK_AGAIN: Final = 600.0


def clocks_of(nodes: int, loop: SimulatedLoop, chance: SeededChance) -> dict[str, NodeClock]:
    """Of `nodes` machines; each is wrong in its own way."""
    return {
        f"n{number}": NodeClock(
            loop, offset=timedelta(seconds=chance.uniform(-5, 5)), booted_at=-chance.uniform(0, 10_000)
        )
        for number in range(1, nodes + 1)
    }
