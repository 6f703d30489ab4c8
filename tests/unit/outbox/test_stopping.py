"""The outbox lets go of conversations calmly: what was claimed is sent or given back."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from procession.core.effect import EffectState, Terms
from procession.core.errors import StoreAway
from procession.core.lane import Lease, Phase, Side
from procession.core.limits import KEEP_TURNS_MAX
from procession.core.turn import HeldEffect
from procession.outbox.service import OutboxService
from procession.ports.store import Ask
from procession.runtime.bell import InnerBell
from procession.storage.memory import MemoryStore
from procession.testing.stand_ins import ManualClock
from tests.unit.outbox.scene import ACME, LANE, Scene


class SlowToAnswer(MemoryStore):
    """A claim happens at once, and is answered when the test says so."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock=clock)
        self.claimed = asyncio.Event()
        self.may_answer = asyncio.Event()

    async def claim_sends(self, ask: Ask) -> tuple[HeldEffect, ...]:
        found = await super().claim_sends(ask)
        if found:
            self.claimed.set()
            await self.may_answer.wait()
        return found


class AwayForReleases(MemoryStore):
    """It cannot be had when a lane is to be given back."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock=clock)
        self.refused = asyncio.Event()

    async def release(self, leases: Sequence[Lease], *, uncount: bool = True) -> None:
        self.refused.set()
        raise StoreAway("for a moment")


async def test_a_conversation_that_cannot_be_given_back_does_not_end_the_stage() -> None:
    act = await Scene(AwayForReleases).with_channel()
    store = act.store
    assert isinstance(store, AwayForReleases)
    await act.ask_for(*[Terms()] * (KEEP_TURNS_MAX + 1))
    service = OutboxService(replace(act.means, bell=InnerBell()))

    async with asyncio.TaskGroup() as group:
        await service.start(group)
        await store.refused.wait()
        await service.stop()

    assert len(act.connector.calls) == KEEP_TURNS_MAX
    assert act.notebook.lines[-1].what == "outbox.not_given_back"


async def test_what_a_claim_answers_after_the_stop_is_sent_and_not_left_held() -> None:
    act = await Scene(SlowToAnswer).with_channel()
    store = act.store
    assert isinstance(store, SlowToAnswer)
    await act.ask_for(Terms())
    service = OutboxService(replace(act.means, bell=InnerBell()))

    async with asyncio.TaskGroup() as group:
        await service.start(group)
        await store.claimed.wait()
        stopping = group.create_task(service.stop())
        for _ in range(50):  # rounds of the loop: enough for a stop that does not wait to be over
            await asyncio.sleep(0)
        assert not stopping.done()
        store.may_answer.set()
        await stopping

    assert (await act.seen()).state is EffectState.CONFIRMED
    assert store.tables.lanes[ACME, LANE, Side.SENDS].phase is Phase.IDLE
