"""The outbox stops calmly: what was claimed is sent or given back."""

import asyncio
from dataclasses import replace

from procession.core.effect import EffectState, Terms
from procession.core.lane import Phase, Side
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
