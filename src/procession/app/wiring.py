"""The wiring: the only place that knows which class stands behind which port.

What is heavy is imported where it is needed: an engine without secrets never loads a cipher, and a command that speaks
to a running engine loads no store.
"""

import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from procession.app.config import Config
from procession.app.control import ControlService
from procession.app.desk import Desk, DeskMeans
from procession.app.files import ChannelFiles
from procession.app.key_program import KEY_COMMAND, key_program
from procession.app.late_vault import LateVault
from procession.app.replies import ChannelReplies
from procession.app.settings import Role
from procession.app.stores import MEMORY, OpenStore, open_store, schema_of
from procession.app.system import SystemChance, SystemClock
from procession.core.ids import WorkerId
from procession.core.limits import FILE_BYTES_MAX, FILES_MAX
from procession.ingress.asgi import IngressApp
from procession.ingress.doors import Doors
from procession.ingress.receive import Receiver
from procession.ingress.service import IngressService
from procession.lanes import means as lanes
from procession.lanes.app import App
from procession.lanes.service import LanesService
from procession.outbox import OutboxService
from procession.outbox import means as outbox
from procession.outbox.outlets import Outlets
from procession.ports.chance import Chance
from procession.ports.clock import Clock
from procession.ports.connector import Inbound, KeepsFiles, Outbound
from procession.ports.telemetry import Telemetry
from procession.ports.vault import Masters, SealedRows, WholeVault
from procession.runtime.bell import InnerBell
from procession.runtime.loop import FailStop
from procession.runtime.threads import ThreadPool
from procession.runtime.wire import AddressPolicy, Wire
from procession.runtime.wire.limits import WireLimits
from procession.telemetry import Level, LineTelemetry
from procession.upkeep import UpkeepService

if TYPE_CHECKING:
    from procession.connectors.plain import PlainConnector
    from procession.connectors.whatsapp import WhatsAppConnector

