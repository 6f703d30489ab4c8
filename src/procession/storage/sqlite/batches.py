"""The ledger: many operations in one transaction, and what is known when it ends.

A batch is begun, its operations run one after the other, and it is committed: so a commit, which waits for the disk,
is shared. What can go wrong, and what is then said to whom:

- An operation raises (a bad request, a bug): everything is rolled back, and the others run anew without it, so that it
  can neither leave half of itself behind nor take innocent ones with it. A handler's own SQL that fails is the
  exception that is expected: it runs in a savepoint before its settlement has written anything, and is rolled back to
  that.
- The disk is full, or the file is locked by a stranger: SQLite says so before anything is in the log that a later
  process could take for a commit (the last frame of a transaction is what commits it, and a write that did not fit is
  not that frame). The batch is rolled back, the rollback is verified by a number that each commit raises, and all are
  told `StoreFull` or `StoreAway`.
- Anything else, at a statement or at COMMIT: it is unknown. After a failed sync the transaction can look rolled back
  and yet be there after a crash, and a further commit on the same handle would overwrite it (measured). All are told
  `OutcomeUnknown`, and the ledger is broken for good: a new process has to open the file and see what it holds.
"""

import sqlite3
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, Protocol, TypeVar

from procession.core.errors import (
    BadRequest,
    OutcomeUnknown,
    SqlFailed,
    StoreAway,
    StoreBroken,
    StoreError,
    StoreFull,
)
from procession.storage.clock import StoreClock
from procession.storage.instants import instant
from procession.storage.ledger.book import Book
from procession.storage.ledger.shares import Shares
from procession.storage.sqlite.rows import SqliteRows
from procession.storage.sqlite.statements import own, statements
from procession.storage.waiting import AnyWork

T = TypeVar("T")

_SQL: Final = statements("store")
_BEGIN: Final = own("BEGIN IMMEDIATE")

_CERTAIN: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_NOMEM})
"""Primary codes after which the transaction certainly did not happen, once it is rolled back."""
_BROKEN: Final = frozenset(
    {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CANTOPEN}
)
"""Primary codes after which the file, or what this process believes of it, cannot be trusted."""


class CommitFault(StrEnum):
    """What a simulation may do to a commit."""

    NONE = "none"
    AWAY = "away"
    FULL = "full"
    UNKNOWN_KEPT = "unknown_kept"
    UNKNOWN_LOST = "unknown_lost"


class Faults(Protocol):
    """Where a simulation reaches into a batch."""

    def before_batch(self, works: int) -> None:
        """A batch of so many is about to begin."""
        ...

    def at_commit(self, works: int) -> CommitFault:
        """All of them have run, and the commit is next."""
        ...


