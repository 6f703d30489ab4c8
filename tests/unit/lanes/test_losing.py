"""When the store is away, its answers are lost, or the lane is: nothing is done twice, and nothing stands still."""

import asyncio
from datetime import timedelta

import pytest

from procession import App, LaneLost, Turn
from procession.core.errors import OutcomeUnknown, SqlFailed, StoreAway, StoreBroken
from procession.core.event import EventState
from procession.core.lane import Side
from procession.core.limits import LEASE_TTL, TRUST_SHARE
from procession.testing.simulation.clock import sleep
from tests.unit.lanes.rig import TENANT, Rig, raises, simulate, takes

UNKNOWN = OutcomeUnknown("the answer was lost")
AWAY = StoreAway("not reachable")


def counting(app: App) -> list[int]:
    tries: list[int] = []

    @app.on("text")
    async def answer(turn: Turn) -> None:
        tries.append(turn.tries)
        turn.state["played"] = turn.state.get("played", 0) + 1
        turn.reply("hello")

    return tries


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("error", [UNKNOWN, AWAY])
def test_a_settlement_without_an_answer_is_sent_again_and_counts_once(when: str, error: Exception) -> None:
    app = App()
    tries = counting(app)

    async def world(rig: Rig) -> None:
        events = [await rig.accept() for _ in range(3)]
        getattr(rig.store, when)["settle"] = [raises(error), raises(error)]
        await rig.live(until=rig.ended(*events))

        assert rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS].state == b'{"played":3}'
        assert len(rig.store.tables.effects) == 3

    simulate(app, world)

    assert tries == [1, 1, 1]


def test_a_step_without_an_answer_is_remembered_again_before_the_handler_goes_on() -> None:
    app = App()
    called: list[str] = []

    @app.on("text")
    async def answer(turn: Turn) -> None:
        assert await turn.step("ask", ask) == "answer"
        called.append("after")

    async def ask() -> str:
        called.append("ask")
        return "answer"

    async def world(rig: Rig) -> None:
        rig.store.after["remember"] = [raises(UNKNOWN)]
        await rig.live(until=rig.ended(await rig.accept()))

        assert rig.store.calls["remember"] == 2

    simulate(app, world)

    assert called == ["ask", "after"]


def test_a_long_turn_keeps_its_lane_by_renewing() -> None:
    app = App()
    tries: list[int] = []

    @app.on("text")
    async def slow(turn: Turn) -> None:
        tries.append(turn.tries)
        await sleep(10 * LEASE_TTL.total_seconds())

    async def world(rig: Rig) -> None:
        await rig.live(until=rig.ended(await rig.accept()))

        assert 20 <= rig.store.calls["renew"] <= 60

    simulate(app, world)

    assert tries == [1]


def test_short_turns_cost_no_renewal() -> None:
    app = App()
    counting(app)

    async def world(rig: Rig) -> None:
        for _ in range(100):
            await rig.live(until=rig.ended(await rig.accept()))

        assert rig.store.calls["renew"] == 0

    simulate(app, world)


def test_a_handler_stops_when_its_trust_has_run_out() -> None:
    app = App()
    ended: list[float] = []

    @app.on("text")
    async def slow(turn: Turn) -> None:
        if ended:
            return
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(turn._open.means.clock.monotonic())

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        async with asyncio.TaskGroup() as group:
            service = rig.service()
            await service.start(group)
            await sleep(0.5)
            settled = rig.store.calls["settle"]
            rig.store.away = AWAY
            await sleep(8)
            assert rig.store.calls["settle"] == settled
            rig.store.away = None
            await sleep(0.5)
            await service.stop()
        await rig.live(until=rig.ended(event))

        # The store was away: that is no death of the turn, which is given back untried as soon as the store is there.
        assert rig.log.counts["turn.given_back"] == 1
        (view,) = await rig.store.console.why(rig.row(event).new.id)
        assert [found.how for found in view.tries] == ["released"]
        assert rig.row(event).state is EventState.DONE

    simulate(app, world)

    assert ended == [pytest.approx(LEASE_TTL.total_seconds() * TRUST_SHARE, abs=0.2)]


def test_a_handler_is_cancelled_at_once_when_the_store_says_that_its_lane_is_anothers() -> None:
    app = App()
    ended: list[float] = []

    @app.on("text")
    async def slow(turn: Turn) -> None:
        if turn.tries > 1:
            return
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(turn._open.means.clock.monotonic())

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        async with asyncio.TaskGroup() as group:
            service = rig.service()
            await service.start(group)
            await sleep(0.5)
            row = rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS]
            row.epoch += 1
            await sleep(5)
            assert len(ended) == 1
            await service.stop()
        await rig.live(until=rig.ended(event))

        assert rig.log.counts["turn.lost"] == 1

    simulate(app, world)

    assert ended[0] < LEASE_TTL.total_seconds() * TRUST_SHARE - 1


def test_a_step_of_a_lost_lane_is_refused_and_the_turn_is_dropped_without_a_word() -> None:
    app = App()
    seen: list[str] = []

    @app.on("text")
    async def stubborn(turn: Turn) -> None:
        if turn.tries > 1:
            return
        await sleep(1)
        for verb in (turn.step("late", lambda: 1), turn.flush()):
            try:
                await verb
            except LaneLost as lost:
                seen.append(str(lost))
        turn.state["late"] = True

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        async with asyncio.TaskGroup() as group:
            service = rig.service()
            await service.start(group)
            await sleep(0.5)
            rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS].epoch += 1
            await sleep(1)
            await service.stop()

        assert len(seen) == 2
        assert rig.log.counts["turn.lost"] == 1
        assert rig.store.calls["settle"] == 0
        await rig.live(until=rig.ended(event))

        assert rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS].state is None

    simulate(app, world)


