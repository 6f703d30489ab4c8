"""A turn's own SQL (T9): a handler's statements inside the settling transaction, on the writer's connection.

It is lent a connection of psycopg's as everybody knows it. It may read all tables and write its own. It may not begin
or end transactions, set how commits are kept, or write to what begins with `procession_`: statements that could are
refused before they are sent, and what the transaction has done to the store's tables is compared before and after.
Whatever goes wrong, the batch is rolled back, and the others of it run anew without this turn.

All that a handler runs in one settlement has SQL_TIME_MAX, since every other write of this process waits meanwhile.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, Self

import psycopg
from psycopg.abc import Params

from procession.core.errors import SqlFailed, StoreError
from procession.core.limits import SQL_TIME_MAX
from procession.core.turn import SqlWork
from procession.ports.clock import Clock
from procession.storage.ledger.book import Book
from procession.storage.postgres.connection import StoreConnection
from procession.storage.postgres.rows import PostgresRows

_NOT_ITS: Final = re.compile(
    r"\s*(abort|begin|checkpoint|commit|deallocate|discard|end|listen|lock|notify|prepare|release|reset|rollback"
    r"|savepoint|set|start|unlisten|vacuum)\b",
    re.IGNORECASE,
)
_REMARKS: Final = re.compile(r"\s*(--[^\n]*\n|/\*.*?\*/)", re.DOTALL)


class LentCursor(psycopg.Cursor[tuple[Any, ...]]):
    """One statement at a time, and none that steers the transaction."""

    def execute(
        self,
        query: Any,  # noqa: ANN401  # psycopg's
        params: Params | None = None,
        *,
        prepare: bool | None = None,
        binary: bool | None = None,
    ) -> Self:
        _refuse(query)
        del prepare  # what is prepared is one statement: a second one cannot hide behind it
        return super().execute(query, params, prepare=True, binary=binary)

    def executemany(self, query: Any, params_seq: Any, *, returning: bool = False) -> None:  # noqa: ANN401  # psycopg's
        _refuse(query)
        super().executemany(query, params_seq, returning=returning)


class SqlRunner:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def run(self, book: Book, works: Sequence[SqlWork]) -> None:
        """All of them, or none. Raises SqlFailed: nothing of the transaction may be kept."""
        rows = book.rows
        assert isinstance(rows, PostgresRows)
        book.flush()
        tables = [oid for (oid,) in rows.execute("sqlwork.own_tables").fetchall()]
        before = rows.execute("sqlwork.seen", (tables,)).fetchone()
        rows.execute("sqlwork.limit", (f"{SQL_TIME_MAX.total_seconds() * 1_000:.0f}ms",)).fetchall()
        try:
            self._run(rows.connection, works)
            if rows.execute("sqlwork.seen", (tables,)).fetchone() != before:
                raise PermissionError("it has touched the store's own tables, or how this transaction is kept")
            rows.execute("sqlwork.limit", ("0",)).fetchall()
        except StoreError:
            raise
        except Exception as error:  # a handler's own code may raise anything
            if rows.connection.closed:
                raise
            raise SqlFailed(f"the turn's own SQL failed, and nothing of the turn was kept: {error}") from error

    def _run(self, connection: StoreConnection, works: Sequence[SqlWork]) -> None:
        began = self._clock.monotonic()
        connection.lend(LentCursor)
        try:
            for work in works:
                work(connection)
        finally:
            connection.take_back()
        if self._clock.monotonic() - began > SQL_TIME_MAX.total_seconds():
            raise TimeoutError(f"it took longer than {SQL_TIME_MAX.total_seconds():g} seconds")
        if connection.info.transaction_status != psycopg.pq.TransactionStatus.INTRANS:
            raise PermissionError("it has ended, or broken, the transaction that it ran in")


def _refuse(query: object) -> None:
    text = query.decode(errors="replace") if isinstance(query, bytes) else str(query)
    while found := _REMARKS.match(text):
        text = text[found.end() :]
    if _NOT_ITS.match(text):
        raise PermissionError("turn.sql may not begin, end, lock or set anything: the store does")
