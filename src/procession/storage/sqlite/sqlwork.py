"""A turn's own SQL (T9): a handler's statements inside the settling transaction, on the writer's connection.

It may create and change tables of its own in the same file; it may read ours. It may not end the transaction, attach
other files, change settings, or write to what begins with `procession_`. SQLite asks the guard whenever a statement is
compiled; ours are compiled while the guard lets everything pass, and are kept apart from the handler's by their mark
(`statements.py`).

All that a handler runs in one settlement has SQL_TIME_MAX, since every other write of the store waits meanwhile: the
progress hook stops a statement that runs on, and the clock is looked at again at the end, for what was slow between
the statements.
"""

import sqlite3
from collections.abc import Sequence
from typing import Final

from procession.core.errors import SqlFailed
from procession.core.limits import SQL_TIME_MAX
from procession.core.turn import SqlWork
from procession.ports.clock import Clock
from procession.storage.ledger.book import Book
from procession.storage.sqlite.connection import WriterConnection
from procession.storage.sqlite.statements import own

_PREFIX: Final = "procession_"
_SAVEPOINT: Final = "procession_turn_sql"
_SAVE: Final = own(f"SAVEPOINT {_SAVEPOINT}")
_BACK: Final = own(f"ROLLBACK TO {_SAVEPOINT}")
_DONE: Final = own(f"RELEASE {_SAVEPOINT}")

_LOOK_EVERY: Final = 2_000
"""Steps of SQLite's machine between two looks at the clock: some tens of microseconds."""

_WRITES: Final = frozenset(
    {
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_UPDATE,
        sqlite3.SQLITE_DELETE,
        sqlite3.SQLITE_CREATE_TABLE,
        sqlite3.SQLITE_CREATE_VIEW,
        sqlite3.SQLITE_DROP_TABLE,
        sqlite3.SQLITE_DROP_VIEW,
        sqlite3.SQLITE_CREATE_VTABLE,
        sqlite3.SQLITE_DROP_VTABLE,
        sqlite3.SQLITE_ANALYZE,
    }
)
"""The table is the first name that the guard is told."""
_WRITES_BESIDE: Final = frozenset(
    {
        sqlite3.SQLITE_CREATE_INDEX,
        sqlite3.SQLITE_DROP_INDEX,
        sqlite3.SQLITE_CREATE_TRIGGER,
        sqlite3.SQLITE_DROP_TRIGGER,
        sqlite3.SQLITE_CREATE_TEMP_INDEX,
        sqlite3.SQLITE_DROP_TEMP_INDEX,
        sqlite3.SQLITE_CREATE_TEMP_TRIGGER,
        sqlite3.SQLITE_DROP_TEMP_TRIGGER,
        sqlite3.SQLITE_ALTER_TABLE,
    }
)
"""The index or trigger is the first, its table the second; ALTER TABLE: the database, and the table."""
_NEVER: Final = frozenset({sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH})
_HIDES_OTHERS: Final = frozenset({sqlite3.SQLITE_CREATE_TEMP_TABLE, sqlite3.SQLITE_CREATE_TEMP_VIEW})
"""What is temporary stands in front of a table of its name: our own statements would read and write it instead of the
file, and every commit after that would be lost.
"""
_PRAGMAS: Final = frozenset({"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"})
"""Those that only read, and that tools use to look at a table."""


class SqlRunner:
    """Runs the handlers' statements on the writer's connection, guarded."""

    def __init__(self, connection: WriterConnection, clock: Clock) -> None:
        self._connection = connection
        self._clock = clock
        connection.set_authorizer(self._authorize)

    def run(self, book: Book, works: Sequence[SqlWork]) -> None:
        """All of them, or none. Raises SqlFailed: the transaction is as it was before, or gone."""
        connection = self._connection
        book.flush()
        connection.execute(_SAVE)
        try:
            self._run_guarded(works)
        except Exception as error:  # a handler's own code may raise anything
            self._take_back(error)
            raise SqlFailed(f"the turn's own SQL failed, and nothing of the turn was kept: {error}") from error
        connection.execute(_DONE)

    def _run_guarded(self, works: Sequence[SqlWork]) -> None:
        connection = self._connection
        began = self._clock.monotonic()
        limit = SQL_TIME_MAX.total_seconds()
        factories = connection.row_factory, connection.text_factory
        connection.set_progress_handler(lambda: int(self._clock.monotonic() - began > limit), _LOOK_EVERY)
        connection.lent = True
        try:
            for work in works:
                work(connection)
        finally:
            connection.lent = False
            connection.set_progress_handler(None, 0)
            connection.row_factory, connection.text_factory = factories
        if self._clock.monotonic() - began > limit:
            raise TimeoutError(f"it took longer than {SQL_TIME_MAX.total_seconds():g} seconds")
        if not connection.in_transaction:
            raise sqlite3.OperationalError("it rolled back the transaction that it ran in")

    def _take_back(self, error: Exception) -> None:
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, sqlite3.Error) and code is not None and code & 0xFF in _STORES_OWN:
            raise error
        if self._connection.in_transaction:
            self._connection.execute(_BACK)
            self._connection.execute(_DONE)

    def _authorize(
        self, action: int, first: str | None, second: str | None, _database: str | None, _trigger: str | None
    ) -> int:
        if not self._connection.lent:
            return sqlite3.SQLITE_OK
        if not self._connection.in_transaction:
            # It rolled back (`INSERT OR ROLLBACK`), and went on: what it writes now would be kept without its turn.
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK if _is_allowed(action, first or "", second or "") else sqlite3.SQLITE_DENY


_STORES_OWN: Final = frozenset(
    {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FULL}
)
"""Primary codes that say something about the store, whatever statement met them first."""


def _is_allowed(action: int, first: str, second: str) -> bool:
    if action in _NEVER:
        return False
    if action in _WRITES or action in _HIDES_OTHERS:
        return not _is_ours(first)
    if action in _WRITES_BESIDE:
        return not _is_ours(first) and not _is_ours(second)
    if action == sqlite3.SQLITE_SAVEPOINT:
        return not _is_ours(second)
    if action == sqlite3.SQLITE_PRAGMA:
        return first.lower() in _PRAGMAS
    if action == sqlite3.SQLITE_FUNCTION:
        return second.lower() != "load_extension"
    return True


def _is_ours(name: str) -> bool:
    return name.lower().startswith(_PREFIX)
