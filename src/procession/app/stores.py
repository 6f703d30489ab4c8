"""Which store stands behind the port: opened by its address, examined, and asked for the version of its schema."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Final

from procession.app.config import Config
from procession.app.control import engine_runs
from procession.app.health import Finding, Grade, clock_finding, integrity_finding
from procession.app.seen import SeenDirectory
from procession.core.errors import Misconfigured
from procession.ports.chance import Chance
from procession.ports.clock import Clock
from procession.ports.console import Console
from procession.ports.store import Store
from procession.ports.vault import SealedRows
from procession.runtime.loop import FailStop
from procession.runtime.pause import pause

MEMORY: Final = "memory:"
LOOK_EVERY: Final = timedelta(milliseconds=50)
LOOKS_AGAIN: Final = 60
"""Three seconds in all: longer than any command needs the store for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenStore:
    """A store with all its sides."""

    store: Store
    console: Console
    directory: SeenDirectory
    rows: SealedRows
    examine: Callable[[], Awaitable[tuple[Finding, ...]]]


async def open_store(config: Config, clock: Clock, chance: Chance, on_broken: FailStop | None) -> OpenStore:
    """A command holds a store for a moment, and an engine that is just starting answers in a moment: both are waited
    for. An engine that runs is not.
    """
    if config.database is not None:
        return await _open_postgres(config.database, clock, chance)
    from procession.storage.sqlite.lock import FolderInUse

    for _ in range(LOOKS_AGAIN):
        try:
            return _open_here(config, clock, chance, on_broken)
        except FolderInUse:
            if engine_runs(config.folder):
                raise
            await pause(LOOK_EVERY)
    return _open_here(config, clock, chance, on_broken)


def _open_here(config: Config, clock: Clock, chance: Chance, on_broken: FailStop | None) -> OpenStore:
    if config.sqlite_folder is not None:
        return _open_sqlite(config.sqlite_folder, clock, chance, on_broken)
    if config.store == MEMORY:
        return _open_memory(clock)
    kind = config.store.partition(":")[0]
    raise Misconfigured(
        f"store: {kind} is not supported by this version: it has sqlite:FOLDER (the default), "
        "postgresql://… and memory:"
    )


def _open_memory(clock: Clock) -> OpenStore:
    from procession.storage.memory.secrets import MemorySecrets
    from procession.storage.memory.store import MemoryStore

    store = MemoryStore(clock=clock)

    async def examine() -> tuple[Finding, ...]:
        text = f"memory, era {store.era}: nothing of it survives this process"
        return (Finding(about="store", grade=Grade.LOOK, text=text),)

    return OpenStore(
        store=store,
        console=store.console,
        directory=SeenDirectory(store.directory),
        rows=MemorySecrets(store.tables, store.now),
        examine=examine,
    )


def _open_sqlite(folder: Path, clock: Clock, chance: Chance, on_broken: FailStop | None) -> OpenStore:
    from procession.storage.sqlite.store import SqliteStore

    def broken(error: BaseException) -> None:
        if on_broken is not None:
            on_broken(str(error))

    store = SqliteStore.open(folder, clock=clock, chance=chance, on_broken=broken)

    async def examine() -> tuple[Finding, ...]:
        return await asyncio.to_thread(_examine_sqlite, folder, store.era, clock)

    return OpenStore(
        store=store,
        console=store.console,
        directory=SeenDirectory(store.directory),
        rows=store.secrets,
        examine=examine,
    )


def _examine_sqlite(folder: Path, era: int, clock: Clock) -> tuple[Finding, ...]:
    from procession.storage.sqlite.look import look_at

    look = look_at(folder, clock)
    return (
        Finding(about="store", grade=Grade.GOOD, text=f"sqlite in {folder}, era {era}"),
        Finding(
            about="schema", grade=Grade.GOOD, text=f"{look.version}; this version knows up to {look.version_known}"
        ),
        integrity_finding(look.faults),
        clock_finding(look.clock_ahead),
    )


async def _open_postgres(url: str, clock: Clock, chance: Chance) -> OpenStore:
    try:
        from procession.storage.postgres.store import PostgresStore
    except ImportError as error:
        raise Misconfigured(
            f"store: Postgres needs its driver, which is not installed ({error}): pip install 'procession[postgres]'"
        ) from error

    store = await asyncio.to_thread(PostgresStore.open, url, clock=clock, chance=chance)

    async def examine() -> tuple[Finding, ...]:
        return await asyncio.to_thread(_examine_postgres, url, store.era)

    return OpenStore(
        store=store,
        console=store.console,
        directory=SeenDirectory(store.directory),
        rows=store.secrets,
        examine=examine,
    )


def _examine_postgres(url: str, era: int) -> tuple[Finding, ...]:
    from procession.storage.postgres.look import look_at

    look = look_at(url)
    kept = f"synchronous_commit is {look.synchronous_commit}, timeline {look.timeline}, {look.others} other connections"
    return (
        Finding(about="store", grade=Grade.GOOD, text=f"Postgres {look.server}, era {era}; {kept}"),
        Finding(about="schema", grade=Grade.GOOD, text=f"{look.schema}; this version knows up to {look.schema_known}"),
    )


async def schema_of(config: Config) -> int:
    if config.database is not None:
        from procession.storage.postgres import look

        return await asyncio.to_thread(look.version_of, config.database)
    if config.sqlite_folder is None:
        raise Misconfigured(f"store: {config.store} has no schema to bring forward")
    from procession.storage.sqlite.look import version_of

    return version_of(config.sqlite_folder)
