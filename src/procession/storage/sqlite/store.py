"""The SQLite store: the line's operations on one file, for one engine process.

The pieces: `ledger/` runs operations on a connection; `writer.py` decides when, and shares commits; `opening.py` makes
sure of the file; `lock.py` of being alone. This file only hands operations to the writer.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Self, TypeVar

from procession.core.effect import EffectDraft
from procession.core.event import Acceptance, Intake
from procession.core.ids import EffectId, EventId
from procession.core.lane import Lease
from procession.core.pace import Pace
from procession.core.turn import Began, HeldEffect, HeldTurn, NotBegun, Recorded, Settled, Settlement, Step
from procession.core.verdict import Fate, Verdict
from procession.ports.chance import Chance
from procession.ports.clock import Clock
from procession.ports.store import Ask, Pruned, Swept
from procession.storage.clock import StoreClock
from procession.storage.console import StoredConsole
from procession.storage.directory import StoredDirectory
from procession.storage.ledger.accept import accept
from procession.storage.ledger.begin import begin
from procession.storage.ledger.book import Book
from procession.storage.ledger.claim import claim_sends, claim_turns
from procession.storage.ledger.prune import prune
from procession.storage.ledger.record import record
from procession.storage.ledger.release import release, renew
from procession.storage.ledger.settle import remember, settle
from procession.storage.ledger.sweep import sweep
from procession.storage.secrets import StoredSecrets
from procession.storage.sqlite.batches import Faults, Ledger
from procession.storage.sqlite.lock import FolderLock
from procession.storage.sqlite.opening import clock_mark, make_folder, open_writer
from procession.storage.sqlite.reader import Reader, Reading
from procession.storage.sqlite.sqlwork import SqlRunner
from procession.storage.sqlite.writer import CallLater, InlineWriter, OnBroken, ThreadWriter, Writer

T = TypeVar("T")


def _nobody_told(_error: BaseException) -> None:
    """Whoever opens a store without `on_broken` sees it in the errors alone."""


def _at_once() -> float:
    return 0.0


def _run_whole(do: Callable[[Book], T], book: Book) -> T:
    """With everything in the tables that the batch has gathered so far, since such a function may read any of them."""
    book.flush_turns()
    return do(book)


class SqliteStore:
    """Opened by `open`; everything after that on one event loop."""

    def __init__(
        self, *, folder: Path, lock: FolderLock, ledger: Ledger, writer: Writer, reader: Reader, sql: SqlRunner
    ) -> None:
        self.folder = folder
        self._lock = lock
        self._ledger = ledger
        self._writer = writer
        self._reader = reader
        self._run_sql = sql.run
        self.console = StoredConsole(self)
        self.directory = StoredDirectory(self, alone=True)
        self.secrets = StoredSecrets(self)
        self._closed = False

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        clock: Clock,
        chance: Chance,
        on_broken: OnBroken = _nobody_told,
        call_later: CallLater | None = None,
        commit_time: Callable[[], float] = _at_once,
        faults: Faults | None = None,
    ) -> Self:
        """Open the store in a data folder, or make one there.

        `on_broken` is called once, from the writer's thread, when the store cannot be trusted any more: end the
        process. With `call_later` there are no threads: batches run on that scheduler, their commits take
        `commit_time` seconds of it, and `faults` may reach into them. This is how a simulation runs the same code.

        Raises: Misconfigured (another engine has it, the file system cannot keep what is promised), SchemaNewer.
        """
        make_folder(folder)
        lock = FolderLock(folder)
        try:
            connection = open_writer(folder, clock, chance)
        except BaseException:
            lock.release()
            raise
        ledger = Ledger(connection, StoreClock(clock, not_before=clock_mark(connection)), faults)
        writer: Writer
        if call_later is None:
            writer = ThreadWriter(ledger, clock, on_broken)
        else:
            writer = InlineWriter(ledger, clock, on_broken, call_later, commit_time)
        reader = Reader(folder, inline=call_later is not None)
        sql = SqlRunner(connection, clock)
        return cls(folder=folder, lock=lock, ledger=ledger, writer=writer, reader=reader, sql=sql)

    @property
    def era(self) -> int:
        """Raised when the store may have lost writes; leases of another are void."""
        return self._ledger.book.era

    def now(self) -> datetime:
        """The store's own clock."""
        return self._ledger.now()

    # --- the line ---

    async def accept(self, intake: Intake) -> Acceptance:
        return await self._writer.put(partial(accept, intake=intake))

    async def claim_turns(self, ask: Ask) -> tuple[HeldTurn, ...]:
        return await self._writer.put(partial(claim_turns, ask=ask))

    async def claim_sends(self, ask: Ask) -> tuple[HeldEffect, ...]:
        return await self._writer.put(partial(claim_sends, ask=ask))

    async def renew(self, leases: Sequence[Lease], ttl: timedelta) -> tuple[Lease, ...]:
        return await self._writer.put(partial(renew, leases=leases, ttl=ttl))

    async def remember(
        self, lease: Lease, turn: EventId, steps: Sequence[Step] = (), flush: Sequence[EffectDraft] = ()
    ) -> Fate:
        return await self._writer.put(partial(remember, lease=lease, turn=turn, steps=steps, flush=flush))

    async def settle(self, settlement: Settlement) -> Settled:
        return await self._writer.put(partial(settle, settlement=settlement, run_sql=self._run_sql))

    async def release(self, leases: Sequence[Lease], *, uncount: bool = True) -> None:
        await self._writer.put(partial(release, leases=leases, uncount=uncount))

    async def begin(self, lease: Lease, effect: EffectId, attempt: int, pace: Pace | None = None) -> Began | NotBegun:
        return await self._writer.put(partial(begin, lease=lease, effect=effect, attempt=attempt, pace=pace))

    async def record(
        self, lease: Lease, effect: EffectId, attempt: int, verdict: Verdict, ttl: timedelta | None
    ) -> Recorded:
        return await self._writer.put(
            partial(record, lease=lease, effect=effect, attempt=attempt, verdict=verdict, ttl=ttl)
        )

    async def sweep(self, rows_max: int) -> Swept:
        return await self._writer.put(partial(sweep, rows_max=rows_max))

    async def prune(self, keep: timedelta, rows_max: int) -> Pruned:
        return await self._writer.put(partial(prune, keep=keep, rows_max=rows_max))

    async def close(self) -> None:
        """Finish what was begun, move the log into the file, and let go. Idempotent."""
        await self._writer.close()
        if not self._closed:
            self._closed = True
            if self._ledger.broken is None:
                self._reader.close()
                self._ledger.close()
            self._let_go()

    # --- for the console, the directory and the vault of this store ---

    async def write(self, do: Callable[[Book], T]) -> T:
        """Run this in the writer's next batch. If it raises, nothing of it is kept, and the others of the batch are
        not touched.

        It may run more than once (a batch that another of its works spoiled is run anew), so it changes nothing but the
        book's connection and rows. What it changes by its own statements in procession_lane, procession_effect or
        procession_tenant the book does not know: `book.forget()` and `book.reload_tenants()` are its affair.
        """
        return await self._writer.put(partial(_run_whole, do))

    async def read(self, do: Reading[T]) -> T:
        """Run this on a connection that can only read, on one snapshot."""
        return await self._reader.run(do)

    def abandon(self) -> None:
        """Let go as a crash does: nothing is finished and nobody is answered."""
        self._writer.abandon()
        if not self._closed:
            self._closed = True
            self._let_go()

    def _let_go(self) -> None:
        # The writer first: whoever closes a file last moves the log into it, and the reader cannot. After a failure the
        # log has to stay as it is, for the process that opens the file next.
        self._ledger.abandon()
        self._reader.close()
        self._lock.release()
