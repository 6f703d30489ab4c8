"""The store of a world: made as its shape says, and told who there is."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from procession.core.errors import StoreError
from procession.ports.directory import Snapshot
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import NodeClock
from procession.testing.simulation.embedded import Embedded
from procession.testing.simulation.loop import SimulatedLoop
from procession.testing.simulation.servers import Ground, MemoryServer, Server
from procession.testing.simulation.shape import StoreKind
from procession.testing.simulation.sqlite_server import Commits, SqliteServer


class Hearer(Ground, Protocol):
    def seen(self, rare: StrEnum) -> None: ...


def server_of(
    kind: StoreKind,
    folder: Path,
    loop: SimulatedLoop,
    engine_clock: NodeClock,
    chance: SeededChance,
    trouble: float,
    auditor: Hearer,
    heal: list[Callable[[], None]],
) -> Server:
    """`engine_clock`: of the machine that an embedded store is on. What heals the store is added to `heal`."""
    clock = NodeClock(loop)
    match kind:
        case StoreKind.MEMORY:
            return MemoryServer(clock, auditor)
        case StoreKind.SQLITE:
            commits = Commits(chance, trouble / 3, auditor, auditor.seen, None)
            heal.append(lambda: setattr(commits, "is_healed", True))
            return SqliteServer(folder, clock, chance, loop, commits)
        case StoreKind.EMBEDDED:
            embedded = Embedded(folder, engine_clock, chance, trouble, auditor, auditor.seen)
            heal.append(embedded.heal)
            return embedded


async def configured(server: Server, loop: SimulatedLoop, snapshot: Snapshot) -> None:
    """Whoever sets it up does so again when the disk was full, or the commit failed."""
    while True:
        try:
            await _configure(server, loop, snapshot)
        except StoreError:
            continue
        return


async def _configure(server: Server, loop: SimulatedLoop, snapshot: Snapshot) -> None:
    if not isinstance(server, Embedded):
        await server.directory.change(snapshot, actor="setup")
        return
    setup = loop.node("setup")
    server.begin_life(setup, loop)
    try:
        await setup.spawn(server.directory.change(snapshot, actor="setup"))
    finally:
        setup.crash()
        server.end_life()
