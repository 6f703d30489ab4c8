"""A world: engines, their store, a provider, sources and operators, all from one seed.

At first everything goes wrong that the seed wants. Then it heals: whatever is down comes back, operators clean up, and
the world has to come to rest within a bounded time, with nothing left over.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

import procession
from procession.core.errors import StoreError
from procession.testing.simulation.audit_end import LastLook
from procession.testing.simulation.auditor import Auditor
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import NodeClock, sleep
from procession.testing.simulation.crashes import Crash, CrashPlan, Odds
from procession.testing.simulation.embedded import Embedded
from procession.testing.simulation.faults import StoreFaults
from procession.testing.simulation.final_state import FinalState
from procession.testing.simulation.handlers import Script
from procession.testing.simulation.history import History, Violation
from procession.testing.simulation.loop import SimulatedLoop, run
from procession.testing.simulation.node_engine import NodeEngine, NodeWorld
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.operators import Operators
from procession.testing.simulation.ports_of_node import SimulatedVault
from procession.testing.simulation.provider import Provider
from procession.testing.simulation.rare import Rare, RareCounts
from procession.testing.simulation.servers import MemoryServer, Server
from procession.testing.simulation.shape import Shape, StoreKind, draw_shape
from procession.testing.simulation.sites import AwaitSites
from procession.testing.simulation.sources import Sources
from procession.testing.simulation.sqlite_server import Commits, SqliteServer
from procession.testing.simulation.stops import Bounds, SimulationStopped, Unheard
from procession.testing.simulation.store_proxy import DirectoryProxy, StoreProxy
from procession.testing.simulation.wire import SimulatedWire
from procession.testing.simulation.workload import Workload, draw_workload

REST_WITHIN: Final = 240.0
"""Seconds of virtual time that a healed world has to come to rest: the longest backoff that troubles leave behind, and
more."""
STUCK_FOR: Final = 14.0
"""A ready lane that nobody takes for so long, while nothing else of its tenant moves, is an orphan (L2, L4)."""
_SOURCES_WITHIN: Final = 400.0
_BOUNDS: Final = Bounds(virtual_seconds_max=2_000, steps_max=3_000_000, steps_at_once_max=50_000)
_CLEAN_UP_EACH: Final = 1.5


@dataclass(slots=True, kw_only=True)
class Played:
    """What became of one seed."""

    seed: int
    events: int
    violation: Violation | None
    excerpt: list[str]
    rare: RareCounts
    plan: CrashPlan
    steps: int
    history: list[str] = field(default_factory=list)
    """All of it, if it was asked for."""


def sites() -> AwaitSites:
    """Where an engine can die: every await of the shipped code that runs in a simulated world.

    Left out is what stands at sockets and threads, which a simulated world does not have: the HTTP server (the worlds
    enter at its application), the outbound wire and the thread pool. Real processes are killed there.
    """
    house = Path(procession.__file__).parent
    folders = [house / name for name in ("ingress", "lanes", "outbox", "upkeep", "runtime", "storage/sqlite")]
    outside = {
        house / name
        for name in (
            *("ingress/server.py", "ingress/connection.py", "ingress/exchange.py", "ingress/house.py"),
            *("ingress/service.py", "runtime/threads.py"),
        )
    }
    sources = [
        source
        for folder in folders
        for source in sorted(folder.rglob("*.py"))
        if source not in outside and "wire" not in source.relative_to(house).parts
    ]
    return AwaitSites.of(*sources)


def play(
    seed: int, places: AwaitSites, *, store: StoreKind | None = None, whole: bool = False, scratch: Path | None = None
) -> Played:
    """Play one seed to its end, or to its first violation."""
    chance = SeededChance(seed)
    shape = draw_shape(seed, chance.of("shape"), store)
    workload = draw_workload(shape, chance.of("workload"))
    folder = Path(tempfile.mkdtemp(prefix="procession-world-", dir=scratch or _memory()))
    worlds: list[World] = []

    async def main(loop: SimulatedLoop) -> None:
        world = World(loop, shape, workload, chance, places, folder)
        worlds.append(world)
        await world.play()

    try:
        run(seed, main, bounds=_BOUNDS)
    except (SimulationStopped, Unheard) as stopped:
        worlds[0].history.fail("E", f"{type(stopped).__name__}: {_told(stopped)}")
    finally:
        for world in worlds:
            world.server.close()
        shutil.rmtree(folder, ignore_errors=True)
    return worlds[0].report(whole=whole)


def _memory() -> Path | None:
    """Files of simulated worlds need no disk: what is durable is what the simulation says."""
    shared = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    return shared if shared.is_dir() else None


def _told(stopped: BaseException) -> str:
    if isinstance(stopped, BaseExceptionGroup):
        return "; ".join(_told(each) for each in stopped.exceptions)
    return f"{type(stopped).__name__}: {stopped}"


class World:
    def __init__(
        self,
        loop: SimulatedLoop,
        shape: Shape,
        workload: Workload,
        chance: SeededChance,
        places: AwaitSites,
        folder: Path,
    ) -> None:
        self.history = History(lambda: loop.now)
        self.auditor = Auditor(self.history, shape, workload)
        self._loop = loop
        self._shape = shape
        self._workload = workload
        self._chance = chance.of("world")
        self._seed_chance = chance
        self._plan = CrashPlan(chance.of("crashes"), places, Odds(crashes_max=10), self._crashed)
        self._faults = StoreFaults(chance.of("faults"), shape.trouble)
        self._vault = SimulatedVault(shape.secrets)
        self._script = Script(self.auditor)
        self._engines: dict[str, NodeEngine] = {}
        self._clocks = self._make_clocks()
        self._heal_server: list[Callable[[], None]] = []
        self.server = self._make_server(folder)
        self.auditor.store_now = self.server.now
        self._provider = Provider(loop, chance.of("provider"), self.auditor, shape.trouble, self._tell_status)
        self._sources = Sources(loop, shape, workload, chance.of("sources"), self.auditor, self._pick)
        self._operators = Operators(self.server, self._provider, chance.of("operators"), self.auditor, shape)
        self._is_healed = False
        self._violated = loop.create_future()
        self.history.on_violation = self._stop

    # --- its parts ---

    def _make_clocks(self) -> dict[str, NodeClock]:
        chance = self._chance
        return {
            f"n{number}": NodeClock(
                self._loop,
                offset=timedelta(seconds=chance.uniform(-5, 5)),
                booted_at=-chance.uniform(0, 10_000),
            )
            for number in range(1, self._shape.nodes + 1)
        }

    def _make_server(self, folder: Path) -> Server:
        chance, trouble = self._seed_chance.of("store"), self._shape.trouble
        clock = NodeClock(self._loop)
        match self._shape.store:
            case StoreKind.MEMORY:
                return MemoryServer(clock, self.auditor)
            case StoreKind.SQLITE:
                commits = Commits(chance, trouble / 3, self.auditor, self.auditor.seen, None)
                self._heal_server.append(lambda: setattr(commits, "is_healed", True))
                return SqliteServer(folder, clock, chance, self._loop, commits)
            case StoreKind.EMBEDDED:
                embedded = Embedded(folder, self._clocks["n1"], chance, trouble, self.auditor, self.auditor.seen)
                self._heal_server.append(embedded.heal)
                return embedded

    def _tell_status(self, tenant: str, channel: str, told: dict[str, str]) -> None:
        self._sources.tell_status(tenant, channel, told)  # type: ignore[arg-type]  # a tenant of the shape

    def _pick(self) -> NodeEngine | None:
        there = [engine for engine in self._engines.values() if engine.is_ready and not engine.node.dead]
        return self._chance.pick(there) if there else None

    def _crashed(self, crash: Crash) -> None:
        if crash.in_recovery:
            self.auditor.seen(Rare.CRASH_IN_RECOVERY)
        self.history.note(f"{crash.node}#{crash.life}", "dies", (), f"at {crash.sites[-1].shown}")

    def _stop(self) -> None:
        if not self._violated.done():
            self._violated.set_result(None)

    # --- its story ---

    async def play(self) -> None:
        await self._set_up()
        story = self._loop.home.spawn(self._story())
        await asyncio.wait({story, self._violated}, return_when=asyncio.FIRST_COMPLETED)
        if story.done():
            story.result()

    async def _story(self) -> None:
        for name in self._clocks:
            self._loop.home.start(self._keep_alive(name))
        self._loop.home.start(self._make_trouble())
        self._loop.home.start(self._operators.meddle())
        sources = self._loop.home.spawn(self._sources.post_all())
        bound = self._loop.home.spawn(sleep(_SOURCES_WITHIN))
        await asyncio.wait({sources, bound}, return_when=asyncio.FIRST_COMPLETED)
        if sources.done():
            sources.result()
            await sleep(self._chance.uniform(0, 6))
        self._heal()
        if not sources.done():
            await sources
        await self._come_to_rest()

    async def _set_up(self) -> None:
        """Whoever does it does so again when the disk was full, or the commit failed."""
        while True:
            try:
                await self._configure()
            except StoreError:
                continue
            return

    async def _configure(self) -> None:
        server = self.server
        if not isinstance(server, Embedded):
            await server.directory.change(self._shape.snapshot, actor="setup")
            return
        setup = self._loop.node("setup")
        server.begin_life(setup, self._loop)
        try:
            await setup.spawn(server.directory.change(self._shape.snapshot, actor="setup"))
        finally:
            setup.crash()
            server.end_life()

    # --- nodes ---

    async def _keep_alive(self, name: str) -> None:
        """A supervisor: starts it, and starts it again."""
        chance = self._seed_chance.of(f"node {name}")
        while True:
            node = self._loop.node(name, self._plan)
            engine = self._begin_life(node, chance)
            await node.death()
            self.auditor.node_died(node, "" if node.why is None else repr(node.why))
            engine.hang_up()
            if isinstance(self.server, Embedded):
                self.server.end_life()
            if not self._is_healed:
                await sleep(chance.uniform(0.02, 1.0) if chance.happens(0.6) else chance.uniform(1, 7))
            else:
                await sleep(0.05)

    def _begin_life(self, node: Node, chance: SeededChance) -> NodeEngine:
        self.auditor.node_starts(node)
        server = self.server
        life = chance.of(f"life {node.life}")
        embedded = isinstance(server, Embedded)
        store = server.begin_life(node, self._loop) if isinstance(server, Embedded) else None
        world = NodeWorld(
            shape=self._shape,
            clock=self._clocks[node.name],
            chance=life,
            store=store or StoreProxy(node, server, self._faults, self.auditor),
            directory=server.directory if embedded else DirectoryProxy(node, server, self._faults),
            wire=SimulatedWire(node, self._provider, self.auditor, life.of("wire")),
            script=self._script,
            auditor=self.auditor,
            vault=self._vault,
        )
        engine = node.run(NodeEngine, node, world)
        self._engines[node.name] = engine
        node.start(engine.live())
        return engine

    # --- trouble ---

    async def _make_trouble(self) -> None:
        """What happens to whole machines: standing still, clocks that jump, outages, calm restarts."""
        chance = self._seed_chance.of("trouble")
        troubles = (self._stand_still, self._stand_still, self._jump, self._go_away, self._restart_calmly)
        while True:
            await sleep(chance.uniform(1, 12) / self._shape.trouble**0.5)
            if self._is_healed:
                return
            await chance.pick(troubles)(chance)

    def _living(self, chance: SeededChance) -> NodeEngine | None:
        there = [engine for engine in self._engines.values() if not engine.node.dead]
        return chance.pick(there) if there else None

    async def _stand_still(self, chance: SeededChance) -> None:
        engine = self._living(chance)
        if engine is not None:
            seconds = chance.pick((0.5, 0.9, 1.1, 2.5)) * self._shape.lease_ttl.total_seconds()
            self.history.note(repr(engine.node), "stands still", (), f"for {seconds:.1f} s")
            engine.node.pause(timedelta(seconds=seconds))

    async def _jump(self, chance: SeededChance) -> None:
        name = chance.pick(sorted(self._clocks))
        self._clocks[name].jump(timedelta(seconds=chance.pick((-600, -5, 5, 600, 7200))))

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

    def _heal(self) -> None:
        self.history.note("world", "heals", ())
        self._is_healed = self._faults.is_healed = self._provider.is_healed = True
        self._script.is_healed = self._sources.is_healed = self._operators.is_over = True
        self._plan.is_over = True
        self.server.is_away = False
        for heal in self._heal_server:
            heal()
        for engine in self._engines.values():
            while engine.node.is_paused:
                engine.node.resume()

    async def _come_to_rest(self) -> None:
        healed_at = self._loop.now
        stuck: dict[tuple[str, str, str], tuple[object, float]] = {}
        while True:
            await sleep(_CLEAN_UP_EACH)
            await self._operators.clean_up()
            final = await self.server.final()
            if not final.waits and self._sources.is_quiet:
                LastLook(self.auditor, self._workload, final).check()
                return
            self._check_orphans(final, stuck, healed_at)
            if self._loop.now - healed_at > REST_WITHIN:
                lanes = [lane.lane for lane in final.lanes if lane.phase != "idle"]
                self.history.fail("L4", f"it does not come to rest: {'; '.join(final.waits[:6])}", *lanes[:3])
                return

    def _check_orphans(
        self, final: FinalState, stuck: dict[tuple[str, str, str], tuple[object, float]], healed_at: float
    ) -> None:
        """L2: dead workers hold nothing. L4: what is ready is taken."""
        alive = {repr(engine.node) for engine in self._engines.values() if not engine.node.dead}
        now = self._loop.now
        takeover = self._shape.lease_ttl.total_seconds() + 4
        moves = tuple(sorted((lane.tenant, lane.side, lane.lane, lane.epoch, lane.cursor) for lane in final.lanes))
        for lane in final.lanes:
            if lane.phase == "held" and lane.worker not in alive and now - healed_at > takeover:
                self.history.fail("L2", f"its {lane.side} are held by {lane.worker}, which is dead", lane.lane)
            key = (lane.tenant, lane.lane, lane.side)
            if lane.phase != "ready":
                stuck.pop(key, None)
                continue
            own = tuple(move for move in moves if move[0] == lane.tenant and move[1] == lane.side)
            before = stuck.get(key)
            if before is None or before[0] != own:
                stuck[key] = (own, now)
            elif now - before[1] > STUCK_FOR:
                self.history.fail("L4", f"its {lane.side} are ready, and nobody takes them", lane.lane)

    # --- its end ---

    def report(self, *, whole: bool) -> Played:
        violation = self.history.violation
        return Played(
            seed=self._shape.seed,
            events=self.auditor.intake.accepted,
            violation=violation,
            excerpt=self.history.excerpt(violation.about) if violation is not None else [],
            rare=self.auditor.rare,
            plan=self._plan,
            steps=self._loop.steps,
            history=self.history.whole() if whole else [],
        )
