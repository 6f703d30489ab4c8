"""The kit plays handlers with the engine's own runner, and a test of a handler is three lines."""

import asyncio
from datetime import timedelta

import pytest

from procession import App, PlainTurn, SqlFailed, Turn, TurnMisused, collect
from procession.testing import Stage, play


def greeter() -> App:
    app = App()

    @app.on("whatsapp.text")
    async def answer(turn: Turn) -> None:
        turn.state["visits"] = turn.state.get("visits", 0) + 1
        turn.reply(f"hello {turn.event.text} for the {turn.state['visits']}. time")
        turn.remind("follow-up", after=timedelta(hours=2), data={"visits": turn.state["visits"]})

    @app.on("reminder.follow-up")
    async def follow_up(turn: Turn) -> None:
        turn.reply(f"still there after {turn.event.data['visits']}?")

    return app


async def test_a_handler_is_tried_in_three_lines() -> None:
    turn = await play(greeter(), "whatsapp.text", {"text": {"body": "Ada"}}, lane="4915112345678")

    assert turn.replies == ["hello Ada for the 1. time"]
    assert turn.state == {"visits": 1}
    assert turn.reminders["follow-up"].after == timedelta(hours=2)
    assert turn.done


async def test_a_lane_keeps_its_state_from_event_to_event() -> None:
    stage = Stage(greeter())

    await stage.play("whatsapp.text", {"text": {"body": "Ada"}}, lane="a")
    other = await stage.play("whatsapp.text", {"text": {"body": "Bob"}}, lane="b")
    again = await stage.play("whatsapp.text", {"text": {"body": "Ada"}}, lane="a")

    assert other.state == {"visits": 1}
    assert again.replies == ["hello Ada for the 2. time"]
    assert stage.state(lane="a") == {"visits": 2}


async def test_a_test_may_begin_with_a_state() -> None:
    turn = await play(greeter(), "whatsapp.text", {"text": {"body": "Ada"}}, state={"visits": 41})

    assert turn.state == {"visits": 42}


async def test_a_reminder_fires_when_the_clock_is_moved() -> None:
    stage = Stage(greeter())
    await stage.play("whatsapp.text", {"text": {"body": "Ada"}})

    early = await stage.pass_time(timedelta(minutes=119))
    [reminded] = await stage.pass_time(timedelta(minutes=1))

    assert early == ()
    assert reminded.kind == "reminder.follow-up"
    assert reminded.replies == ["still there after 1?"]


async def test_a_second_try_remembers_the_steps_of_the_first() -> None:
    calls = []
    app = App()

    @app.on("order")
    async def book(turn: Turn) -> None:
        calls.append(turn.tries)
        slot = await turn.step("slot", lambda: {"at": len(calls)})
        await turn.step("confirm", lambda: None)
        turn.reply(slot)

    turn = await Stage(app).play("order", {}, dies_after="slot")

    assert calls == [1, 2]
    assert turn.tries == 2
    assert turn.replies == [{"at": 1}]
    assert turn.steps == ("confirm",)


async def test_what_a_handler_raises_is_raised_in_the_test() -> None:
    app = App()

    @app.on("order")
    async def broken(turn: Turn) -> None:
        raise LookupError("no such order")

    with pytest.raises(LookupError, match="no such order"):
        await play(app, "order")


async def test_a_failure_may_be_what_the_test_is_about() -> None:
    app = App()

    @app.on("order", tries=2)
    async def broken(turn: Turn) -> None:
        raise LookupError("no such order")

    stage = Stage(app)
    first = await stage.play("order", may_fail=True)
    second = await stage.again(may_fail=True)

    assert first.delay == timedelta(seconds=0.75)
    assert second.reason == "after 2 tries: LookupError: no such order"
    assert not second.parked


async def test_misuse_of_the_turn_is_raised_in_the_test_too() -> None:
    app = App()

    @app.on("order")
    async def forgetful(turn: Turn) -> None:
        turn.state["when"] = timedelta(1)

    with pytest.raises(AssertionError, match=r"turn\.state\['when'\] is a timedelta"):
        await play(app, "order")


