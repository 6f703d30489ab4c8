"""The machine finds what it is there to find: stores that differ from the reference in one thing each."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from procession.core.effect import EffectDraft
from procession.core.event import Acceptance, Intake
from procession.core.ids import EffectId, EventId
from procession.core.lane import Lease
from procession.core.turn import Advance, Park, Recorded, SetAside, Settled, Settlement, Step
from procession.core.verdict import Deferred, Fate, Uncertain, Verdict
from procession.ports.store import Swept
from procession.storage.memory import MemoryStore
from procession.storage.memory.secrets import MemorySecrets
from tests.conformance.clock import ManualClock, SeededChance
from tests.conformance.harness import Guarantee, Harness, Opened
from tests.conformance.openers import memory
from tests.properties.machine import LineMachine
from tests.properties.wrong_merges import (
    ForgetsNames,
    LosesAWaitingEvent,
    MovesInAnyOrder,
    PlaysBothAtOnce,
    RenamesWhatMoves,
    TakesNewEventsAfterAll,
)


class WithoutFence(MemoryStore):
    """Whoever comes late with a settlement is let in."""

    async def settle(self, settlement: Settlement) -> Settled:
        settled = await super().settle(settlement)
        row = self.tables.lanes[settlement.lease.tenant, settlement.lease.lane, settlement.lease.side]
        if settled.fate is Fate.LOST:
            late = replace(settlement, lease=replace(settlement.lease, era=self.era, epoch=row.epoch))
            return await super().settle(late)
        return settled


class RetriesWhatIsUnclear(MemoryStore):
    """A send without an answer is sent again."""

    async def record(
        self, lease: Lease, effect: EffectId, attempt: int, verdict: Verdict, ttl: timedelta | None
    ) -> Recorded:
        if isinstance(verdict, Uncertain):
            verdict = Deferred(after=verdict.after, reason=verdict.reason)
        return await super().record(lease, effect, attempt, verdict, ttl)


class NeverUncounts(MemoryStore):
    """A try that was given back counts all the same."""

    async def release(self, leases: Sequence[Lease], *, uncount: bool = True) -> None:
        await super().release(leases, uncount=False)


class ParksWhatItShouldSetAside(MemoryStore):
    async def settle(self, settlement: Settlement) -> Settled:
        if isinstance(settlement.outcome, SetAside):
            settlement = replace(settlement, outcome=Park(reason=settlement.outcome.reason))
        return await super().settle(settlement)


class LosesReminders(MemoryStore):
    """Each turn that sets a second one."""

    async def settle(self, settlement: Settlement) -> Settled:
        if isinstance(settlement.outcome, Advance) and self.tables.reminders:
            settlement = replace(settlement, reminders=())
        return await super().settle(settlement)


class ForgetsFlushes(MemoryStore):
    async def remember(
        self, lease: Lease, turn: EventId, steps: Sequence[Step] = (), flush: Sequence[EffectDraft] = ()
    ) -> Fate:
        return await super().remember(lease, turn, steps)


class DeafToSightings(MemoryStore):
    async def accept(self, intake: Intake) -> Acceptance:
        return await super().accept(replace(intake, sightings=()))


class LeavesTheDead(MemoryStore):
    """Its sweeper frees no lease while another lane waits for anything."""

    async def sweep(self, rows_max: int) -> Swept:
        leases = [row for row in self.tables.lanes.values() if row.lease_until is not None]
        kept = {row.id: row.lease_until for row in leases} if len(leases) > 1 else {}
        for row in leases:
            row.lease_until = None if kept else row.lease_until
        swept = await super().sweep(rows_max)
        for key, until in kept.items():
            self.tables.lanes[key].lease_until = until
        return swept


BROKEN: list[type[MemoryStore]] = [
    WithoutFence,
    RetriesWhatIsUnclear,
    NeverUncounts,
    ParksWhatItShouldSetAside,
    LosesReminders,
    ForgetsFlushes,
    DeafToSightings,
    LeavesTheDead,
    LosesAWaitingEvent,
    PlaysBothAtOnce,
    RenamesWhatMoves,
    MovesInAnyOrder,
    TakesNewEventsAfterAll,
    ForgetsNames,
]

BROKEN_IN_ITSELF: list[type[MemoryStore]] = [
    LosesAWaitingEvent,
    PlaysBothAtOnce,
    RenamesWhatMoves,
    MovesInAnyOrder,
    TakesNewEventsAfterAll,
]
"""What the invariants find without anything to compare with."""


GENEROUS = settings(
    max_examples=300,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.parametrize("broken", BROKEN)
def test_a_store_that_differs_in_one_thing_is_found(broken: type[MemoryStore]) -> None:
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine_over(memory, opener_of(broken)), settings=GENEROUS)


@pytest.mark.parametrize("broken", BROKEN_IN_ITSELF)
def test_a_store_that_breaks_an_invariant_is_found_by_itself(broken: type[MemoryStore]) -> None:
    with pytest.raises(AssertionError):
        run_state_machine_as_test(machine_over(opener_of(broken)), settings=GENEROUS)


def machine_over(*openers: Callable[[], Harness]) -> type[LineMachine]:
    class Machine(LineMachine):
        def harnesses(self) -> Sequence[Harness]:
            return [opener() for opener in openers]

        def restart(self, draw: object) -> None:
            """The broken one keeps nothing over a restart; that is not what is to be found."""

    return Machine


def opener_of(broken: type[MemoryStore]) -> Callable[[], Harness]:
    async def opened(clock: ManualClock, chance: SeededChance) -> Opened:
        store = broken(clock=clock)
        secrets = MemorySecrets(store.tables, store.now)
        return Opened(store=store, console=store.console, directory=store.directory, secrets=secrets)

    return lambda: Harness(opened, Guarantee.NO_SQL)
