"""Turns are played in order, many lanes at a time, and each outcome is what the handler made of it."""

import asyncio
import sys
from datetime import timedelta
from itertools import pairwise

import pytest

from procession import App, Retry, Turn
from procession.core.event import EventState, Window
from procession.core.lane import Phase, Side
from procession.core.limits import KEEP_TURNS_MAX
from procession.ports.bell import Ring
from procession.testing.simulation.clock import sleep
from tests.unit.lanes.rig import TENANT, Rig, simulate


@pytest.mark.parametrize("seed", range(10))
def test_a_lane_is_played_in_order_one_turn_at_a_time(seed: int) -> None:
    app = App()
    played: dict[str, list[int]] = {}
    running: set[str] = set()

    @app.on("text")
    async def answer(turn: Turn) -> None:
        assert turn.lane_key not in running
        running.add(turn.lane_key)
        await sleep(0.01)
        played.setdefault(turn.lane_key, []).append(turn.event.seq)
        running.remove(turn.lane_key)

    async def world(rig: Rig) -> None:
        events = [await rig.accept(lane=f"lane-{number % 3}") for number in range(30)]
        await rig.live(until=rig.ended(*events))

    simulate(app, world, seed=seed)

    assert played == {f"lane-{number}": list(range(1, 11)) for number in range(3)}


def test_no_more_turns_run_at_once_than_there_are_slots() -> None:
    app = App()
    running = 0
    most = 0

    @app.on("text")
    async def answer(turn: Turn) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await sleep(1)
        running -= 1

    async def world(rig: Rig) -> float:
        events = [await rig.accept(lane=str(number)) for number in range(12)]
        await rig.live(until=rig.ended(*events))
        return rig.loop.now

    took = simulate(app, world, slots=4)

    assert most == 4
    assert took < 5


def test_a_busy_lane_does_not_hold_a_slot_for_ever() -> None:
    app = App()
    order: list[str] = []

    @app.on("text")
    async def answer(turn: Turn) -> None:
        order.append(turn.lane_key)

    async def world(rig: Rig) -> None:
        busy = [await rig.accept(lane="busy") for _ in range(KEEP_TURNS_MAX + 5)]
        other = await rig.accept(lane="other")
        await rig.live(until=rig.ended(*busy, other))

    simulate(app, world, slots=1)

    assert order.index("other") == KEEP_TURNS_MAX


def test_a_turn_that_fails_is_tried_again_later_and_then_set_aside() -> None:
    app = App()
    tried: list[float] = []

    @app.on("text", retry=Retry(tries_max=3, base=timedelta(seconds=10), factor=2))
    async def broken(turn: Turn) -> None:
        tried.append(turn._open.means.clock.monotonic())
        turn.reply("never sent")
        turn.state["never"] = "kept"
        raise ValueError("no")

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        behind = await rig.accept("unknown")
        await rig.live(until=rig.ended(event, behind))

        assert rig.row(event).state is EventState.SET_ASIDE
        assert rig.row(event).reason == "after 3 tries: ValueError: no"
        assert rig.row(behind).state is EventState.DONE
        assert not rig.store.tables.effects
        assert rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS].state is None

    simulate(app, world)

    waits = [later - sooner for sooner, later in pairwise(tried)]
    assert 7.5 <= waits[0] < 8.5
    assert 15 <= waits[1] < 16


def test_a_lane_whose_handler_says_so_is_parked_when_tries_are_used_up() -> None:
    app = App()

    @app.on("text", tries=1, when_used_up="park")
    async def broken(turn: Turn) -> None:
        raise ValueError("no")

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        await rig.live(until=lambda: rig.log.counts.get("turn.parked") == 1)

        lane = rig.store.tables.lanes[TENANT, rig.lane(), Side.TURNS]
        assert lane.phase is Phase.PARKED
        assert lane.parked == "after 1 try: ValueError: no"
        assert rig.row(event).state is EventState.WAITING

    simulate(app, world)


def test_a_handler_that_runs_past_its_deadline_has_failed() -> None:
    app = App()
    ended: list[float] = []

    @app.on("text", tries=1, deadline=timedelta(seconds=60))
    async def slow(turn: Turn) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(turn._open.means.clock.monotonic())

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        await rig.live(until=rig.ended(event))

        assert rig.row(event).reason == "after 1 try: it took longer than its deadline of 60 s"

    simulate(app, world)

    assert ended == [pytest.approx(60, abs=0.1)]


