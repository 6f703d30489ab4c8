"""How each store is opened for the suite, and what it declares."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from procession.storage.console import StoredConsole
from procession.storage.directory import StoredDirectory
from procession.storage.memory import MemoryStore
from procession.storage.memory.rows import Tables
from procession.storage.memory.secrets import MemorySecrets
from procession.storage.postgres.store import PostgresStore
from procession.storage.secrets import StoredSecrets
from procession.storage.sqlite.store import SqliteStore
from tests.conformance.clock import ManualClock, SeededChance
from tests.conformance.harness import Guarantee, Harness, Opened


def memory() -> Harness:
    """Its tables outlive it, so a restart can be played; they do not outlive the process, as everybody knows."""
    tables = Tables()

    async def opened(clock: ManualClock, chance: SeededChance) -> Opened:
        store = MemoryStore(clock=clock, tables=tables)
        secrets = MemorySecrets(tables, store.now)
        return Opened(store=store, console=store.console, directory=store.directory, secrets=secrets)

    return Harness(opened, Guarantee.DURABLE, Guarantee.NO_SQL)


def sqlite(folder: Path) -> Harness:
    async def opened(clock: ManualClock, chance: SeededChance) -> Opened:
        store = SqliteStore.open(folder, clock=clock, chance=chance)
        return Opened(
            store=store, console=StoredConsole(store), directory=StoredDirectory(store), secrets=StoredSecrets(store)
        )

    return Harness(
        opened, Guarantee.DURABLE, Guarantee.CLOSES, Guarantee.SCALES, Guarantee.SQL, own_table="procession_event"
    )


@contextmanager
def folder_in_memory() -> Iterator[Path]:
    """Where a folder costs no disk: thousands of commits of a suite that is not about disks. Elsewhere, any folder."""
    shared_memory = Path("/dev/shm")
    with TemporaryDirectory(prefix="procession-", dir=shared_memory if shared_memory.is_dir() else None) as folder:
        yield Path(folder)


def postgres(url: str) -> Harness:
    """On a database that is empty, or was emptied by `emptied`."""

    async def opened(clock: ManualClock, chance: SeededChance) -> Opened:
        store = await asyncio.to_thread(PostgresStore.open, url, clock=clock, chance=chance, own_time=True)
        return Opened(store=store, console=store.console, directory=store.directory, secrets=store.secrets)

    return Harness(
        opened, Guarantee.DURABLE, Guarantee.CLOSES, Guarantee.SCALES, Guarantee.SQL, own_table="procession_event"
    )
