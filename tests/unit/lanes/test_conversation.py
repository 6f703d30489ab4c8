"""What a handler sees of a conversation: who wrote, what came along, how long it may be answered; and how two become
one.
"""

from collections.abc import Mapping
from datetime import timedelta

import pytest

from procession import App, Misconfigured, Turn
from procession.core.event import LANE_MERGED
from procession.runtime.document import Json
from procession.testing import Played, Stage, play


async def seen(payload: Json) -> Mapping[str, Json]:
    """What a handler finds in an event with this payload."""
    app = App()

    @app.on("whatsapp.*")
    async def look(turn: Turn) -> None:
        event, media = turn.event, turn.event.media
        turn.state = {
            "text": event.text,
            "sender": event.sender,
            "name": event.sender_name,
            "reply_to": event.reply_to,
            "media": None if media is None else [media.kind, media.id, media.mime_type, media.caption, media.filename],
        }

    return (await play(app, "whatsapp.any", payload)).state


async def test_a_picture_with_a_caption_is_media_and_text() -> None:
    found = await seen({"from": "49171", "image": {"id": "m1", "mime_type": "image/jpeg", "caption": "my garden"}})

    assert found["media"] == ["image", "m1", "image/jpeg", "my garden", ""]
    assert found["text"] == "my garden"
    assert found["sender"] == "49171"


async def test_the_text_of_an_edit_is_what_it_says_now() -> None:
    found = await seen({"edit": {"original_message_id": "wamid.1", "message": {"text": {"body": "at nine"}}}})

    assert (found["text"], found["reply_to"]) == ("at nine", "wamid.1")


async def test_who_wrote_in_a_group_is_named_by_whichever_id_there_is() -> None:
    assert (await seen({"from_user_id": "DE.1", "group_id": "g"}))["sender"] == "DE.1"


async def test_a_text_has_no_media() -> None:
    assert (await seen({"from": "49171", "text": {"body": "hello"}}))["media"] is None


async def test_what_is_no_document_has_no_media() -> None:
    assert (await seen(["image"]))["media"] is None
    assert (await seen({"image": {"id": 5}}))["media"] is None


@pytest.mark.parametrize(
    "payload",
    [
        {"context": {"id": "wamid.1"}, "text": {"body": "yes"}},
        {"reaction": {"message_id": "wamid.1", "emoji": "x"}},
        {"edit": {"original_message_id": "wamid.1"}},
        {"revoke": {"original_message_id": "wamid.1"}},
    ],
)
async def test_what_answers_something_says_what(payload: Json) -> None:
    assert (await seen(payload))["reply_to"] == "wamid.1"


async def test_what_answers_nothing_says_so() -> None:
    assert (await seen({"text": {"body": "yes"}}))["reply_to"] is None


async def test_the_name_that_a_person_has_given_themselves() -> None:
    assert (await seen({"procession": {"contact": {"profile": {"name": "Ada"}}}}))["name"] == "Ada"


# --- the window ---


def _asking() -> App:
    app = App()

    @app.on("whatsapp.text", "reminder.later")
    async def ask(turn: Turn) -> None:
        left = turn.window_left
        turn.state["left"] = None if left is None else left.total_seconds()
        turn.remind("later", after=timedelta(hours=20))

    return app


async def test_the_window_is_open_for_a_day_after_the_person_wrote() -> None:
    stage = Stage(_asking())

    first = await stage.play("whatsapp.text")
    later = (await stage.pass_time(timedelta(hours=20)))[-1]
    too_late = (await stage.pass_time(timedelta(hours=20)))[-1]

    assert first.state["left"] == timedelta(hours=24).total_seconds()
    assert later.state["left"] == timedelta(hours=4).total_seconds()
    assert too_late.state["left"] == 0.0


async def test_a_template_is_asked_for_like_any_effect() -> None:
    app = App()

    @app.on("whatsapp.text")
    async def remind(turn: Turn) -> None:
        turn.template("visit_tomorrow", language="de", components=[{"type": "body"}])

    (sent,) = (await play(app, "whatsapp.text")).sends

    assert sent.action == "template"
    assert sent.payload == {"name": "visit_tomorrow", "language": {"code": "de"}, "components": [{"type": "body"}]}


# --- two that are one ---


def _merging() -> App:
    app = App(strict=True)

    @app.on("*")
    async def everything(turn: Turn) -> None:
        turn.state["seen"] = turn.event.kind

    @app.merges
    def both(state: dict[str, Json], other: dict[str, Json]) -> dict[str, Json]:
        return {**other, **state}

    return app


async def _merged(app: App) -> Played:
    return await play(
        app, LANE_MERGED, {"lane_key": "DE.1", "state": {"name": "Ada", "visits": 1}}, state={"visits": 7}
    )


async def test_the_application_says_how_two_states_become_one() -> None:
    assert (await _merged(_merging())).state == {"name": "Ada", "visits": 7}


async def test_a_handler_of_everything_is_not_asked_about_merges() -> None:
    app = App(strict=True)

    @app.on("*")
    async def everything(turn: Turn) -> None:
        turn.state["seen"] = turn.event.kind

    assert app.handler_for("whatsapp.text") is not None
    assert app.handler_for(LANE_MERGED) is None


async def test_a_merge_that_is_no_plain_function_is_refused() -> None:
    async def both(state: dict[str, Json], other: dict[str, Json]) -> dict[str, Json]:
        return {**other, **state}

    with pytest.raises(Misconfigured, match="plain function"):
        App().merges(both)  # type: ignore[arg-type]  # this is what the test is about
