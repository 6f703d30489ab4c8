"""The reference store: the contract in its plainest form, for tests and for other stores to be compared with.

Each operation is one function over plain rows, and happens without a pause in between, so that G1 holds by itself. It
looks at everything where a real store uses an index: nothing here is fast, and nothing here survives the process.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from procession.core.effect import EffectDraft
from procession.core.event import Acceptance, Intake
from procession.core.ids import EffectId, EventId
from procession.core.lane import Lease
from procession.core.pace import Pace
from procession.core.turn import Began, HeldEffect, HeldTurn, NotBegun, Recorded, Settled, Settlement, Step
from procession.core.verdict import Fate, Verdict
from procession.ports.clock import Clock
from procession.ports.store import Ask, Pruned, Swept
from procession.storage.clock import StoreClock
from procession.storage.memory import accept, claim, sends, settle, sweep
from procession.storage.memory.console import MemoryConsole
from procession.storage.memory.directory import MemoryDirectory
from procession.storage.memory.rows import Tables


class MemoryStore:
    """`tables` outlive it: a second store on the same tables is the same store after a restart."""

    def __init__(self, *, clock: Clock, tables: Tables | None = None) -> None:
        self.tables = tables if tables is not None else Tables()
        self._clock = StoreClock(clock, not_before=self.tables.newest)
        self.console = MemoryConsole(self.tables, self.now)
        self.directory = MemoryDirectory(self.tables, self.now)

    @property
    def era(self) -> int:
        return self.tables.era

    def now(self) -> datetime:
        """G5: a second store on the same tables goes on from the newest moment that the first has seen."""
        self.tables.newest = self._clock.now()
        return self.tables.newest

    async def accept(self, intake: Intake) -> Acceptance:
        return accept.accept(self.tables, intake, self.now())

    async def claim_turns(self, ask: Ask) -> tuple[HeldTurn, ...]:
        return claim.claim_turns(self.tables, ask, self.now())

    async def claim_sends(self, ask: Ask) -> tuple[HeldEffect, ...]:
        return claim.claim_sends(self.tables, ask, self.now())

    async def renew(self, leases: Sequence[Lease], ttl: timedelta) -> tuple[Lease, ...]:
        return claim.renew(self.tables, leases, ttl, self.now())

    async def remember(
        self, lease: Lease, turn: EventId, steps: Sequence[Step] = (), flush: Sequence[EffectDraft] = ()
    ) -> Fate:
        return settle.remember(self.tables, lease, turn, steps, flush, self.now())

    async def settle(self, settlement: Settlement) -> Settled:
        return settle.settle(self.tables, settlement, self.now())

    async def release(self, leases: Sequence[Lease], *, uncount: bool = True) -> None:
        claim.release(self.tables, leases, uncount=uncount, now=self.now())

    async def begin(self, lease: Lease, effect: EffectId, attempt: int, pace: Pace | None = None) -> Began | NotBegun:
        return sends.begin(self.tables, lease, effect, attempt, pace, self.now())

    async def record(
        self, lease: Lease, effect: EffectId, attempt: int, verdict: Verdict, ttl: timedelta | None
    ) -> Recorded:
        return sends.record(self.tables, lease, effect, attempt, verdict, ttl, self.now())

    async def sweep(self, rows_max: int) -> Swept:
        return sweep.sweep(self.tables, rows_max, self.now())

    async def prune(self, keep: timedelta, rows_max: int) -> Pruned:
        return sweep.prune(self.tables, keep, rows_max, self.now())

    async def close(self) -> None:
        """Nothing is held open."""