class Ledger:
    def __init__(self, connection: sqlite3.Connection, clock: StoreClock, faults: Faults | None = None) -> None:
        self.book = Book(SqliteRows(connection), Shares())
        self.rows_since_checkpoint = 0
        self.broken: BaseException | None = None
        self._connection = connection
        self._clock = clock
        self._faults = faults
        self._batch = 0
        self._recall()

    def run(self, works: Sequence[AnyWork]) -> None:
        """Run them in one transaction; each has its answer or its error then, and what was answered is durable."""
        try:
            self._run(works)
        except StoreError as error:
            _tell(works, error)
        except Exception as error:  # noqa: BLE001 - see the next line
            # SQLite's, or one of ours in the handling of one: either way nobody can say any more what the file holds.
            self._break(error)
            _tell(works, OutcomeUnknown(f"the store failed: {_words(error)}"))

    def now(self) -> datetime:
        return self._clock.now()

    def close(self) -> None:
        """Move the whole log into the file, and let go."""
        self.checkpoint("TRUNCATE")
        self._connection.close()

    def abandon(self) -> None:
        """Let go of the file as a process that is killed does: an open transaction is lost, and the log stays as it
        is.
        """
        self._connection.close()

    def checkpoint(self, mode: str = "PASSIVE") -> None:
        """Move what is in the log into the file. Only the writer does this, between its own transactions."""
        if self.broken is not None:
            return
        try:
            self._connection.execute(_CHECKPOINTS[mode]).fetchall()
            self.rows_since_checkpoint = 0
        except sqlite3.Error as error:
            # A full disk leaves the log as it is: it is tried again later. A failed sync must not be followed by
            # anything.
            if _primary(error) not in _CERTAIN:
                self._break(error)

    # --- one batch ---

    def _run(self, works: Sequence[AnyWork]) -> None:
        if self.broken is not None:
            raise StoreBroken("the store failed before: end this process") from self.broken
        if self._faults is not None:
            self._faults.before_batch(len(works))
        left = list(works)
        while left:
            spoiler = self._attempt(left)
            if spoiler is None:
                return
            left.remove(spoiler)

    def _attempt(self, works: list[AnyWork]) -> AnyWork | None:
        """All of them, committed; or, rolled back, the one that raised."""
        connection, book = self._connection, self.book
        book.now = max(book.now, instant(self._clock.now()))
        self._begin()
        rows = connection.total_changes
        for work in works:
            work.error = None
            try:
                work.answer = work.do(book)
                book.flush()
            except SqlFailed as error:
                work.error = error
                if not connection.in_transaction:
                    self._roll_back()
                    return work
            except Exception as error:  # noqa: BLE001 - whatever an operation raises, it must not take others with it
                self._roll_back_of(error)
                work.error = _shown(error)
                return work
        book.finish()
        rows = connection.total_changes - rows
        self._commit(works, rows)
        return None

    def _begin(self) -> None:
        try:
            self._connection.execute(_BEGIN)
        except sqlite3.Error as error:
            if _primary(error) in _CERTAIN:
                raise _away(error) from error
            raise
        self.book.shares.begin()

    def _commit(self, works: list[AnyWork], rows: int) -> None:
        book, connection = self.book, self._connection
        fault = CommitFault.NONE if self._faults is None else self._faults.at_commit(len(works))
        try:
            if rows:
                connection.execute(_SQL["commit"], (book.now,))
            if fault in (CommitFault.NONE, CommitFault.UNKNOWN_KEPT):
                connection.commit()
        except sqlite3.Error as error:
            if _primary(error) not in _CERTAIN:
                raise
            self._roll_back()
            raise _away(error) from error
        if fault is not CommitFault.NONE:
            self._simulate(fault)
        book.shares.commit()
        self._batch += 1 if rows else 0
        self.rows_since_checkpoint += rows

    def _simulate(self, fault: CommitFault) -> None:
        match fault:
            case CommitFault.AWAY:
                self._roll_back()
                raise StoreAway("a simulated failure")
            case CommitFault.FULL:
                self._roll_back()
                raise StoreFull("a simulated full disk")
            case CommitFault.UNKNOWN_LOST:
                self._roll_back()
                raise sqlite3.OperationalError("a simulated loss of the commit")
            case _:
                raise sqlite3.OperationalError("a simulated loss of the answer")

    def _roll_back_of(self, error: Exception) -> None:
        """Put everything back after an operation raised; if its error is the store's own, that goes up."""
        code = _primary(error) if isinstance(error, sqlite3.Error) else None
        if code in _BROKEN:
            raise error
        self._roll_back()
        if code in _CERTAIN:
            raise _away(error) from error

    def _roll_back(self) -> None:
        """And make sure of it: the number that each commit raises has to be what it was."""
        if self._connection.in_transaction:
            self._connection.rollback()
        self.book.forget()
        self.book.shares.rollback()
        (batch,) = self._connection.execute(_SQL["batch"]).fetchone()
        if batch != self._batch:
            raise sqlite3.DatabaseError("a transaction that was rolled back is there")
        self._recall_settings()

    def _break(self, error: BaseException) -> None:
        self.broken = self.broken or error

    # --- what is kept in memory ---

    def _recall_settings(self) -> None:
        """What an operation sets in the file and in memory at once: after a rollback memory must not be ahead."""
        book = self.book
        book.era, paused = self._connection.execute(_SQL["flags"]).fetchone()
        book.sending_paused = bool(paused)
        book.reload_tenants()

    def _recall(self) -> None:
        """Make what is kept in memory from the file."""
        book, connection = self.book, self._connection
        _, book.era, paused, book.now, self._batch = connection.execute(_SQL["load"]).fetchone()
        book.sending_paused = bool(paused)
        (book.lane_no,) = connection.execute(_SQL["last_lane"]).fetchone()
        (book.asked,) = connection.execute(_SQL["last_asked"]).fetchone()
        book.names.recall()
        (book.ready_pos,) = connection.execute(_SQL["last_ready_pos"]).fetchone()
        book.reload_tenants()
        book.shares.recount(
            ready=connection.execute(_SQL["ready"]).fetchall(),
            suspects=connection.execute(_SQL["suspects"]).fetchall(),
            held=connection.execute(_SQL["held"]).fetchall(),
        )


_CHECKPOINTS: Final = {
    "PASSIVE": own("PRAGMA wal_checkpoint(PASSIVE)"),
    "TRUNCATE": own("PRAGMA wal_checkpoint(TRUNCATE)"),
}


def _tell(works: Sequence[AnyWork], error: StoreError) -> None:
    for work in works:
        work.error = work.error or error


def _primary(error: sqlite3.Error) -> int | None:
    """The primary result code; None: the driver's own error, not SQLite's."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _away(error: BaseException) -> StoreAway:
    full = isinstance(error, sqlite3.Error) and _primary(error) == sqlite3.SQLITE_FULL
    if full:
        return StoreFull("the disk is full: nothing was kept")
    return StoreAway(f"the store is not to be had: {_words(error)}")


def _words(error: BaseException) -> str:
    name = getattr(error, "sqlite_errorname", None)
    return f"{error} ({name})" if name else str(error)


def _shown(error: Exception) -> Exception:
    """What the caller of an operation that raised is told (G3)."""
    if isinstance(error, UnicodeError | OverflowError):
        return BadRequest(f"this cannot be stored: {error}")
    return error
