"""The stage stops calmly: what can end in time ends, the rest is given back as if it had not been tried."""

import asyncio
from datetime import timedelta

from procession import App, Turn
from procession.core.errors import StoreAway
from procession.core.event import EventState
from procession.core.lane import Phase, Side
from procession.core.limits import DRAIN_WAIT
from procession.testing.simulation.clock import sleep
from tests.unit.lanes.rig import TENANT, Rig, raises, simulate, takes


def sleepy(seconds: float) -> App:
    app = App()

    @app.on("text")
    async def slow(turn: Turn) -> None:
        await sleep(seconds)

    return app


def test_a_stop_waits_for_the_turns_in_flight_and_claims_nothing_more() -> None:
    async def world(rig: Rig) -> None:
        running = await rig.accept(lane="a")
        behind = await rig.accept(lane="a")
        async with asyncio.TaskGroup() as group:
            service = rig.service()
            await service.start(group)
            await sleep(1)
            other = await rig.accept(lane="b")
            await service.stop()

        assert rig.row(running).state is EventState.DONE
        assert rig.row(behind).state is EventState.WAITING
        assert rig.store.tables.lanes[TENANT, rig.lane("a"), Side.TURNS].phase is Phase.READY
        assert service.in_flight == 0
        assert rig.row(other).state is EventState.WAITING

    simulate(sleepy(2), world, slots=1)


def test_what_does_not_end_in_time_is_cancelled_and_given_back_uncounted() -> None:
    async def world(rig: Rig) -> float:
        event = await rig.accept()
        async with asyncio.TaskGroup() as group:
            service = rig.service()
            await service.start(group)
            await sleep(1)
            await service.stop()

        lane = rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS]
        assert rig.row(event).state is EventState.WAITING
        assert (lane.phase, lane.tries, lane.deaths) == (Phase.READY, 0, 0)
        assert rig.log.counts["turn.given_back"] == 1
        return rig.loop.now

    stopped_at = simulate(sleepy(3600), world)

    wait = DRAIN_WAIT.total_seconds()
    assert 1 + wait <= stopped_at < 1 + wait + 2


def test_a_second_stop_in_a_hurry_cuts_the_first_short() -> None:
    async def world(rig: Rig) -> float:
        await rig.accept()
        async with asyncio.TaskGroup() as group:
            service = rig.service()
            await service.start(group)
            await sleep(1)
            calm = group.create_task(service.stop())
            await sleep(1)
            await service.stop(at_once=True)
            await calm

        assert rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS].phase is Phase.READY
        return rig.loop.now

    assert simulate(sleepy(3600), world) < 4


def test_a_stop_with_the_store_away_leaves_the_leases_to_run_out() -> None:
    async def world(rig: Rig) -> None:
        event = await rig.accept()
        async with asyncio.TaskGroup() as group:
            service = rig.service(drain_wait=timedelta(seconds=1))
            await service.start(group)
            await sleep(1)
            rig.store.away = StoreAway("not reachable")
            await service.stop()
        rig.store.away = None

        assert rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS].phase is Phase.HELD
        assert rig.row(event).state is EventState.WAITING

    simulate(sleepy(3600), world)


def test_what_a_claim_answers_after_the_stop_is_given_back_untried() -> None:
    async def world(rig: Rig) -> None:
        event = await rig.accept()
        rig.store.after["claim"] = [takes(timedelta(seconds=0)), takes(timedelta(seconds=0.5))]
        async with asyncio.TaskGroup() as group:
            service = rig.service()
            await service.start(group)
            await sleep(0.1)
            await service.stop()

        lane = rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS]
        assert rig.store.calls["claim"] == 2
        assert (lane.phase, lane.tries) == (Phase.READY, 0)
        assert rig.row(event).state is EventState.WAITING

    simulate(sleepy(1), world)


def test_what_could_not_be_given_back_at_once_is_given_back_later_and_is_no_death() -> None:
    async def world(rig: Rig) -> None:
        event = await rig.accept()
        rig.store.after["claim"] = [takes(timedelta(0)), takes(timedelta(seconds=7))]  # longer than it is trusted
        rig.store.before["release"] = [raises(StoreAway("for a moment"))]
        await rig.live(until=lambda: rig.store.calls["release"] > 1)

        lane = rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS]
        assert lane.deaths == 0
        assert rig.row(event).state in (EventState.WAITING, EventState.DONE)

    simulate(sleepy(0), world)
