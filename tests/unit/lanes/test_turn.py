"""What a handler may do with its turn, and what it is told when it does it wrongly."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import pytest

from procession import App, Gate, LaneLost, PlainTurn, Receipt, SecretMissing, Turn, TurnMisused
from procession.core.effect import DoubtPolicy, RefusedPolicy
from procession.core.ids import EventId, TenantId
from procession.core.limits import EFFECTS_MAX, STATE_BYTES_MAX, STEP_BYTES_MAX
from procession.ports.vault import SecretName
from procession.testing import Played, Stage, play
from procession.testing.stand_ins import OpenVault

Body = Callable[[Turn], Awaitable[object]]


async def played(body: Body, payload: object = None) -> Played:
    return await play(_app(body), "event", payload)


def _app(body: Body) -> App:
    app = App()

    @app.on("event")
    async def handler(turn: Turn) -> None:
        await body(turn)

    return app


# --- steps ---


async def test_calls_of_one_step_are_told_apart_by_their_order() -> None:
    async def body(turn: Turn) -> None:
        turn.reply([await turn.step("double", lambda number: number * 2, number) for number in (1, 2, 3)])

    stage = Stage(_app(body))
    turn = await stage.play("event", dies_after="double")

    assert turn.replies == [[2, 4, 6]]
    assert turn.steps == ("double", "double")


async def test_steps_of_different_names_may_run_at_the_same_time() -> None:
    both_run = asyncio.Event()

    async def first() -> str:
        await both_run.wait()
        return "first"

    async def second() -> str:
        both_run.set()
        return "second"

    async def body(turn: Turn) -> None:
        turn.reply(await asyncio.gather(turn.step("a", first), turn.step("b", second)))

    assert (await played(body)).replies == [["first", "second"]]


async def test_a_step_may_keep_bytes() -> None:
    async def body(turn: Turn) -> None:
        audio = await turn.step("speak", lambda: b"\x00\xff")
        turn.reply(len(audio) if isinstance(audio, bytes) else "not bytes")

    assert (await Stage(_app(body)).play("event", dies_after="speak")).replies == [2]


async def test_the_first_try_sees_what_a_later_one_would() -> None:
    async def body(turn: Turn) -> None:
        turn.reply(type(await turn.step("pair", lambda: (1, 2))).__name__)

    assert (await played(body)).replies == ["list"]


async def test_a_step_that_raises_is_not_remembered() -> None:
    calls = 0

    def ask() -> str:
        nonlocal calls
        calls += 1
        if calls == 1:
            raise ConnectionError("model away")
        return "answer"

    async def body(turn: Turn) -> None:
        turn.reply(await turn.step("ask", ask))

    stage = Stage(_app(body))
    failed = await stage.play("event", may_fail=True)
    again = await stage.again()

    assert failed.reason == "ConnectionError: model away"
    assert again.replies == ["answer"]


async def test_no_call_is_begun_when_trust_in_the_lane_has_run_out() -> None:
    called: list[bool] = []

    async def body(turn: Turn) -> None:
        stage.clock.move(timedelta(seconds=7))
        with pytest.raises(LaneLost, match="nothing new is begun"):
            await turn.step("ask", lambda: called.append(True))

    stage = Stage(_app(body))
    with pytest.raises(AssertionError, match="not settled"):
        await stage.play("event")
    assert not called


async def test_an_unawaited_step_is_told() -> None:
    async def body(turn: Turn) -> None:
        turn.step("ask", lambda: 1)  # type: ignore[unused-coroutine]  # what the test is about

    with pytest.raises(AssertionError, match=r"step\('ask', …\) was never awaited"):
        await played(body)


async def test_a_step_that_outlives_its_handler_is_told() -> None:
    left: list[asyncio.Task[object]] = []

    async def body(turn: Turn) -> None:
        left.append(asyncio.ensure_future(turn.step("ask", asyncio.Event().wait)))
        await asyncio.sleep(0)

    with pytest.raises(AssertionError, match="still runs, but the handler has returned"):
        await played(body)
    left[0].cancel()
    await asyncio.wait(left)


@pytest.mark.parametrize("value", [object(), {1: 2}, float("nan"), 2**70, "\ud800", {"a": [timedelta(1)]}])
async def test_a_step_whose_answer_cannot_be_kept_is_told(value: object) -> None:
    async def body(turn: Turn) -> None:
        await turn.step("ask", lambda: value)

    with pytest.raises(TurnMisused, match="the result of step 'ask'"):
        await played(body)


async def test_a_step_keeps_so_much_and_no_more() -> None:
    async def body(turn: Turn) -> None:
        await turn.step("file", lambda: b"x" * STEP_BYTES_MAX)

    with pytest.raises(TurnMisused, match="at most 1,048,576"):
        await played(body)


# --- after the end ---


async def test_a_turn_is_closed_when_its_handler_has_returned() -> None:
    kept: list[Turn] = []

    async def body(turn: Turn) -> None:
        kept.append(turn)

    await played(body)

    for late in (lambda: kept[0].reply("x"), lambda: kept[0].step("a", int), lambda: kept[0].delay(timedelta(1))):
        with pytest.raises(TurnMisused, match="has ended"):
            late()


@pytest.mark.parametrize("decide", ["delay", "park", "set_aside"])
async def test_nothing_can_be_asked_for_after_deciding(decide: str) -> None:
    async def body(turn: Turn) -> None:
        getattr(turn, decide)(timedelta(1) if decide == "delay" else "because")
        turn.reply("lost")

    with pytest.raises(TurnMisused, match="is not kept"):
        await played(body)


async def test_a_handler_decides_once() -> None:
    async def body(turn: Turn) -> None:
        turn.park("a person has to look")
        turn.set_aside("or not")

    with pytest.raises(TurnMisused, match="decide once"):
        await played(body)


async def test_what_was_asked_for_before_a_decision_is_not_kept() -> None:
    async def body(turn: Turn) -> None:
        turn.reply("lost")
        turn.state["lost"] = True
        turn.delay(timedelta(minutes=1), "the shop is closed")

    turn = await played(body)

    assert (turn.replies, turn.state, turn.delay) == ([], {}, timedelta(minutes=1))


# --- state ---


async def test_reading_the_state_changes_nothing() -> None:
    async def body(turn: Turn) -> None:
        turn.reply(turn.state.get("visits"))

    stage = Stage(_app(body))
    await stage.set_state({"visits": 3})
    turn = await stage.play("event")

    assert turn.replies == [3]
    assert stage._store.settlement is not None
    assert stage._store.settlement.state is None


async def test_the_state_may_be_replaced_by_another_dict() -> None:
    async def body(turn: Turn) -> None:
        turn.state = {"fresh": True}

    assert (await play(_app(body), "event", state={"old": 1})).state == {"fresh": True}


async def test_a_state_is_a_dict_of_limited_size() -> None:
    async def much(turn: Turn) -> None:
        turn.state["all"] = "x" * STATE_BYTES_MAX

    async def wrong(turn: Turn) -> None:
        turn.state = ["a"]  # type: ignore[assignment]  # what the test is about

    with pytest.raises(AssertionError, match="Keep the bulk of it in a store of your own"):
        await played(much)
    with pytest.raises(TurnMisused, match="a lane's state is a dict"):
        await played(wrong)


# --- effects ---


async def test_ids_of_effects_are_the_same_in_every_try() -> None:
    ids: list[tuple[str, str]] = []

    async def body(turn: Turn) -> None:
        ids.append((turn.reply("a"), turn.reply("b", key="second")))
        if turn.tries == 1:
            raise ConnectionError

    stage = Stage(_app(body))
    await stage.play("event", may_fail=True)
    await stage.again()

    assert ids[0] == ids[1]
    assert ids[0][0] != ids[0][1]


async def test_effects_are_kept_in_the_order_of_asking() -> None:
    async def body(turn: Turn) -> None:
        turn.reply("first")
        turn.send("http", {"n": 2}, to="another", channel="shop")
        turn.reply("third", key="third")
        turn.reply("fourth", key="fourth")
        turn.cancel_effect("third")

    turn = await played(body)

    assert [sent.payload for sent in turn.sends] == ["first", {"n": 2}, "fourth"]
    assert [sent.to for sent in turn.sends] == ["lane", "another", "lane"]
    assert [sent.channel for sent in turn.sends] == ["channel", "shop", "channel"]
    assert len({sent.draft.lane for sent in turn.sends}) == 2


async def test_an_effect_of_an_earlier_turn_is_cancelled_by_its_id() -> None:
    async def body(turn: Turn) -> None:
        if "offer" in turn.state:
            turn.cancel_effect(turn.state.pop("offer"))
        else:
            turn.state["offer"] = turn.reply("an offer")

    stage = Stage(_app(body))
    first = await stage.play("event")
    second = await stage.play("event")

    assert second.cancelled_effects == (first.sends[0].draft.id,)


async def test_terms_may_be_changed_for_one_effect() -> None:
    gate = Gate(receipt=Receipt.DELIVERED)

    async def body(turn: Turn) -> None:
        turn.reply("plain")
        turn.reply("a", gate=gate, doubt="skip", on_refused="park", answer_within=timedelta(minutes=1))

    plain, changed = (sent.draft.terms for sent in (await played(body)).sends)

    assert plain.doubt is DoubtPolicy.PARK
    assert (changed.gate, changed.doubt, changed.on_refused) == (gate, DoubtPolicy.SKIP, RefusedPolicy.PARK)
    assert changed.answer_within == timedelta(minutes=1)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda turn: turn.reply("a", doubt="maybe"), "write one of 'park', 'resend', 'skip'"),
        (lambda turn: turn.reply("a", key="#1"), "write a name"),
        (lambda turn: [turn.reply("a", key="k") for _ in range(2)], "is used twice"),
        (lambda turn: turn.reply(object()), "JSON or bytes"),
        (lambda turn: turn.send("", "a"), "name the action first"),
        (lambda turn: [turn.reply("a") for _ in range(EFFECTS_MAX + 1)], "a campaign is not a turn"),
        (lambda turn: turn.remind("", timedelta(1)), "the name has"),
        (lambda turn: turn.remind("a", timedelta(-1)), "write a duration"),
        (lambda turn: turn.remind("a", 5), "write a duration"),
        (lambda turn: turn.remind("a", timedelta(1), data=object()), "the content of reminder 'a' is a object"),
        (lambda turn: turn.delay(5), "write a duration"),
        (lambda turn: turn.park(""), "say why"),
        (lambda turn: turn.pause(timedelta(0)), "write a duration"),
        (lambda turn: turn.sql("SELECT 1"), "hand over a function"),
        (lambda turn: turn.step("", int), "a step is kept under a name"),
    ],
)
async def test_misuse_is_told_with_what_to_write(ask: Callable[[Turn], object], told: str) -> None:
    async def body(turn: Turn) -> None:
        ask(turn)

    with pytest.raises(TurnMisused, match=told):
        await played(body)


async def test_what_was_flushed_goes_even_if_the_try_fails_and_goes_once() -> None:
    async def body(turn: Turn) -> None:
        turn.reply("one moment")
        await turn.flush()
        if turn.tries == 1:
            raise ConnectionError
        turn.reply("done")

    stage = Stage(_app(body))
    first = await stage.play("event", may_fail=True)
    second = await stage.again()

    assert first.replies == ["one moment"]
    assert second.replies == ["one moment", "done"]
    assert [row.draft.payload for row in stage._store.tables.effects.values()] == [b'"one moment"', b'"done"']


# --- reminders, pause, and the rest ---


async def test_the_last_word_about_a_reminder_counts() -> None:
    async def body(turn: Turn) -> None:
        turn.remind("a", timedelta(1), data=1)
        turn.remind("a", timedelta(2), data=2)
        turn.remind("b", timedelta(1))
        turn.cancel("b")
        turn.cancel("c")
        turn.remind("c", timedelta(3))

    turn = await played(body)

    assert {name: reminder.after.days for name, reminder in turn.reminders.items()} == {"a": 2, "c": 3}
    assert turn.cancelled_reminders == ("b",)


async def test_a_pause_is_kept_with_the_turn() -> None:
    async def body(turn: Turn) -> None:
        turn.reply("a person takes over")
        turn.pause(timedelta(hours=1))

    turn = await played(body)

    assert (turn.paused, turn.pause, turn.replies) == (True, timedelta(hours=1), ["a person takes over"])


async def test_a_key_for_others_is_the_same_in_every_try_and_in_no_other_turn() -> None:
    keys: list[str] = []

    async def body(turn: Turn) -> None:
        keys.append(turn.idempotency_key("charge"))
        if turn.tries == 1 and len(keys) == 1:
            raise ConnectionError

    stage = Stage(_app(body))
    await stage.play("event", may_fail=True)
    await stage.again()
    await stage.play("event")

    assert keys[0] == keys[1] != keys[2]


async def test_log_lines_name_their_turn() -> None:
    async def body(turn: Turn) -> None:
        turn.log.note("looked up", orders=3)

    [line] = (await played(body)).log

    assert line.what == "looked up"
    assert {"tenant", "lane", "turn", "try", "orders"} == set(line.fields)


@pytest.mark.parametrize("name", ["channel/main/token", "", "endpoint/a"])
async def test_a_handler_cannot_open_what_its_tenant_did_not_name(name: str) -> None:
    async def body(turn: Turn) -> None:
        await turn.secret(name)

    with pytest.raises(TurnMisused, match="secrets that its tenant named"):
        await play(_app(body), "event", secrets={name: b"x"})


async def test_a_secret_is_opened_for_its_turn_so_that_the_audit_can_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[tuple[str, str, str]] = []

    async def open_for(_: OpenVault, tenant: TenantId, name: SecretName, turn: EventId) -> bytes:
        opened.append((tenant, name, turn))
        return b"sk"

    async def body(turn: Turn) -> None:
        turn.reply((await turn.secret("model-key")).decode() + turn.id)

    app = _app(body)

    @app.on("plain")
    def plain(turn: PlainTurn) -> None:
        turn.reply(turn.secret("model-key").decode() + turn.id)

    monkeypatch.setattr(OpenVault, "open_for", open_for)
    for kind in ("event", "plain"):
        [said] = (await Stage(app, tenant="acme").play(kind)).replies
        assert opened.pop() == ("acme", "model-key", str(said).removeprefix("sk"))


async def test_a_secret_that_is_missing_is_named() -> None:
    async def body(turn: Turn) -> None:
        await turn.secret("model-key")

    with pytest.raises(SecretMissing, match="model-key"):
        await played(body)


async def test_the_deadline_says_what_is_left() -> None:
    async def body(turn: Turn) -> None:
        turn.reply(turn.deadline.total_seconds())

    assert (await played(body)).replies == [300.0]


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"text": {"body": "hi"}}, "hi"),
        ({"text": "hi"}, "hi"),
        ({"button": {"text": "yes"}}, "yes"),
        ({"interactive": {"list_reply": {"title": "Monday"}}}, "Monday"),
        ({"image": {"caption": "look"}}, "look"),
        ({"location": {"latitude": 1}}, ""),
        ([1], ""),
        (b"\xff not JSON", ""),
    ],
)
async def test_the_text_of_an_event_is_found_where_its_source_puts_it(payload: object, text: str) -> None:
    async def body(turn: Turn) -> None:
        turn.reply(turn.event.text)

    assert (await played(body, payload)).replies == [text]


async def test_an_event_shows_its_source_and_its_place() -> None:
    seen: list[object] = []

    async def body(turn: Turn) -> None:
        event = turn.event
        seen.extend(
            [event.sender, event.seq, event.raw, event.data["from"], event.late, event.reminder, event.lane_key]
        )
        assert event.data is event.data

    await Stage(_app(body)).play("event", b'{"from":  "49151"}', lane="person")

    assert seen == ["49151", 1, b'{"from":  "49151"}', "49151", False, None, "person"]


async def test_an_event_that_is_no_json_still_has_its_bytes() -> None:
    async def body(turn: Turn) -> None:
        assert turn.event.raw == b"\xff"
        turn.event.data  # noqa: B018 - asking for it is what the test is about

    with pytest.raises(TurnMisused, match=r"its bytes stand in event\.raw"):
        await played(body, b"\xff")
