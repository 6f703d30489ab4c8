"""A WhatsApp world: engines and their store, Graph, people and their handsets, all from one seed.

First people write, and everything goes wrong that the seed wants. Then it heals, and has to come to rest with every
promise kept. Then the engines are away for some days; what WhatsApp has to tell by then comes late, and may change
nothing that it should not.
"""

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from procession.connectors.whatsapp import WhatsAppConnector
from procession.core.errors import StoreError
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.crashes import Crash, CrashPlan, Odds
from procession.testing.simulation.faults import StoreFaults
from procession.testing.simulation.history import History
from procession.testing.simulation.loop import SimulatedLoop, run
from procession.testing.simulation.machines import Life, Machines, clocks_of
from procession.testing.simulation.node_engine import NodeEngine, NodeWorld
from procession.testing.simulation.orphans import Orphans
from procession.testing.simulation.played import Played, scratch_folder, told
from procession.testing.simulation.ports_of_node import SimulatedVault
from procession.testing.simulation.rare import Rare
from procession.testing.simulation.shape import StoreKind
from procession.testing.simulation.sites import AwaitSites
from procession.testing.simulation.stops import Bounds, SimulationStopped, Unheard
from procession.testing.simulation.store_of_world import configured, server_of
from procession.testing.simulation.whatsapp.audit_end import LastLook
from procession.testing.simulation.whatsapp.auditor import WhatsAppAuditor
from procession.testing.simulation.whatsapp.bot import Moods, bot_of
from procession.testing.simulation.whatsapp.mail import LoopTime, Mail
from procession.testing.simulation.whatsapp.operators import Operators
from procession.testing.simulation.whatsapp.owner import Owner
from procession.testing.simulation.whatsapp.shape import WhatsAppShape, draw_whatsapp_shape
from procession.testing.simulation.whatsapp.wire import GraphWire, Network
from procession.testing.whatsapp.book import Book
from procession.testing.whatsapp.crowd import Crowd
from procession.testing.whatsapp.graph import Graph
from procession.testing.whatsapp.journey import Journeys

REST_WITHIN: Final = 240.0
"""Seconds of virtual time that a healed world has to come to rest: the longest backoff that troubles leave behind, and
more."""
DOUBT_SHOWN_WITHIN: Final = 60.0
"""L6. The doubt begins when the call has ended, or its sender is known to be gone."""
_CALL_MAX: Final = 15.0
"""The longest call, or lease and takeover."""
_DAYS: Final = 86_400.0 * 10
_BOUNDS: Final = Bounds(virtual_seconds_max=_DAYS, steps_max=4_000_000, steps_at_once_max=50_000)
_CLEAN_UP_EACH: Final = 1.5
_LOOK_EACH: Final = 3.0
_HOUR: Final = 3_600.0


def play_whatsapp(
    seed: int, places: AwaitSites, *, store: StoreKind | None = None, whole: bool = False, scratch: Path | None = None
) -> Played:
    """Play one seed to its end, or to its first violation."""
    chance = SeededChance(seed, f"whatsapp {seed}")
    shape = draw_whatsapp_shape(seed, chance.of("shape"), store)
    folder = Path(tempfile.mkdtemp(prefix="procession-world-", dir=scratch or scratch_folder()))
    worlds: list[WhatsAppWorld] = []

    async def main(loop: SimulatedLoop) -> None:
        world = WhatsAppWorld(loop, shape, chance, places, folder)
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


