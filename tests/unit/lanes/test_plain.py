"""Plain handlers run in threads: their turns wait by blocking, and what comes too late is refused."""

import asyncio
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from procession import App, PlainTurn, TurnMisused
from procession.core.errors import TurnError
from procession.core.event import EventState
from procession.core.turn import Delay
from procession.testing import Stage, play
from procession.testing.stand_ins import ManualClock
from tests.unit.lanes.rig import NoThreads, Rig, simulate


class RunningClock(ManualClock):
    """Goes on by itself: a deadline cannot come true while time stands still."""

    def __init__(self) -> None:
        super().__init__()
        self._loop = asyncio.get_running_loop()

    def monotonic(self) -> float:
        return super().monotonic() + self._loop.time()


async def test_a_plain_handler_blocks_its_own_thread_only() -> None:
    app = App()
    threads: list[int] = []

    @app.on("event")
    def plain(turn: PlainTurn) -> None:
        threads.append(threading.get_ident())
        turn.reply(turn.step("sync", threading.get_ident))
        turn.flush()
        turn.reply(turn.step("async", on_the_loop))
        turn.reply(turn.secret("key").decode())

    async def on_the_loop() -> int:
        return threading.get_ident()

    turn = await play(app, "event", secrets={"key": b"sk"})

    assert turn.replies == [threads[0], threading.get_ident(), "sk"]
    assert threads[0] != threading.get_ident()


async def test_a_plain_handler_past_its_deadline_is_given_up_and_what_it_still_does_is_refused() -> None:
    app = App()
    may_go_on = threading.Event()
    seen: list[BaseException] = []
    returned = asyncio.Event()
    loop = asyncio.get_running_loop()

    @app.on("event", deadline=timedelta(milliseconds=20))
    def slow(turn: PlainTurn) -> None:
        if turn.tries > 1:
            turn.reply("second")
            return
        may_go_on.wait()
        for verb in (lambda: turn.reply("late"), lambda: turn.step("late", int), turn.flush):
            try:
                verb()
            except TurnError as error:
                seen.append(error)
        loop.call_soon_threadsafe(returned.set)

    stage = Stage(app, clock=RunningClock())
    first = await stage.play("event", may_fail=True)
    may_go_on.set()
    await returned.wait()
    second = await stage.again()

    assert isinstance(first.outcome, Delay)
    assert first.reason == "it took longer than its deadline of 0.02 s"
    assert [type(error) for error in seen] == [TurnMisused] * 3
    assert second.replies == ["second"]


async def test_a_plain_function_that_returns_a_coroutine_is_told() -> None:
    app = App()

    async def inner(turn: PlainTurn) -> None: ...

    def outer(turn: PlainTurn) -> object:
        return inner(turn)

    app.on("event")(outer)  # type: ignore[type-var]  # what the test is about

    with pytest.raises(AssertionError, match="write `async def`"):
        await play(app, "event")


async def test_a_plain_turn_refuses_to_block_the_loop() -> None:
    app = App()
    kept: list[PlainTurn] = []
    used = asyncio.Event()
    go_on = threading.Event()
    loop = asyncio.get_running_loop()

    @app.on("event")
    def plain(turn: PlainTurn) -> None:
        kept.append(turn)
        loop.call_soon_threadsafe(used.set)
        go_on.wait()

    async with asyncio.TaskGroup() as group:
        playing = group.create_task(play(app, "event"))
        await used.wait()
        with pytest.raises(TurnMisused, match="waits by blocking its thread"):
            kept[0].flush()
        go_on.set()

    assert playing.result().done


def test_a_turn_that_found_no_thread_until_its_deadline_has_not_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    app = App()

    @app.on("text", deadline=timedelta(minutes=1), tries=1)
    def innocent(turn: PlainTurn) -> None:
        turn.reply("at last")

    waited: list[object] = []
    free = NoThreads.run

    async def taken_at_first(threads: NoThreads, call: Callable[[], object]) -> object:
        if len(waited) < 3:
            waited.append(call)
            await asyncio.Event().wait()
        return await free(threads, call)

    monkeypatch.setattr(NoThreads, "run", taken_at_first)

    async def world(rig: Rig) -> None:
        event = await rig.accept()
        await rig.live(until=rig.ended(event))

        assert (len(waited), rig.row(event).state) == (3, EventState.DONE)
        assert rig.log.counts["turn.given_back"] == 3

    simulate(app, world)