async def test_a_kind_without_a_handler_is_a_mistake_of_the_test() -> None:
    with pytest.raises(AssertionError, match=r"no handler for 'whatsapp\.txt'"):
        await play(greeter(), "whatsapp.txt")


async def test_a_burst_is_collected_into_one_turn() -> None:
    app = App()

    @app.on("whatsapp.text", mode=collect(quiet=timedelta(seconds=3), flush=("now",)))
    async def answer(turn: Turn) -> None:
        turn.reply(" ".join(event.text for event in turn.events))

    stage = Stage(app)
    await stage.accept("whatsapp.text", {"text": "two"})
    await stage.accept("whatsapp.text", {"text": "tickets"})
    turn = await stage.play("whatsapp.text", {"text": "please"})

    assert turn.replies == ["two tickets please"]
    assert len(turn.events) == 3


async def test_a_flush_word_ends_the_burst_at_once() -> None:
    app = App()

    @app.on("whatsapp.text", mode=collect(quiet=timedelta(seconds=3), flush=("Now",)))
    async def answer(turn: Turn) -> None:
        turn.reply(len(turn.events))

    stage = Stage(app)
    before = stage.clock.monotonic()
    await stage.accept("whatsapp.text", {"text": "two tickets"})
    turn = await stage.play("whatsapp.text", {"text": " now"})

    assert turn.replies == [2]
    assert stage.clock.monotonic() == before


async def test_plain_handlers_are_tried_in_their_threads() -> None:
    app = App()

    @app.on("order")
    def plain(turn: PlainTurn) -> None:
        turn.reply(turn.step("price", lambda: 42))

    turn = await play(app, "order")

    assert turn.replies == [42]
    assert turn.steps == ("price",)


async def test_sql_of_a_handler_runs_on_the_connection_of_the_stage() -> None:
    app = App()

    @app.on("order")
    async def book(turn: Turn) -> None:
        turn.sql(lambda db: db.execute("INSERT INTO orders VALUES (1)"))

    stage = Stage(app)
    with pytest.raises(AssertionError, match="no such table"):
        await stage.play("order")
    stage.sql.execute("CREATE TABLE orders (id)")
    await stage.again()

    assert stage.sql.execute("SELECT count(*) FROM orders").fetchone() == (1,)
    assert SqlFailed.__name__ in stage.log.lines[0].fields.values()


async def test_secrets_are_handed_over_by_the_test() -> None:
    app = App()

    @app.on("order")
    async def ask(turn: Turn) -> None:
        turn.reply((await turn.secret("model-key")).decode())

    assert (await play(app, "order", secrets={"model-key": b"sk-1"})).replies == ["sk-1"]
    with pytest.raises(Exception, match="hand it over"):
        await play(app, "order")


async def test_a_handler_that_hangs_fails_the_test() -> None:
    app = App()

    @app.on("order")
    async def hang(turn: Turn) -> None:
        await asyncio.Event().wait()

    with pytest.raises(AssertionError, match="still ran after"):
        await Stage(app, patience=timedelta(milliseconds=20)).play("order")


async def test_an_event_that_comes_twice_is_played_once() -> None:
    stage = Stage(greeter())
    await stage.play("whatsapp.text", {"text": "Ada"}, id="wamid.1")

    with pytest.raises(AssertionError, match="its turn does not come"):
        await stage.play("whatsapp.text", {"text": "Ada"}, id="wamid.1")
    assert stage.state() == {"visits": 1}


async def test_a_turn_that_decides_shows_its_decision() -> None:
    app = App()

    @app.on("a")
    async def wait(turn: Turn) -> None:
        turn.delay(timedelta(minutes=5), "the shop is closed")

    @app.on("b")
    async def stop(turn: Turn) -> None:
        turn.park("a person has to look")

    @app.on("c")
    async def misuse(turn: Turn) -> None:
        turn.set_aside("never")
        turn.reply("lost")

    assert (await play(app, "a")).delay == timedelta(minutes=5)
    assert (await play(app, "b")).parked
    with pytest.raises(TurnMisused, match="is not kept"):
        await play(app, "c")
