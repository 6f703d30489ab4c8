"""SQLite within the one engine process: opened at each start, and gone with it as a killed process goes."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from procession.core.errors import StoreAway
from procession.ports.console import Console
from procession.ports.directory import Directory, Snapshot
from procession.storage.console import StoredConsole
from procession.storage.directory import StoredDirectory
from procession.storage.sqlite.store import SqliteStore
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import NodeClock
from procession.testing.simulation.final_state import FinalState
from procession.testing.simulation.loop import SimulatedLoop
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.servers import Done, Ground
from procession.testing.simulation.sqlite_server import Commits, asked, fresh_state, opened


class Embedded:
    """The store of whichever life of the engine there is; to operators it is away while there is none."""

    def __init__(
        self,
        folder: Path,
        clock: NodeClock,
        chance: SeededChance,
        trouble: float,
        ground: Ground,
        seen: Callable[[StrEnum], None],
    ) -> None:
        self.is_away = False
        self.is_healed = False
        self._folder = folder
        self._clock = clock
        self._chance = chance
        self._trouble = trouble
        self._ground = ground
        self._seen = seen
        self._store: SqliteStore | None = None
        self._commits: Commits | None = None
        self._newest = clock.now()

    def begin_life(self, node: Node, loop: SimulatedLoop) -> SqliteStore:
        """A process starts."""
        assert self._store is None
        commits = Commits(self._chance, self._trouble, self._ground, self._seen, node)
        commits.is_healed = self.is_healed
        self._store = node.run(opened, self._folder, self._clock, self._chance, loop, commits, self._ends(node, loop))
        self._commits = commits
        self._ground.reopened()
        return self._store

    def _ends(self, node: Node, loop: SimulatedLoop) -> Callable[[BaseException], None]:
        """A process that is told to end does so a moment later: what it says meanwhile has to be true."""

        def die() -> None:
            node.crash()

        def end(_error: BaseException) -> None:
            loop.home.run(loop.call_later, self._chance.uniform(0, 0.02), die)

        return end

    def end_life(self) -> None:
        """It is dead."""
        if self._store is not None:
            self._newest = self._store.now()
            self._store.abandon()
            self._store = self._commits = None

    def heal(self) -> None:
        self.is_healed = True
        if self._commits is not None:
            self._commits.is_healed = True

    # --- as operators and the auditor see it ---

    @property
    def _running(self) -> SqliteStore:
        if self._store is None:
            raise StoreAway("no engine is running")
        return self._store

    @property
    def console(self) -> Console:
        return StoredConsole(self._running)

    @property
    def directory(self) -> Directory:
        return StoredDirectory(self._running)

    def now(self) -> datetime:
        return self._newest if self._store is None else self._store.now()

    def submit(self, name: str, args: Mapping[str, Any], done: Done) -> None:
        raise NotImplementedError(f"{name} of {sorted(args)}: the engine calls its own store; {done}")

    async def snapshot(self) -> Snapshot:
        return await self.directory.snapshot()

    async def ask(self, verb: str, args: Mapping[str, Any]) -> object:
        store, commits = self._running, self._commits
        assert commits is not None
        return await asked(StoredConsole(store), commits, verb, args)

    async def final(self) -> FinalState:
        return fresh_state(self._folder)

    def restart(self) -> None:
        """It restarts with its engine."""

    def close(self) -> None:
        self.end_life()
