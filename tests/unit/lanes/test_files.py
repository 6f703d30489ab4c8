"""A handler's files: fetched without a token of its own, and uploaded once however often the turn is tried."""

from datetime import timedelta

import pytest

from procession import App, FileFailed, PlainTurn, Turn, TurnMisused
from procession.core.errors import BadRequest
from procession.core.turn import Advance
from procession.ports.files import Errand, File
from procession.testing import Stage, play
from procession.testing.stand_ins import HeldFiles

VOICE = {"audio": {"id": "71", "mime_type": "audio/ogg"}}


async def test_what_was_sent_along_is_fetched_and_an_answer_uploaded() -> None:
    app = App()

    @app.on("whatsapp.audio")
    async def answer(turn: Turn) -> None:
        assert turn.event.media is not None
        heard = await turn.download(turn.event.media)
        image = await turn.upload(heard[::-1], "image/png", filename="menu.png")
        turn.reply({"image": image})

    stage = Stage(app, files={"71": b"abc"})
    played = await stage.play("whatsapp.audio", VOICE)

    assert played.replies == [{"image": "1"}]
    assert stage.files.uploaded == [File(content=b"cba", mime_type="image/png", name="menu.png")]


async def test_a_plain_handler_does_the_same() -> None:
    app = App()

    @app.on("whatsapp.audio")
    def answer(turn: PlainTurn) -> None:
        turn.reply({"document": turn.upload(turn.download("71"), "text/plain")})

    stage = Stage(app, files={"71": b"abc"})

    assert (await stage.play("whatsapp.audio", VOICE)).replies == [{"document": "1"}]
    assert [file.content for file in stage.files.uploaded] == [b"abc"]


async def test_a_second_try_has_the_id_and_uploads_nothing() -> None:
    app = App()

    @app.on("whatsapp.text")
    async def answer(turn: Turn) -> None:
        first = await turn.upload(b"one", "image/png")
        second = await turn.upload(b"two", "image/png")
        await turn.step("last", lambda: None)
        turn.reply({"ids": [first, second]})

    stage = Stage(app)
    played = await stage.play("whatsapp.text", dies_after="last")

    assert played.tries == 2
    assert played.replies == [{"ids": ["1", "2"]}]
    assert [file.content for file in stage.files.uploaded] == [b"one", b"two"]


async def test_a_file_that_is_not_there_now_fails_the_try_and_the_turn_is_tried_again() -> None:
    app, tries = App(), [0]

    @app.on("whatsapp.audio")
    async def answer(turn: Turn) -> None:
        tries[0] += 1
        await turn.download("none" if tries[0] == 1 else "71")

    stage = Stage(app, files={"71": b"abc"})
    with pytest.raises(FileFailed, match="Stage"):
        await stage.play("whatsapp.audio", VOICE)
    (again,) = [played for played in await stage.pass_time(timedelta(minutes=10)) if played.tries == 2]

    assert isinstance(again.outcome, Advance)


async def test_what_can_never_be_is_told_to_the_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(self: HeldFiles, errand: Errand, file: File) -> str:
        raise BadRequest(f"channel {errand.channel!r} keeps no files")

    monkeypatch.setattr(HeldFiles, "upload", refuse)
    app = App()

    @app.on("text")
    async def answer(turn: Turn) -> None:
        with pytest.raises(TurnMisused, match=r"turn\.upload\(…\): channel 'side' keeps no files"):
            await turn.upload(b"x", "image/png", channel="side")
        with pytest.raises(TurnMisused, match=r"turn\.event\.media"):
            await turn.download(turn.event.media)
        with pytest.raises(TurnMisused, match="bytes"):
            await turn.upload("x", "image/png")  # type: ignore[arg-type]  # likewise

    assert (await play(app, "text")).done


async def test_an_errand_is_the_turns_own_tenants_and_takes_no_longer_than_the_turn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    errands: list[Errand] = []

    async def note(self: HeldFiles, errand: Errand, file_id: str) -> bytes:
        errands.append(errand)
        return b""

    monkeypatch.setattr(HeldFiles, "download", note)
    app = App()

    @app.on("text", deadline=timedelta(seconds=30))
    async def answer(turn: Turn) -> None:
        await turn.download("71")

    await Stage(app, tenant="acme", channel="main").play("text")

    (errand,) = errands
    assert (errand.tenant, errand.channel) == ("acme", "main")
    assert errand.deadline <= timedelta(seconds=30)
