"""Stores of a test's own: with a thread, as in life; or inline, with the loop's rounds as virtual time."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

from procession.storage.rows import Rows
from procession.storage.sqlite.batches import CommitFault, Faults
from procession.storage.sqlite.rows import SqliteRows
from procession.storage.sqlite.store import SqliteStore
from tests.conformance.clock import ManualClock, SeededChance


class Planned(Faults):
    """The next commits go so, one after the other; those after them go well."""

    def __init__(self) -> None:
        self.plan: list[CommitFault] = []
        self.batches: list[int] = []

    def before_batch(self, works: int) -> None:
        self.batches.append(works)

    def at_commit(self, works: int) -> CommitFault:
        return self.plan.pop(0) if self.plan else CommitFault.NONE


def opened(
    folder: Path, clock: ManualClock | None = None, on_broken: Callable[[BaseException], None] = lambda _: None
) -> SqliteStore:
    return SqliteStore.open(folder, clock=clock or ManualClock(), chance=SeededChance(), on_broken=on_broken)


def opened_inline(
    folder: Path, faults: Faults | None = None, on_broken: Callable[[BaseException], None] = lambda _: None
) -> SqliteStore:
    loop = asyncio.get_running_loop()

    def call_later(_delay: float, run: Callable[[], None]) -> object:
        return loop.call_soon(run)

    return SqliteStore.open(
        folder,
        clock=ManualClock(),
        chance=SeededChance(),
        on_broken=on_broken,
        call_later=call_later,
        faults=faults,
    )


def connection_of(rows: Rows) -> sqlite3.Connection:
    """For statements of a test's own."""
    assert isinstance(rows, SqliteRows)
    return rows.connection