class WhatsAppWorld:
    def __init__(
        self, loop: SimulatedLoop, shape: WhatsAppShape, chance: SeededChance, places: AwaitSites, folder: Path
    ) -> None:
        self.history = History(lambda: loop.now)
        self.auditor = WhatsAppAuditor(self.history, shape)
        self._loop = loop
        self._shape = shape
        self._chance = chance
        self._own_chance = chance.of("world")
        self._plan = CrashPlan(chance.of("crashes"), places, Odds(crashes_max=10), self._crashed)
        self._vault = SimulatedVault(shape.secrets)
        self._moods = Moods(chance.of("moods"))
        self._heal_server: list[Callable[[], None]] = []
        self._clocks = clocks_of(shape.nodes, loop, self._own_chance)
        self.server = server_of(
            shape.store, folder, loop, self._clocks["n1"], chance.of("store"), shape.trouble, self.auditor,
            self._heal_server,
        )  # fmt: skip
        self.auditor.store_now = self.server.now
        self._machines = self._make_machines()
        self._make_whatsapp()
        self._operators = Operators(
            self.server, self._network, self._graph, chance.of("operators"), self.auditor, shape
        )
        self._violated = loop.create_future()
        self.history.on_violation = self._stop

    # --- its parts ---

    def _make_machines(self) -> Machines:
        return Machines(
            loop=self._loop,
            chance=self._chance,
            trouble=self._shape.trouble,
            lease_ttl=self._shape.lease_ttl,
            clocks=self._clocks,
            server=self.server,
            faults=StoreFaults(self._chance.of("faults"), self._shape.trouble),
            scribe=self.auditor,
            reaper=self._plan,
            make=self._engine,
        )

    def _make_whatsapp(self) -> None:
        shape, chance, book = self._shape, self._chance, Book()
        time = LoopTime(self._loop)
        self._mail = Mail(
            self._loop, shape, chance.of("mail"), self.auditor, book, lambda: self._machines.pick(self._own_chance)
        )
        self._journeys = Journeys(
            time=time, chance=chance.of("journeys"), courier=self._mail, faults=shape.faults, book=book
        )
        self._graph = Graph(
            numbers=shape.numbers,
            people=shape.people,
            rules=shape.rules,
            faults=shape.faults,
            time=time,
            chance=chance.of("graph"),
            book=book,
            journeys=self._journeys,
        )
        self._crowd = Crowd(
            people=shape.people,
            shape=shape.crowd,
            time=time,
            chance=chance.of("crowd"),
            courier=self._mail,
            graph=self._graph,
            book=book,
            waits_for_replies=False,
        )
        self._owner = Owner(shape, time, chance.of("owner"), self._mail, self._graph)
        self._network = Network(self._loop, self._graph, book, self.auditor, shape.trouble)

    def _engine(self, life: Life) -> NodeEngine:
        world = NodeWorld(
            shape=self._shape,
            clock=life.clock,
            chance=life.chance,
            store=life.store,
            directory=life.directory,
            wire=GraphWire(life.node, self._network, life.chance.of("wire")),
            app=lambda node: bot_of(node, self._moods, collects=self._shape.collects),
            connectors={"whatsapp": WhatsAppConnector()},
            scribe=self.auditor,
            vault=self._vault,
        )
        return NodeEngine(life.node, world)

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
        home = self._loop.home
        for work in (self._operators.meddle(), self._operators.rotate(), self._mail.post_badly(), self._look()):
            home.start(work)
        self._owner.start()
        self._crowd.start()
        await sleep(self._shape.spread)
        self._crowd.hush()
        self._owner.hush()
        await sleep(self._own_chance.uniform(0, 6))
        self._heal()
        await self._come_to_rest()
        if self.history.violation is None:
            await self._be_away()
            await self._come_to_rest()
        if self.history.violation is None:
            LastLook(self.auditor, self._shape.people, await self.server.final()).check()

    async def _look(self) -> None:
        """Now and then at what an operator can see of doubts."""
        longest = DOUBT_SHOWN_WITHIN + _CALL_MAX
        while not self._machines.is_off:
            await sleep(_LOOK_EACH)
            try:
                views = await self.server.console.doubts(limit=1_000)
            except StoreError:
                continue
            self.auditor.check_doubts(views, longest)

    def _heal(self) -> None:
        self.history.note("world", "heals", ())
        self._graph.is_healed = self._network.is_healed = self._moods.is_healed = self._operators.is_over = True
        self._plan.is_over = True
        for heal in self._heal_server:
            heal()
        self._machines.heal()

    async def _come_to_rest(self) -> None:
        healed_at = self._loop.now
        orphans = Orphans(self.history, self._shape.lease_ttl, healed_at)
        while self.history.violation is None:
            await sleep(_CLEAN_UP_EACH)
            await self._operators.clean_up()
            final = await self.server.final()
            if not final.waits and not self._crowd.typing and not self._mail.outstanding:
                return
            orphans.look(final, self._machines.alive, self._loop.now)
            if self._loop.now - healed_at > REST_WITHIN:
                lanes = [lane.lane for lane in final.lanes if lane.phase != "idle"]
                waits = "; ".join(final.waits[:6]) or "deliveries are outstanding, or somebody types"
                self.history.fail("L4", f"it does not come to rest: {waits}", *lanes[:3])

    async def _be_away(self) -> None:
        """Until everything that WhatsApp still has to tell has happened there."""
        self.history.note("world", "is away", ())
        self._mail.is_held = True
        self._machines.switch_off()
        while self._journeys.under_way:
            await sleep(_HOUR)
        self._machines.is_off = False
        self._mail.release()
        while not self._machines.alive:
            await sleep(_CLEAN_UP_EACH)

    # --- its end ---

    def report(self, *, whole: bool) -> Played:
        violation = self.history.violation
        return Played(
            seed=self._shape.seed,
            events=sum(1 for known in self.auditor.turns.known.values() if known.said.names),
            violation=violation,
            excerpt=self.history.excerpt(violation.about) if violation is not None else [],
            rare=self.auditor.tally.rare,
            counts=self.auditor.tally.counts,
            plan=self._plan,
            steps=self._loop.steps,
            history=self.history.whole() if whole else [],
        )