MASTER_KEY: Final = "master.key"


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What everything here is made of."""

    config: Config
    clock: Clock
    chance: Chance
    telemetry: LineTelemetry
    bell: InnerBell
    open: OpenStore
    vault: LateVault
    inbound: Mapping[str, Inbound]
    outbound: Mapping[str, Outbound]
    files: Mapping[str, KeepsFiles]


async def open_world(config: Config, *, on_broken: FailStop | None = None) -> World:
    """Open the store, or make it. `on_broken` ends the process when the store can be trusted no more."""
    clock, chance = SystemClock(), SystemChance()
    level = {"note": Level.NOTE, "warn": Level.WARN, "silent": Level.SILENT}[config.log]
    opened = await open_store(config, clock, chance, on_broken)
    connectors = _connectors(clock)
    telemetry = LineTelemetry(clock, level=level)
    return World(
        config=config,
        clock=clock,
        chance=chance,
        telemetry=telemetry,
        bell=InnerBell(),
        open=opened,
        vault=LateVault(opened.rows, lambda: _vault(config, opened.rows, chance, clock, telemetry)),
        inbound=dict(connectors),
        outbound=dict(connectors),
        files={name: own for name, own in connectors.items() if isinstance(own, KeepsFiles)},
    )


def desk_of(world: World, reopened: Callable[[], Awaitable[None]] | None = None) -> Desk:
    means = DeskMeans(
        console=world.open.console,
        directory=world.open.directory,
        vault=world.vault,
        inbound=world.inbound,
        outbound=world.outbound,
        bell=world.bell,
        clock=world.clock,
        telemetry=world.telemetry,
        examine=world.open.examine,
    )
    return Desk(means=means if reopened is None else replace(means, reopened=reopened))


async def migrated(config: Config) -> tuple[int, int]:
    """Bring the schema forward; answers the versions before and after. Opening a store does it."""
    before = await schema_of(config)
    await (await open_world(config)).open.store.close()
    return before, await schema_of(config)


# --- secrets ---


async def _vault(config: Config, rows: SealedRows, chance: Chance, clock: Clock, telemetry: Telemetry) -> WholeVault:
    """Raises Misconfigured if secrets are sealed under another master key than the one that is here."""
    from procession.vault import EnvelopeVault

    is_empty = not await rows.all_keys()
    vault = EnvelopeVault(rows, _masters(config, chance, clock, create=is_empty), chance, telemetry)
    await vault.check()
    return vault


def _masters(config: Config, chance: Chance, clock: Clock, *, create: bool) -> Masters:
    from procession.vault import CommandKey, drawn_masters, masters_from

    command = os.environ.get(KEY_COMMAND)
    if config.store == MEMORY and not command and not os.environ.get("PROCESSION_MASTER_KEY"):
        return drawn_masters(chance)
    asked = CommandKey(key_program(command, os.environ), clock) if command else None
    return masters_from(os.environ, config.folder / MASTER_KEY, chance, command=asked, create=create)


# --- connectors ---


def _connectors(clock: Clock) -> Mapping[str, "PlainConnector | WhatsAppConnector"]:
    from procession.connectors.plain import PlainConnector
    from procession.connectors.standard import StandardConnector
    from procession.connectors.whatsapp import WhatsAppConnector

    made = (PlainConnector(clock), StandardConnector(clock), WhatsAppConnector())
    return {connector.name: connector for connector in made}


def replies_of(world: World) -> ChannelReplies:
    return ChannelReplies(world.open.directory, world.outbound)


# --- services ---


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """What an engine consists of. It starts from the first to the last, and stops ingress first: see `engine`."""

    control: ControlService
    upkeep: UpkeepService | None
    outbox: OutboxService | None
    lanes: LanesService | None
    ingress: IngressService | None
    wires: tuple[Wire, ...]


def services_of(world: World, app: App | None, fail_stop: FailStop, on_listening: Callable[[int], None]) -> Services:
    config, roles = world.config, world.config.roles
    worker = WorkerId(f"{socket.gethostname()}.{os.getpid()}.{world.chance.token(6).hex()}")
    doors = Doors(world.open.directory, world.vault, world.inbound, world.telemetry, keep=world.config.keep)
    wire = _wire(config) if Role.OUTBOX in roles else None
    files = _wire(config, _FILES) if Role.LANES in roles and app is not None else None

    async def reopened() -> None:
        await doors.refresh(again=True)

    return Services(
        control=ControlService(desk_of(world, reopened), config.folder, world.telemetry),
        upkeep=_upkeep(world, fail_stop) if Role.UPKEEP in roles else None,
        outbox=_outbox(world, worker, wire, fail_stop) if wire is not None else None,
        lanes=_lanes(world, worker, app, files, fail_stop) if files is not None and app is not None else None,
        ingress=_ingress(world, doors, fail_stop, on_listening) if Role.INGRESS in roles else None,
        wires=tuple(own for own in (wire, files) if own is not None),
    )


_FILES: Final = WireLimits(
    body_bytes_max=FILE_BYTES_MAX, connections_max=FILES_MAX, connections_per_origin_max=FILES_MAX, waiting_max=256
)
"""Of a wire of their own: what sends must not wait behind what is large."""


def _wire(config: Config, limits: WireLimits | None = None) -> Wire:
    ports = frozenset(port for span in config.outbound_ports for port in span)
    return Wire(AddressPolicy(allow_private=config.allow_private, ports=ports), limits)


def _upkeep(world: World, fail_stop: FailStop) -> UpkeepService:
    return UpkeepService(
        store=world.open.store,
        bell=world.bell,
        chance=world.chance,
        telemetry=world.telemetry,
        fail_stop=fail_stop,
        keep=world.config.keep,
    )


def _outbox(world: World, worker: WorkerId, wire: Wire, fail_stop: FailStop) -> OutboxService:
    means = outbox.Means(
        worker=worker,
        store=world.open.store,
        outlets=Outlets(world.open.directory, world.vault, world.outbound),
        wire=wire,
        bell=world.bell,
        clock=world.clock,
        chance=world.chance,
        telemetry=world.telemetry,
        fail_stop=fail_stop,
    )
    return OutboxService(
        means,
        lease_ttl=world.config.lease,
        sends_max=world.config.sends_max,
        pools=world.config.pools,
        drain_wait=world.config.drain_wait,
    )


def _lanes(world: World, worker: WorkerId, app: App, wire: Wire, fail_stop: FailStop) -> LanesService:
    means = lanes.Means(
        store=world.open.store,
        bell=world.bell,
        clock=world.clock,
        chance=world.chance,
        telemetry=world.telemetry,
        vault=world.vault,
        replies=replies_of(world),
        files=ChannelFiles(world.open.directory, world.vault, world.files, wire),
        threads=ThreadPool(world.config.threads_max),
        worker=worker,
        fail_stop=fail_stop,
        lease_ttl=world.config.lease,
        slots=world.config.slots,
        pools=world.config.pools,
        has_share=world.open.directory.has_share,
    )
    return LanesService(app, means, drain_wait=world.config.drain_wait)


def _ingress(world: World, doors: Doors, fail_stop: FailStop, on_listening: Callable[[int], None]) -> IngressService:
    receiver = Receiver(store=world.open.store, doors=doors, bell=world.bell, telemetry=world.telemetry)
    return IngressService(
        IngressApp(receiver, world.clock),
        doors,
        host=world.config.host,
        port=world.config.port,
        limits=world.config.http,
        bell=world.bell,
        chance=world.chance,
        telemetry=world.telemetry,
        fail_stop=fail_stop,
        on_listening=on_listening,
    )
