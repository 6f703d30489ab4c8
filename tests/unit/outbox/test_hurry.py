"""A crowd of conversations under one pace: the outbox and upkeep together reach it, keep to it, and stay calm."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest

from procession.core.ids import EffectId
from procession.core.lane import Lease
from procession.core.pace import Pace
from procession.core.turn import Began, HeldEffect, NotBegun, Recorded
from procession.core.verdict import Confirmed, Verdict
from procession.outbox.service import OutboxService
from procession.ports.clock import Clock
from procession.ports.connector import Call
from procession.ports.store import Ask, Swept
from procession.runtime.bell import InnerBell
from procession.storage.memory import MemoryStore
from procession.testing.simulation.clock import NodeClock, sleep
from procession.testing.simulation.interleaving import Interleaving
from procession.testing.simulation.loop import SimulatedLoop, run
from procession.upkeep.service import UpkeepService
from tests.unit.outbox.scene import Scene

CROWD = 200
PER_SECOND = 80


class DiskBound(MemoryStore):
    """Each write takes as long as a disk does."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock=clock)
        self.calls: Counter[str] = Counter()

    async def _write(self, name: str) -> None:
        self.calls[name] += 1
        await sleep(0.004)

    async def claim_sends(self, ask: Ask) -> tuple[HeldEffect, ...]:
        found = await super().claim_sends(ask)
        await self._write("claim")
        return found

    async def begin(self, lease: Lease, effect: EffectId, attempt: int, pace: Pace | None = None) -> Began | NotBegun:
        answer = await super().begin(lease, effect, attempt, pace)
        await self._write("begin")
        return answer

    async def record(
        self, lease: Lease, effect: EffectId, attempt: int, verdict: Verdict, ttl: timedelta | None
    ) -> Recorded:
        recorded = await super().record(lease, effect, attempt, verdict, ttl)
        await self._write("record")
        return recorded

    async def sweep(self, rows_max: int) -> Swept:
        swept = await super().sweep(rows_max)
        await self._write("sweep")
        return swept


class Crowd:
    """An engine without ingress and lanes, in virtual time; `sent` is when each was."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.sent: list[float] = []
        self._loop = loop
        self._done = asyncio.Event()
        self._scene = Scene(DiskBound, NodeClock(loop))
        self._scene.connector.own_pace = Pace(per_second=PER_SECOND)
        self._scene.connector.act = self._perform

    @property
    def calls(self) -> Counter[str]:
        store = self._scene.store
        assert isinstance(store, DiskBound)
        return store.calls

    async def _perform(self, call: Call) -> Verdict:
        del call
        self.sent.append(self._loop.now)
        await sleep(0.15)
        if len(self.sent) == CROWD:
            self._done.set()
        return Confirmed()

    async def play(self) -> None:
        scene = await self._scene.with_channel()
        await scene.crowd(CROWD)
        bell, means = InnerBell(), scene.means
        outbox = OutboxService(replace(means, bell=bell))
        upkeep = UpkeepService(
            store=means.store,
            bell=bell,
            chance=means.chance,
            telemetry=means.telemetry,
            fail_stop=means.fail_stop,
        )
        async with asyncio.TaskGroup() as group:
            await upkeep.start(group)
            await outbox.start(group)
            await self._done.wait()
            await outbox.stop()
            await upkeep.stop()


def played(seed: int) -> Crowd:
    async def world(loop: SimulatedLoop) -> Crowd:
        crowd = Crowd(loop)
        await crowd.play()
        return crowd

    return run(seed, world, interleaving=Interleaving.ARRIVAL)


@pytest.fixture(scope="module")
def crowd() -> Crowd:
    return played(1)


def test_a_crowd_sends_as_fast_as_its_pace_allows(crowd: Crowd) -> None:
    assert len(crowd.sent) == CROWD
    assert CROWD / PER_SECOND - 0.2 < crowd.sent[-1] - crowd.sent[0] < CROWD / PER_SECOND + 0.2


def test_a_crowd_keeps_to_its_pace_all_the_while(crowd: Crowd) -> None:
    most = max(sum(1 for at in crowd.sent if begin <= at < begin + 1) for begin in crowd.sent)

    assert most <= PER_SECOND * 1.1 + 4, "what wakes a little late comes a little closer to the next"


def test_a_crowd_that_waits_makes_no_storm(crowd: Crowd) -> None:
    """Each is told its place once, and wakes once; whoever is rung in vain looks once."""
    assert crowd.calls["begin"] <= 2 * CROWD
    assert crowd.calls["sweep"] <= 3 * CROWD
    assert crowd.calls["claim"] <= 3 * CROWD
