"""The lanes stage in a world of virtual time, over the reference store, with a process that can die."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import TypeVar

from procession import App
from procession.core.effect import EffectDraft
from procession.core.event import EventState, Intake, NewEvent, Window
from procession.core.ids import ChannelName, EndpointName, EventId, LaneId, TenantId, WorkerId, event_id, lane_id
from procession.core.lane import Lease
from procession.core.turn import HeldTurn, Settled, Settlement, Step
from procession.core.verdict import Fate
from procession.lanes.means import Means
from procession.lanes.service import LanesService
from procession.ports.bell import Ring
from procession.ports.store import Ask
from procession.storage.memory import MemoryStore
from procession.storage.memory.rows import EventRow
from procession.testing.simulation.clock import NodeClock, sleep
from procession.testing.simulation.loop import SimulatedLoop
from procession.testing.simulation.loop import run as run_simulated
from procession.testing.stand_ins import AnyReply, HeldFiles, NoChance, Notebook, OpenVault

T = TypeVar("T")

TENANT = TenantId("acme")
CHANNEL = ChannelName("main")


class ProcessDied(BaseException):
    """Raised by a handler: the end of its process."""


class LocalBell:
    def __init__(self) -> None:
        self._rung = {ring: asyncio.Event() for ring in Ring}
        self.counts: Counter[Ring] = Counter()

    def ring(self, ring: Ring) -> None:
        self.counts[ring] += 1
        self._rung[ring].set()

    async def hear(self, ring: Ring, at_most: timedelta) -> bool:
        try:
            async with asyncio.timeout(at_most.total_seconds()):
                await self._rung[ring].wait()
        except TimeoutError:
            return False
        self._rung[ring].clear()
        return True


class NoThreads:
    """Plain functions are called where they are asked for: a simulated world has one thread."""

    async def run(self, call: Callable[[], T]) -> T:
        return call()


Fault = Callable[[], Awaitable[None]]


def raises(error: Exception) -> Fault:
    async def fault() -> None:
        raise error

    return fault


def takes(duration: timedelta, error: Exception | None = None) -> Fault:
    """It takes its time, and fails in the end if there is an error."""

    async def fault() -> None:
        await sleep(duration.total_seconds())
        if error is not None:
            raise error

    return fault


class FaultyStore(MemoryStore):
    """Its operations can be made to fail, or to take their time, before or after they have happened."""

    def __init__(self, clock: NodeClock) -> None:
        super().__init__(clock=clock)
        self.before: dict[str, list[Fault]] = {}
        self.after: dict[str, list[Fault]] = {}
        self.away: Exception | None = None
        self.asks: list[Ask] = []
        self.calls: Counter[str] = Counter()

    async def _around(self, operation: str, call: Awaitable[T]) -> T:
        self.calls[operation] += 1
        try:
            if self.away is not None:
                raise self.away
            if self.before.get(operation):
                await self.before[operation].pop(0)()
        except BaseException:
            # The inner coroutine was never begun, and must not be complained about.
            if asyncio.iscoroutine(call):
                call.close()
            raise
        answer = await call
        if self.after.get(operation):
            await self.after[operation].pop(0)()
        return answer

    async def claim_turns(self, ask: Ask) -> tuple[HeldTurn, ...]:
        self.asks.append(ask)
        return await self._around("claim", super().claim_turns(ask))

    async def renew(self, leases: Sequence[Lease], ttl: timedelta) -> tuple[Lease, ...]:
        return await self._around("renew", super().renew(leases, ttl))

    async def remember(
        self, lease: Lease, turn: EventId, steps: Sequence[Step] = (), flush: Sequence[EffectDraft] = ()
    ) -> Fate:
        return await self._around("remember", super().remember(lease, turn, steps, flush))

    async def settle(self, settlement: Settlement) -> Settled:
        return await self._around("settle", super().settle(settlement))

    async def release(self, leases: Sequence[Lease], *, uncount: bool = True) -> None:
        await self._around("release", super().release(leases, uncount=uncount))


class Rig:
    """A store that lives on, and the lives of a process over it."""

    def __init__(self, loop: SimulatedLoop, app: App, *, slots: int = 4) -> None:
        self.loop = loop
        self.app = app
        self.slots = slots
        self.clock = NodeClock(loop)
        self.store = FaultyStore(self.clock)
        self.bell = LocalBell()
        self.log = Notebook()
        self.fail_stops: list[str] = []
        self.deaths = 0
        self._accepted = 0
        self._lives = 0

    def service(self, *, drain_wait: timedelta = timedelta(seconds=20)) -> LanesService:
        self._lives += 1
        means = Means(
            store=self.store,
            bell=self.bell,
            clock=self.clock,
            chance=NoChance(),
            telemetry=self.log,
            vault=OpenVault({}),
            replies=AnyReply(),
            files=HeldFiles({}),
            threads=NoThreads(),
            worker=WorkerId(f"worker-{self._lives}"),
            fail_stop=self.fail_stops.append,
            slots=self.slots,
        )
        return LanesService(self.app, means, drain_wait=drain_wait)

    async def accept(
        self, kind: str = "text", lane: str = "lane", *, tenant: TenantId = TENANT, window: Window | None = None
    ) -> EventId:
        self._accepted += 1
        provider_id = f"{kind}-{self._accepted}"
        new = NewEvent(
            tenant=tenant,
            channel=CHANNEL,
            lane=lane_id(tenant, CHANNEL, lane),
            lane_key=lane,
            id=event_id(tenant, CHANNEL, provider_id),
            provider_id=provider_id,
            kind=kind,
            payload=b"{}",
            window=window,
        )
        await self.store.accept(Intake(endpoint=EndpointName("hooks"), events=(new,)))
        self.bell.ring(Ring.TURNS)
        return new.id

    async def live(self, *, until: Callable[[], bool], at_most: timedelta = timedelta(hours=1)) -> None:
        """Lives of the process, one after the other when it dies, until something is so."""
        end = self.loop.now + at_most.total_seconds()
        while not until():
            assert self.loop.now < end, f"it has not come to be within {at_most}: {self.log.counts}"
            try:
                await self._one_life(until, end)
            except BaseExceptionGroup as group:
                if group.subgroup(ProcessDied) is None:
                    raise
                self.deaths += 1

    async def _one_life(self, until: Callable[[], bool], end: float) -> None:
        service = self.service()
        async with asyncio.TaskGroup() as group:
            await service.start(group)
            while not until() and self.loop.now < end:
                await self.sweep()
                await sleep(0.25)
            await service.stop()

    async def sweep(self) -> None:
        swept = await self.store.sweep(1000)
        if swept.woken or swept.leases_freed or swept.reminded:
            self.bell.ring(Ring.TURNS)

    def row(self, event: EventId, tenant: TenantId = TENANT) -> EventRow:
        return self.store.tables.events[tenant, event]

    def ended(self, *events: EventId) -> Callable[[], bool]:
        """Have these events come to an end, whichever?"""
        return lambda: all(self.row(event).state is not EventState.WAITING for event in events)

    def lane(self, lane: str = "lane") -> LaneId:
        return lane_id(TENANT, CHANNEL, lane)


def simulate(app: App, world: Callable[[Rig], Awaitable[T]], *, seed: int = 1, slots: int = 4) -> T:
    """Play a world of one rig."""

    async def main(loop: SimulatedLoop) -> T:
        return await world(Rig(loop, app, slots=slots))

    return run_simulated(seed, main)
