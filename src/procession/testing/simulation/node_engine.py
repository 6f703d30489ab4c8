"""One engine process of a simulated world: the shipped stages over the world's ports."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Protocol

from procession.core.errors import StoreError
from procession.core.ids import TenantId, WorkerId
from procession.core.limits import POLL
from procession.ingress.asgi import IngressApp
from procession.ingress.doors import Doors
from procession.ingress.receive import Receiver
from procession.lanes.app import App
from procession.lanes.means import Means as LanesMeans
from procession.lanes.service import LanesService
from procession.outbox.means import Means as OutboxMeans
from procession.outbox.outlets import Outlets
from procession.outbox.service import OutboxService
from procession.ports.bell import Ring
from procession.ports.connector import Inbound, Outbound
from procession.ports.directory import Directory, Snapshot
from procession.ports.store import Store
from procession.ports.vault import TurnVault, Vault
from procession.ports.wire import WirePort
from procession.runtime.bell import InnerBell
from procession.runtime.loop import Loop
from procession.runtime.service import Service
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import NodeClock, sleep
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.ports_of_node import InlineThreads, SimulatedReplies, Witness
from procession.testing.simulation.scribe import Scribe
from procession.testing.stand_ins import HeldFiles
from procession.upkeep.service import UpkeepService

_DRAIN: Final = timedelta(seconds=1.5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a source posts."""

    endpoint: str
    body: bytes
    headers: tuple[tuple[str, str], ...]


class Connector(Inbound, Outbound, Protocol):
    """Both sides of a provider."""


class BothVaults(Vault, TurnVault, Protocol):
    """For the stages, and for turns."""


class EngineShape(Protocol):
    """What of a world's shape an engine is set up by."""

    @property
    def lease_ttl(self) -> timedelta: ...
    @property
    def slots(self) -> int: ...
    @property
    def sends(self) -> int: ...
    @property
    def snapshot(self) -> Snapshot: ...


@dataclass(slots=True, kw_only=True)
class NodeWorld:
    """What the world hands to a node for one life."""

    shape: EngineShape
    clock: NodeClock
    chance: SeededChance
    store: Store
    directory: Directory
    wire: WirePort
    app: Callable[[Node], App]
    connectors: Mapping[str, Connector]
    scribe: Scribe
    vault: BothVaults


class NodeEngine:
    def __init__(self, node: Node, world: NodeWorld) -> None:
        self.node = node
        self.is_ready = False
        self.connections: set[asyncio.Future[int | None]] = set()
        """Who waits for an answer: they hear nothing when the process dies but that it has."""
        self._world = world
        self._chance = world.chance
        self._stopping = asyncio.Event()
        self._bell = InnerBell()
        self._witness = Witness(node, world.scribe.history)
        connectors = world.connectors
        self._doors = Doors(world.directory, world.vault, connectors, self._witness)
        receiver = Receiver(store=world.store, doors=self._doors, bell=self._bell, telemetry=self._witness)
        self._ingress = IngressApp(receiver, world.clock)
        self._outlets = Outlets(world.directory, world.vault, connectors)
        self._following = Loop(
            "directory",
            self._follow,
            bell=self._bell,
            ring=Ring.DIRECTORY,
            chance=world.chance,
            telemetry=self._witness,
            fail_stop=self._fail_stop,
        )
        self._services = self._make_services(connectors)

    def _make_services(self, connectors: Mapping[str, Connector]) -> tuple[Service, ...]:
        world, node = self._world, self.node
        worker = WorkerId(repr(node))
        lanes = LanesService(
            world.app(node),
            LanesMeans(
                store=world.store,
                bell=self._bell,
                clock=world.clock,
                chance=world.chance,
                telemetry=self._witness,
                vault=world.vault,
                replies=SimulatedReplies(world.shape.snapshot, connectors),
                files=HeldFiles({}),
                threads=InlineThreads(),
                worker=worker,
                fail_stop=self._fail_stop,
                lease_ttl=world.shape.lease_ttl,
                slots=world.shape.slots,
                has_share=self._has_share,
            ),
            drain_wait=_DRAIN,
        )
        outbox = OutboxService(
            OutboxMeans(
                worker=worker,
                store=world.store,
                outlets=self._outlets,
                wire=world.wire,
                bell=self._bell,
                clock=world.clock,
                chance=world.chance,
                telemetry=self._witness,
                fail_stop=self._fail_stop,
            ),
            lease_ttl=world.shape.lease_ttl,
            sends_max=world.shape.sends,
        )
        upkeep = UpkeepService(
            store=world.store,
            bell=self._bell,
            chance=world.chance,
            telemetry=self._witness,
            fail_stop=self._fail_stop,
        )
        return lanes, outbox, upkeep

    def _has_share(self, tenant: TenantId) -> bool:
        return self._world.shape.snapshot.tenants[tenant].lanes_max is not None

    def _fail_stop(self, reason: str) -> None:
        self._world.scribe.note(repr(self.node), "stops", (), reason)
        self.node.halt()

    # --- its life ---

    async def live(self) -> None:
        """From the start of the process to its calm end, if it comes to that."""
        await self._first_look()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._following.run(), name=f"{self.node!r}-directory")
            for service in self._services:
                await service.start(group)
            self.is_ready = True
            await self._stopping.wait()
            self.is_ready = False
            self._following.stop()
            for service in self._services:
                await service.stop()
        self._world.scribe.note(repr(self.node), "stops", (), "drained")
        self.node.halt()

    async def stop(self, *, at_once: bool) -> None:
        """SIGTERM; and a second one."""
        self._stopping.set()
        if at_once:
            for service in self._services:
                await service.stop(at_once=True)

    async def _first_look(self) -> None:
        while True:
            try:
                await self._doors.refresh()
                await self._outlets.refresh()
            except StoreError:
                await sleep(0.1)
            else:
                return

    async def _follow(self) -> timedelta:
        await self._doors.refresh()
        return POLL

    def hang_up(self) -> None:
        """The process is dead, and its connections with it."""
        for answer in list(self.connections):
            if not answer.done():
                answer.set_result(None)

    # --- its door ---

    async def serve(self, request: Request, answer: Callable[[int], None]) -> None:
        """One request, on a connection of its own."""
        told: list[int] = []
        lazy = self._chance.uniform(0, 1) < 0.1

        async def receive() -> dict[str, object]:
            if lazy:
                await sleep(0.001)
            return {"type": "http.request", "body": request.body, "more_body": False}

        async def send(event: Mapping[str, object]) -> None:
            if event["type"] == "http.response.start":
                status = event["status"]
                assert isinstance(status, int)
                told.append(status)
                if lazy:
                    await sleep(0.001)
            else:
                answer(told[0])

        scope: dict[str, object] = {
            "type": "http",
            "method": "POST",
            "path": f"/hooks/{request.endpoint}",
            "query_string": b"",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in request.headers],
        }
        await self._ingress(scope, receive, send)
