"""The ledger: many operations in one transaction, and what is known when it ends.

What can go wrong, and what is then said to whom:

- An operation raises: everything is rolled back, and the others run anew without it.
- Another process has what the batch needs, or changed it first; a deadlock; a serialization failure: it certainly did
  not happen. It is rolled back and begins anew, with what was missing among the first that it waits for.
- The connection is lost, or an answer is late, before COMMIT was sent: it certainly did not happen. `StoreAway`.
- The same while COMMIT is under way: the server alone knows. It is asked, on a new connection, what became of that
  transaction; all are told what it says, and `OutcomeUnknown` only if it cannot say.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

import psycopg
from psycopg import errors

from procession.core.errors import BadRequest, OutcomeUnknown, ProcessionError, StoreAway, StoreError, StoreFull
from procession.core.ids import TenantId
from procession.ports.clock import Clock
from procession.storage.instants import instant, moment
from procession.storage.ledger import operate
from procession.storage.ledger.accept import accept
from procession.storage.ledger.begin import begin
from procession.storage.ledger.record import record
from procession.storage.ledger.release import release, renew
from procession.storage.ledger.settle import remember, settle
from procession.storage.postgres.book import PostgresBook
from procession.storage.postgres.connection import StoreConnection, words
from procession.storage.postgres.contended import Contended, Needed
from procession.storage.postgres.needs import events, needs, tenants
from procession.storage.postgres.opening import Place, place_of, reconnected, stored
from procession.storage.postgres.rows import PostgresRows
from procession.storage.postgres.shares import PostgresShares
from procession.storage.waiting import AnyWork, Work

TRIES_MAX: Final = 50
"""How often a batch begins anew when others are in its way: each try waits for what the one before it has met."""
LOOKS_MAX: Final = 100
"""How often it is asked what became of a commit, while the server still works on it."""

BEGIN: Final = (
    "BEGIN ISOLATION LEVEL READ COMMITTED;"
    # Whoever stops in the middle must not keep others waiting for longer than a lease may take.
    "SET LOCAL idle_in_transaction_session_timeout = 2000;"
    "SET LOCAL lock_timeout = 3000"
)
_AGAIN: Final = (
    Contended,
    errors.DeadlockDetected,
    errors.SerializationFailure,
    errors.LockNotAvailable,
    errors.UniqueViolation,
)
_CANNOT_BE: Final = (errors.DataError, UnicodeError, OverflowError)
_PLAIN: Final = frozenset({accept, settle, remember, begin, record, renew, release})
_NOT_REPLICATED: Final = "canceling wait for synchronous replication"


class Ledger:
    broken: BaseException | None = None
    """Nothing is: a connection that failed is replaced."""

    def __init__(self, url: str, clock: Clock | None, monotonic: Clock, slot: int) -> None:
        self._url = url
        self._clock = clock
        self._monotonic = monotonic
        self._slot = slot
        self._connection: StoreConnection | None = None
        self._shares: PostgresShares | None = None
        self._book: PostgresBook | None = None
        self._directory: int | None = None
        self._warned = False
        self._newest = (0, 0.0)
        self.era = 0

    def open(self, connection: StoreConnection) -> None:
        """Begin with one that was prepared. Raises StoreAway, Misconfigured."""
        self._use(connection)

    def close(self) -> None:
        self._let_go()

    def now(self) -> datetime:
        """As the store said last, and what has passed since."""
        said, at = self._newest
        passed = 0.0 if self._clock is not None else self._monotonic.monotonic() - at
        own = 0 if self._clock is None else instant(self._clock.now())
        return moment(max(said + round(passed * 1_000_000), own))

    def run(self, works: Sequence[AnyWork]) -> None:
        """Run them in one transaction; each has its answer or its error then, and what was answered is durable."""
        try:
            self._run(list(works))
        except StoreError as error:
            _tell(works, error)
        except ProcessionError as error:
            _tell(works, StoreAway(str(error)))
        except (psycopg.Error, OSError) as error:
            # Whatever COMMIT was sent for is answered elsewhere, so this certainly did not happen.
            self._let_go()
            _tell(works, _away(error))

    # --- one batch ---

    def _run(self, left: list[AnyWork]) -> None:
        met, careful = Needed(), False
        for _ in range(TRIES_MAX):
            try:
                spoiler = self._attempt(left, met, careful=careful)
            except Contended as contended:
                met |= contended.what
                continue
            except _AGAIN:
                continue
            except _CANNOT_BE:
                if careful:
                    raise
                careful = True  # one of them gave what cannot be stored: which?
                continue
            if spoiler is None:
                return
            left.remove(spoiler)
            if not left:
                return
        raise StoreAway("other processes were in the way of this for too long")

    def _attempt(self, works: list[AnyWork], met: Needed, *, careful: bool) -> AnyWork | None:
        """All of them, committed; or, rolled back, the one that raised. `careful`: each is written before the next."""
        dos = [work.do for work in works]
        book = self._begun(tenants(dos))
        try:
            book.take(needs(dos, book.shares.find) | met)
            book.take_events(events(dos, book.shares.find))
            for work in works:
                work.error = None
                try:
                    apart = careful or not _is_plain(work.do)
                    if apart:
                        book.flush()
                    work.answer = work.do(book)
                    if apart:
                        book.flush()
                except (*_AGAIN, StoreError):
                    raise
                except Exception as error:
                    if isinstance(error, psycopg.Error) and not isinstance(error, _CANNOT_BE):
                        raise
                    self._roll_back(book)
                    work.error = _shown(error)
                    return work
            book.flush()
            book.finish()
            (transaction,) = book.execute("store.transaction").fetchone()
            if transaction is not None:
                book.execute("store.tick", (book.now,)).fetchall()
        except BaseException:
            self._roll_back(book)
            raise
        self._commit(book, transaction)
        return None

    def _begun(self, named: set[TenantId]) -> PostgresBook:
        """A book in a transaction. A connection that has died since it was last used is replaced: nothing has been
        asked of it yet.
        """
        try:
            return self._begin(named)
        except psycopg.OperationalError:
            self._let_go()
            return self._begin(named)

    def _begin(self, named: set[TenantId]) -> PostgresBook:
        book = self._ready()
        assert self._connection is not None
        book.shares.rollback_all()
        book.shares.meet(named)
        book.forget()
        self._warned = False
        self._connection.cursor().execute(BEGIN, prepare=False)
        given = None if self._clock is None else instant(self._clock.now())
        book.era, paused, directory, now = book.execute("store.begin", (given,)).fetchone()
        book.sending_paused = bool(paused)
        book.now = max(now, book.now)
        self.era = book.era
        self._newest = (book.now, self._monotonic.monotonic())
        book.shares.begin()
        if directory != self._directory:
            book.reload_tenants()
            self._directory = directory
        return book

    def _roll_back(self, book: PostgresBook) -> None:
        connection = self._connection
        book.forget()
        book.shares.rollback_all()
        self._directory = None
        if connection is None:
            return
        try:
            connection.cursor().execute("ROLLBACK", prepare=False)
        except (psycopg.Error, OSError):
            self._let_go()

    def _commit(self, book: PostgresBook, transaction: str | None) -> None:
        assert self._connection is not None
        try:
            status = self._connection.cursor().execute("COMMIT", prepare=False).statusmessage
        except errors.TransactionRollback:
            self._roll_back(book)
            raise
        except (psycopg.Error, OSError) as error:
            book.shares.rollback_all()
            self._let_go()
            self._find_out(transaction, error)
            return
        if status != "COMMIT":
            book.shares.rollback_all()
            raise StoreAway("the server rolled it back")
        book.shares.commit()
        if self._warned:
            raise OutcomeUnknown("it was written here, and a standby that has to have it may not have it")

    def _find_out(self, transaction: str | None, error: BaseException) -> None:
        """Returns if it was kept."""
        if transaction is None:
            raise StoreAway(f"the database is not to be had: {words(error)}") from error
        try:
            outcome = self._outcome(transaction)
        except (ProcessionError, psycopg.Error, OSError):
            outcome = None
        if outcome == "aborted":
            raise StoreAway("the connection was lost, and the server did not keep it") from error
        if outcome != "committed":
            raise OutcomeUnknown(f"the connection was lost while this was kept: {words(error)}") from error

    def _outcome(self, transaction: str) -> str | None:
        """What became of it, by a server that is still the one that it was begun on."""
        book = self._ready()
        for _ in range(LOOKS_MAX):
            (outcome,) = book.execute("store.outcome", (transaction,)).fetchone()
            if outcome != "in progress":
                return None if outcome is None else str(outcome)
            book.execute("store.wait_a_moment").fetchall()
        return None

    # --- the connection ---

    def _ready(self) -> PostgresBook:
        if self._connection is not None and self._connection.closed:
            self._let_go()
        if self._connection is None:
            self._use(reconnected(self._url))
        assert self._book is not None
        return self._book

    def _use(self, connection: StoreConnection) -> None:
        connection.add_notice_handler(self._hear)
        rows = PostgresRows(connection)
        shares = self._shares = self._shares or PostgresShares(rows)
        shares.use(rows)
        self._connection, self._book = connection, PostgresBook(rows, shares, self._slot)
        self._directory = None
        known, place = stored(connection), place_of(connection)
        if place != known.place:
            self._move(self._book, place)
        self.era = stored(connection).era

    def _move(self, book: PostgresBook, place: Place) -> None:
        """This is not the server that the store was written on, or not that life of it: writes may be missing."""

        def begin_era(_: Any) -> None:  # noqa: ANN401  # the book, as every work gets it
            book.hold("era")
            assert self._connection is not None
            before = stored(self._connection).place
            if before == place:
                return  # another process has seen it first
            book.execute("store.move_in", (place.cluster, place.timeline))
            reason = f"the database is another, or was promoted: timeline {before.timeline} became {place.timeline}"
            operate.new_era(book, "the store", reason)

        work = Work(begin_era)
        self._run([work])
        if work.error is not None:
            raise work.error

    def _hear(self, diagnostic: psycopg.errors.Diagnostic) -> None:
        if (diagnostic.message_primary or "").startswith(_NOT_REPLICATED):
            self._warned = True

    def _let_go(self) -> None:
        connection, self._connection, self._book = self._connection, None, None
        if connection is not None:
            connection.close()


def _is_plain(do: Callable[..., Any]) -> bool:
    """It finds what it works on by its keys alone, so what was changed before it need not be written first."""
    return isinstance(do, partial) and do.func in _PLAIN


def _tell(works: Sequence[AnyWork], error: StoreError) -> None:
    for work in works:
        work.error = work.error or error


def _away(error: BaseException) -> StoreAway:
    if isinstance(error, errors.DiskFull):
        return StoreFull("the database has no room: nothing was kept")
    return StoreAway(f"the database is not to be had: {words(error)}")


def _shown(error: Exception) -> Exception:
    """What the caller of an operation that raised is told (G3)."""
    if isinstance(error, _CANNOT_BE):
        return BadRequest(f"this cannot be stored: {words(error)}")
    return error
