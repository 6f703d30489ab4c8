"""A world: engines, their store, a provider, sources and operators, all from one seed.

At first everything goes wrong that the seed wants. Then it heals: whatever is down comes back, operators clean up, and
the world has to come to rest within a bounded time, with nothing left over.
"""

import asyncio
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import procession
from procession.connectors.plain import PlainConnector
from procession.testing.simulation.audit_end import LastLook
from procession.testing.simulation.auditor import Auditor
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.crashes import Crash, CrashPlan, Odds
from procession.testing.simulation.faults import StoreFaults
from procession.testing.simulation.handlers import Script, app_of
from procession.testing.simulation.history import History
from procession.testing.simulation.loop import SimulatedLoop, run
from procession.testing.simulation.machines import Life, Machines, clocks_of
from procession.testing.simulation.messenger import Messenger
from procession.testing.simulation.node_engine import NodeEngine, NodeWorld
from procession.testing.simulation.operators import Operators
from procession.testing.simulation.orphans import Orphans
from procession.testing.simulation.played import Played, scratch_folder, told
from procession.testing.simulation.ports_of_node import SimulatedVault
from procession.testing.simulation.provider import Provider
from procession.testing.simulation.rare import Rare
from procession.testing.simulation.shape import Shape, StoreKind, draw_shape
from procession.testing.simulation.sites import AwaitSites
from procession.testing.simulation.sources import Sources
from procession.testing.simulation.stops import Bounds, SimulationStopped, Unheard
from procession.testing.simulation.store_of_world import configured, server_of
from procession.testing.simulation.wire import SimulatedWire
from procession.testing.simulation.workload import Workload, draw_workload

REST_WITHIN: Final = 360.0
"""Seconds of virtual time that a healed world has to come to rest: the longest backoff that troubles leave behind, and
more."""
_SOURCES_WITHIN: Final = 400.0
_BOUNDS: Final = Bounds(virtual_seconds_max=2_000, steps_max=3_000_000, steps_at_once_max=50_000)
_CLEAN_UP_EACH: Final = 1.5


def sites() -> AwaitSites:
    """Where an engine can die: every await of the shipped code that runs in a simulated world.

    Left out is what stands at sockets and threads, which a simulated world does not have: the HTTP server (the worlds
    enter at its application), the outbound wire and the thread pool. Real processes are killed there.
    """
    house = Path(procession.__file__).parent
    beside = ("storage/console.py", "storage/directory.py", "storage/secrets.py")
    folders = [house / name for name in ("ingress", "lanes", "outbox", "upkeep", "runtime", "storage/sqlite", *beside)]
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
        for source in sorted(folder.rglob("*.py") if folder.is_dir() else [folder])
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
    folder = Path(tempfile.mkdtemp(prefix="procession-world-", dir=scratch or scratch_folder()))
    worlds: list[World] = []

    async def main(loop: SimulatedLoop) -> None:
        world = World(loop, shape, workload, chance, places, folder)
        worlds.append(world)
        await world.play()

    try:
        run(seed, main, bounds=_BOUNDS)
    except (SimulationStopped, Unheard) as stopped:
        worlds[0].history.fail("E", f"{type(stopped).__name__}: {told(stopped)}")
    finally:
        for world in worlds:
            world.server.close()
        shutil.rmtree(folder, ignore_errors=True)
    return worlds[0].report(whole=whole)


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
        self._clocks = clocks_of(shape.nodes, loop, self._chance)
        self._heal_server: list[Callable[[], None]] = []
        self.server = server_of(
            shape.store, folder, loop, self._clocks["n1"], chance.of("store"), shape.trouble, self.auditor,
            self._heal_server,
        )  # fmt: skip
        self.auditor.store_now = self.server.now
        self._provider = Provider(loop, chance.of("provider"), self.auditor, shape.trouble, self._tell_status)
        self._machines = self._make_machines(chance)
        self._sources = Sources(
            loop, shape, workload, chance.of("sources"), self.auditor, lambda: self._machines.pick(self._chance)
        )
        self._operators = Operators(self.server, self._provider, chance.of("operators"), self.auditor, shape)
        self._violated = loop.create_future()
        self.history.on_violation = self._stop

    # --- its parts ---

    def _make_machines(self, chance: SeededChance) -> Machines:
        return Machines(
            loop=self._loop,
            chance=chance,
            trouble=self._shape.trouble,
            lease_ttl=self._shape.lease_ttl,
            clocks=self._clocks,
            server=self.server,
            faults=self._faults,
            scribe=self.auditor,
            reaper=self._plan,
            make=self._engine,
        )

    def _tell_status(self, tenant: str, channel: str, told: dict[str, str]) -> None:
        self._sources.tell_status(tenant, channel, told)  # type: ignore[arg-type]  # a tenant of the shape

    def _crashed(self, crash: Crash) -> None:
        if crash.in_recovery:
            self.auditor.seen(Rare.CRASH_IN_RECOVERY)
        self.history.note(f"{crash.node}#{crash.life}", "dies", (), f"at {crash.sites[-1].shown}")

    def _stop(self) -> None:
        if not self._violated.done():
            self._violated.set_result(None)

    # --- its story ---

    async def play(self) -> None:
        await configured(self.server, self._loop, self._shape.snapshot)
        story = self._loop.home.spawn(self._story())
        await asyncio.wait({story, self._violated}, return_when=asyncio.FIRST_COMPLETED)
        if story.done():
            story.result()

    async def _story(self) -> None:
        self._machines.start()
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

    # --- nodes ---

    def _engine(self, life: Life) -> NodeEngine:
        world = NodeWorld(
            shape=self._shape,
            clock=life.clock,
            chance=life.chance,
            store=life.store,
            directory=life.directory,
            wire=SimulatedWire(life.node, self._provider, self.auditor, life.chance.of("wire")),
            app=lambda node: app_of(node, self._script),
            connectors={"plain": PlainConnector(life.clock), "messenger": Messenger(life.clock)},
            scribe=self.auditor,
            vault=self._vault,
        )
        return NodeEngine(life.node, world)

    # --- healing ---

    def _heal(self) -> None:
        self.history.note("world", "heals", ())
        self._provider.is_healed = True
        self._script.is_healed = self._sources.is_healed = self._operators.is_over = True
        self._plan.is_over = True
        for heal in self._heal_server:
            heal()
        self._machines.heal()

    async def _come_to_rest(self) -> None:
        healed_at = self._loop.now
        orphans = Orphans(self.history, self._shape.lease_ttl, healed_at)
        while True:
            await sleep(_CLEAN_UP_EACH)
            await self._operators.clean_up()
            final = await self.server.final()
            if not final.waits and self._sources.is_quiet:
                LastLook(self.auditor, self._workload, final).check()
                return
            orphans.look(final, self._machines.alive, self._loop.now)
            if self._loop.now - healed_at > REST_WITHIN:
                lanes = [lane.lane for lane in final.lanes if lane.phase != "idle"]
                self.history.fail("L4", f"it does not come to rest: {'; '.join(final.waits[:6])}", *lanes[:3])
                return

    # --- its end ---

    def report(self, *, whole: bool) -> Played:
        violation = self.history.violation
        return Played(
            seed=self._shape.seed,
            events=self.auditor.intake.accepted,
            violation=violation,
            excerpt=self.history.excerpt(violation.about) if violation is not None else [],
            rare=Counter({rare.value: count for rare, count in self.auditor.rare.items()}),
            plan=self._plan,
            steps=self._loop.steps,
            history=self.history.whole() if whole else [],
        )
