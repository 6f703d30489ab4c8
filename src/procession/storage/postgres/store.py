"""The Postgres store: the line's operations on one database, for any number of processes.

The pieces: `ledger/` beside this folder has the rules; `book.py` is what they work with here, `batches.py` runs them in
transactions, `writer.py` decides when; `opening.py` makes sure of the server.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
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
from procession.storage.postgres.batches import Ledger
from procession.storage.postgres.opening import prepared
from procession.storage.postgres.reader import Reader
from procession.storage.postgres.sqlwork import SqlRunner
from procession.storage.postgres.writer import ThreadWriter
from procession.storage.rows import Rows
from procession.storage.secrets import StoredSecrets

T = TypeVar("T")

SLOTS = 32
"""Rows that the processes of an installation count into, of each tenant."""


def _run_whole(do: Callable[[Book], T], book: Book) -> T:
    """With everything in the tables that the batch has gathered so far, since such a function may read any of them."""
    book.flush_turns()
    return do(book)


class PostgresStore:
    """Opened by `open`; everything after that on one event loop."""

    def __init__(self, *, ledger: Ledger, reader: Reader, sql: SqlRunner) -> None:
        self._run_sql = sql.run
        self._ledger = ledger
        self._reader = reader
        self._writer = ThreadWriter(ledger)
        self.console = StoredConsole(self)
        self.directory = StoredDirectory(self)
        self.secrets = StoredSecrets(self)
        self._closed = False

    @classmethod
    def open(cls, url: str, *, clock: Clock, chance: Chance, own_time: bool = False) -> Self:
        """Open the store in a database, or make one there. It waits for the database: not on an event loop that others
        use.

        The time is the server's. `own_time`: it is `clock`'s, as tests have it.

        Raises: Misconfigured (the server may lose what it has committed), SchemaNewer, StoreAway.
        """
        connection = prepared(url, chance)
        ledger = Ledger(url, clock if own_time else None, clock, int.from_bytes(chance.token(1)) % SLOTS)
        ledger.open(connection)
        return cls(ledger=ledger, reader=Reader(url), sql=SqlRunner(clock))

    @property
    def era(self) -> int:
        """Raised when the store may have lost writes; leases of another are void."""
        return self._ledger.era

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
        """Finish what was begun, and let go. Idempotent."""
        await self._writer.close()
        if not self._closed:
            self._closed = True
            self._reader.close()

    # --- for the console, the directory and the vault of this store ---

    async def write(self, do: Callable[[Book], T]) -> T:
        """Run this in the writer's next batch; see `Reach`."""
        return await self._writer.put(partial(_run_whole, do))

    async def read(self, do: Callable[[Rows], T]) -> T:
        """Run this on a connection that can only read, on one snapshot."""
        return await self._reader.run(do)
