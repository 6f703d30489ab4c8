"""One timer ends every call in time, for the right reason, and leaves the cancellations of others alone."""

import asyncio
from datetime import timedelta

import pytest

from procession.runtime.trust import Trust
from procession.runtime.watch import Cause, Watch
from procession.testing.simulation.clock import NodeClock, sleep
from procession.testing.simulation.loop import SimulatedLoop, run

TTL = timedelta(seconds=9)


class Call:
    """Something that is watched while it sleeps."""

    def __init__(self, watch: Watch, trust: Trust, deadline: float) -> None:
        self._watch, self._trust, self._deadline = watch, trust, deadline
        self.cause: Cause | None = None
        self.ended_at = 0.0
        self.cancelling = -1

    async def run(self, loop: SimulatedLoop, seconds: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.watched = self._watch.begin(self._trust, self._deadline)
        try:
            await sleep(seconds)
        except asyncio.CancelledError:
            if task.cancelling() > self.watched.cancels:
                raise
        finally:
            self._watch.end(self.watched)
            self.cause, self.ended_at, self.cancelling = self.watched.cause, loop.now, task.cancelling()


def test_calls_end_at_their_deadlines_whatever_the_order_they_began_in() -> None:
    async def world(loop: SimulatedLoop) -> list[tuple[float, Cause | None]]:
        clock = NodeClock(loop)
        watch = Watch(clock)
        calls = [Call(watch, Trust(clock, timedelta(hours=1), 0), deadline) for deadline in (7.0, 2.0, 5.0)]
        async with asyncio.TaskGroup() as group:
            for call in calls:
                group.create_task(call.run(loop, 100))
        watch.close()
        assert [call.cancelling for call in calls] == [0, 0, 0]
        return [(call.ended_at, call.cause) for call in calls]

    assert run(1, world) == [(7.0, Cause.DEADLINE), (2.0, Cause.DEADLINE), (5.0, Cause.DEADLINE)]


def test_a_call_that_ends_in_time_is_left_alone() -> None:
    async def world(loop: SimulatedLoop) -> None:
        clock = NodeClock(loop)
        watch = Watch(clock)
        call = Call(watch, Trust(clock, TTL, 0), 5.0)
        await call.run(loop, 1)
        await sleep(60)

        assert (call.cause, call.ended_at) == (None, 1.0)

    run(1, world)


def test_renewed_trust_moves_the_end_and_lapsed_trust_is_the_cause() -> None:
    async def world(loop: SimulatedLoop) -> None:
        clock = NodeClock(loop)
        watch = Watch(clock)
        trust = Trust(clock, TTL, 0)
        call = Call(watch, trust, 1000.0)
        async with asyncio.TaskGroup() as group:
            group.create_task(call.run(loop, 100))
            await sleep(4)
            trust.renewed(TTL, 4)
        watch.close()

        assert call.ended_at == pytest.approx(10, abs=0.01)
        assert call.cause is Cause.TRUST

    run(1, world)


def test_a_call_is_ended_at_once_when_it_is_told_and_the_first_cause_stays() -> None:
    async def world(loop: SimulatedLoop) -> None:
        clock = NodeClock(loop)
        watch = Watch(clock)
        call = Call(watch, Trust(clock, TTL, 0), 5.0)
        async with asyncio.TaskGroup() as group:
            group.create_task(call.run(loop, 100))
            await sleep(1)
            watch.cancel(call.watched, Cause.LOST)
            watch.cancel_all(Cause.STOP)
        watch.cancel(call.watched, Cause.STOP)
        watch.close()

        assert (call.ended_at, call.cause) == (1.0, Cause.LOST)

    run(1, world)


def test_who_swallows_a_cancellation_is_cancelled_each_second() -> None:
    async def world(loop: SimulatedLoop) -> list[float]:
        clock = NodeClock(loop)
        watch = Watch(clock)
        swallowed: list[float] = []
        watched = watch.begin(Trust(clock, timedelta(hours=1), 0), 5.0)
        while len(swallowed) < 3:
            try:
                await sleep(100)
            except asyncio.CancelledError:
                swallowed.append(round(loop.now, 1))
        watch.end(watched)
        await sleep(10)
        watch.close()
        return swallowed

    assert run(1, world) == [5.0, 6.0, 7.0]


def test_a_cancellation_by_somebody_else_is_not_taken_for_ours() -> None:
    async def world(loop: SimulatedLoop) -> None:
        clock = NodeClock(loop)
        watch = Watch(clock)
        call = Call(watch, Trust(clock, TTL, 0), 5.0)
        async with asyncio.TaskGroup() as group:
            outer = group.create_task(call.run(loop, 100))
            await sleep(1)
            outer.cancel()
        watch.close()

        assert outer.cancelled()
        assert call.cause is None

    run(1, world)