def test_a_handler_that_swallows_its_cancellation_is_cancelled_again() -> None:
    app = App()
    swallowed = 0

    @app.on("text", tries=1, deadline=timedelta(seconds=5))
    async def stubborn(turn: Turn) -> None:
        nonlocal swallowed
        while swallowed < 3:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                swallowed += 1

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        await rig.live(until=rig.ended(event))

        assert rig.row(event).state is EventState.SET_ASIDE

    simulate(app, world)

    assert swallowed == 3


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(1), ExceptionGroup("both", [ValueError("a")])])
def test_whatever_a_handler_raises_is_its_own_failure(error: BaseException) -> None:
    app = App()

    @app.on("text", tries=1)
    async def odd(turn: Turn) -> None:
        raise error

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        behind = await rig.accept("unknown")
        await rig.live(until=rig.ended(event, behind))

        assert type(error).__name__ in rig.row(event).reason

    simulate(app, world)


def test_an_event_without_a_handler_is_done_and_counted() -> None:
    async def world(rig: Rig) -> None:
        event = await rig.accept("whatsapp.sticker")
        await rig.live(until=rig.ended(event))

        assert rig.row(event).state is EventState.DONE
        assert rig.log.counts["turn.unhandled"] == 1

    simulate(App(), world)


def test_a_strict_application_sets_aside_what_it_has_no_handler_for() -> None:
    async def world(rig: Rig) -> None:
        event = await rig.accept("whatsapp.sticker")
        await rig.live(until=rig.ended(event))

        assert rig.row(event).state is EventState.SET_ASIDE
        assert rig.row(event).reason == "no handler for whatsapp.sticker"

    simulate(App(strict=True), world)


def test_a_handler_may_delay_its_turn_without_using_up_a_try() -> None:
    app = App()
    tries: list[int] = []

    @app.on("text", tries=1)
    async def wait(turn: Turn) -> None:
        tries.append(turn.tries)
        if len(tries) < 4:
            turn.delay(timedelta(seconds=1), "not yet")

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        await rig.live(until=rig.ended(event))

        assert rig.row(event).state is EventState.DONE

    simulate(app, world)

    assert tries == [1, 1, 1, 1]


def test_what_a_turn_asks_for_wakes_the_stage_that_does_it() -> None:
    app = App()

    @app.on("text")
    async def answer(turn: Turn) -> None:
        turn.reply("hello")
        turn.remind("again", after=timedelta(hours=1))

    async def world(rig: Rig) -> None:
        await rig.live(until=rig.ended(await rig.accept()))

        assert rig.bell.counts[Ring.SENDS] == 1
        assert rig.bell.counts[Ring.UPKEEP] == 1

    simulate(app, world)


def test_events_of_a_window_are_one_turn_and_one_settlement() -> None:
    app = App()
    turns: list[int] = []

    @app.on("text")
    async def answer(turn: Turn) -> None:
        turns.append(len(turn.events))
        assert turn.event is turn.events[-1]

    async def world(rig: Rig) -> None:
        window = Window(quiet=timedelta(seconds=2), wait_max=timedelta(seconds=10), events_max=10)
        events = [await rig.accept(window=window) for _ in range(3)]
        await rig.live(until=rig.ended(*events))

        assert rig.loop.now > 2

    simulate(app, world)

    assert turns == [3]


def test_a_failure_is_logged_without_what_its_error_says() -> None:
    app = App()

    @app.on("text", tries=1)
    async def broken(turn: Turn) -> None:
        raise ValueError("the person wrote: my number is 4915112345678")

    async def world(rig: Rig) -> None:
        await rig.live(until=rig.ended(await rig.accept()))

        [line] = [line for line in rig.log.lines if line.what == "turn.failed"]
        assert "4915112345678" not in repr(line)
        assert "test_playing.py" in str(line.fields["where"])
        assert line.fields["error"] == "ValueError"

    simulate(app, world)
    assert sys.exc_info() == (None, None, None)