def test_a_late_settlement_is_refused_and_changes_nothing() -> None:
    app = App()
    tries = counting(app)

    async def world(rig: Rig) -> None:
        event = await rig.accept()

        async def overtaken() -> None:
            rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS].epoch += 1

        rig.store.before["settle"] = [overtaken]
        await rig.live(until=rig.ended(event))

        assert rig.log.counts["turn.lost"] == 1
        assert rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS].state == b'{"played":1}'

    simulate(app, world)

    assert tries == [1, 2]


def test_a_settlement_is_not_begun_after_trust_has_run_out() -> None:
    app = App()
    counting(app)

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        # The claim itself takes so long that nothing may be done with what it answers.
        rig.store.after["claim"] = [takes(timedelta(0)), takes(timedelta(seconds=8))]
        await rig.live(until=rig.ended(event))

        assert rig.store.calls["release"] == 1
        assert rig.store.calls["settle"] == 1
        assert rig.row(event).state is EventState.DONE

    simulate(app, world)


def test_a_settlement_that_is_never_answered_is_given_up_when_trust_ends() -> None:
    app = App()
    tries = counting(app)

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        rig.store.before["renew"] = [raises(AWAY)] * 20
        rig.store.before["settle"] = [takes(timedelta(hours=10))]
        await rig.live(until=rig.ended(event))

        assert rig.log.counts["turn.settle_unknown"] == 1
        assert rig.loop.now < 20

    simulate(app, world)

    assert tries == [1, 2]


def test_a_renewal_that_calls_a_settled_lane_lost_does_not_undo_the_settlement() -> None:
    app = App()
    tries: list[int] = []

    @app.on("text")
    async def answer(turn: Turn) -> None:
        tries.append(turn.tries)

    async def world(rig: Rig) -> None:
        events = [await rig.accept() for _ in range(2)]
        # The settlement has happened and kept the lane for its next turn. Its answer takes so long that a renewal comes
        # in between, finds the old epoch gone, and is answered first.
        rig.store.after["settle"] = [takes(timedelta(seconds=5), UNKNOWN)]
        await rig.live(until=rig.ended(*events))

        assert rig.store.calls["renew"] >= 1
        assert "turn.lost" not in rig.log.counts
        assert rig.log.counts["turn.done"] == 2

    simulate(app, world)

    assert tries == [1, 1]


def test_a_next_turn_that_comes_too_late_with_its_settlement_is_given_back_untried() -> None:
    app = App()
    begun: list[tuple[int, int]] = []

    @app.on("text")
    async def answer(turn: Turn) -> None:
        begun.append((turn.event.seq, turn.tries))

    async def world(rig: Rig) -> None:
        events = [await rig.accept() for _ in range(2)]
        rig.store.before["settle"] = [takes(timedelta(seconds=5))]
        rig.store.after["settle"] = [takes(timedelta(seconds=3))]
        await rig.live(until=rig.ended(*events))

        assert rig.log.counts["turn.given_back"] == 1
        assert rig.loop.now < 9

    simulate(app, world)

    assert begun == [(1, 1), (2, 1)]


def test_sql_that_fails_is_a_failure_of_its_handler() -> None:
    app = App()

    @app.on("text", tries=1)
    async def book(turn: Turn) -> None:
        turn.sql(lambda _: None)
        turn.reply("booked")

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        rig.store.before["settle"] = [raises(SqlFailed("no such table"))]
        await rig.live(until=rig.ended(event))

        assert rig.row(event).state is EventState.SET_ASIDE
        assert rig.row(event).reason == "after 1 try: SqlFailed: no such table"
        assert not rig.store.tables.effects

    simulate(app, world)


def test_claims_go_on_after_the_store_was_away() -> None:
    app = App()
    counting(app)

    async def world(rig: Rig) -> None:
        async with asyncio.TaskGroup() as group:
            service = rig.service()
            await service.start(group)
            rig.store.away = AWAY
            await sleep(600)
            rig.store.away = None
            event = await rig.accept()
            back = rig.loop.now
            while rig.row(event).state is EventState.WAITING:
                await sleep(0.1)
            assert rig.loop.now - back < 3
            await service.stop()

        assert rig.log.counts["loop.store_away"] < 1000

    simulate(app, world)


@pytest.mark.parametrize("operation", ["claim", "settle"])
def test_a_broken_store_ends_the_process(operation: str) -> None:
    app = App()
    counting(app)

    async def world(rig: Rig) -> None:
        await rig.accept()
        rig.store.before[operation] = [raises(StoreBroken("disk I/O error"))]
        await rig.live(until=lambda: bool(rig.fail_stops))

        assert "disk I/O error" in rig.fail_stops[0]

    simulate(app, world)


@pytest.mark.parametrize("swallows", [False, True])
def test_a_store_that_breaks_under_a_step_is_not_the_handlers_failure(swallows: bool) -> None:
    app = App()

    @app.on("*")
    async def steps(turn: Turn) -> None:
        try:
            await turn.step("one", lambda: 1)
        except StoreBroken:
            if not swallows:
                raise

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        rig.store.before["remember"] = [raises(StoreBroken("a sync failed"))]
        await rig.live(until=lambda: bool(rig.fail_stops))

        assert "a sync failed" in rig.fail_stops[0]
        assert rig.row(event).state is EventState.WAITING
        assert "turn.delayed" not in rig.log.counts

    simulate(app, world)
