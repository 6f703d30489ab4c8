"""What the page on WhatsApp shows can be done, against the stand-in for Meta that it shows."""

import json
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final, cast

from procession import App
from procession.connectors.terms import SEND_TERMS
from procession.connectors.whatsapp.actions import ACTIONS
from procession.connectors.whatsapp.arrivals import INTERACTIVE, KINDS
from procession.connectors.whatsapp.codes import CODES, Says
from procession.connectors.whatsapp.settings import CHANNEL_SETTINGS
from procession.runtime.document import Json
from procession.testing import Stage
from procession.testing.chaos.served import free_port
from tests.docs.pages import Block, blocks, page
from tests.docs.test_guides import PATIENCE_S, Shell, is_listening, needs_tools
from tests.integration.looking import until

GUIDE: Final = "docs/guides/whatsapp.md"


def both_are_confirmed(shell: Shell, block: Block) -> bool:
    return shell.run(block).count("confirmed") == 2


def sent_in(folder: Path) -> list[tuple[str, Json]]:
    """What the stand-in has printed: the path, and what was sent there."""
    lines = [line for output in folder.glob("*.out") for line in output.read_text().splitlines()]
    return [(line.split(" ", 1)[0], json.loads(line.split(" ", 1)[1])) for line in lines if "biz_opaque" in line]


@needs_tools
def test_the_whatsapp_page_leads_to_two_replies_in_order(tmp_path: Path) -> None:
    port, graph = free_port(), free_port()
    shell = Shell(tmp_path, {"serve app:app": f"serve app:app --port {port}", ":8080": f":{port}", "9000": str(graph)})
    for file in blocks(GUIDE, "python", "toml"):
        (tmp_path / file.title).write_text(file.text.replace("9000", str(graph)))
    said: list[str] = []

    with ExitStack() as stack:
        for number, block in enumerate(blocks(GUIDE, "sh")):
            if block.title == "background":
                output = tmp_path / f"{number}.out"
                process = stack.enter_context(shell.running(block, output))
                until(partial(is_listening, graph if "graph.py" in block.text else port, process), PATIENCE_S)
            elif "procession why" in block.text:
                until(partial(both_are_confirmed, shell, block), PATIENCE_S)
            else:
                said.append(shell.run(block))

    sent = sent_in(tmp_path)
    bodies = [body for _, body in sent]
    assert "1158201444" in said
    assert {path for path, _ in sent} == {"/v25.0/106540352242922/messages"}
    assert [body["type"] for body in bodies] == ["text", "interactive"]
    assert bodies[0]["text"] == {"body": "Hello for the 1. time!"}
    assert {body["to"] for body in bodies} == {"+4915112345678"}


async def test_the_handler_of_voice_notes_fetches_one_and_answers_with_a_file() -> None:
    space: dict[str, object] = {}
    exec(next(block.text for block in blocks(GUIDE, "python") if block.title == "voice.py"), space)
    stage = Stage(cast("App", space["app"]), files={"71": b"a voice"})

    played = await stage.play("whatsapp.audio", {"audio": {"id": "71"}})

    assert [file.content for file in stage.files.uploaded] == [b"7 bytes of your voice"]
    assert played.replies == [{"document": {"id": "1", "filename": "words.txt"}}]


def test_the_page_names_every_setting_action_and_kind() -> None:
    text = page(GUIDE)

    for name in (*(CHANNEL_SETTINGS - SEND_TERMS), *ACTIONS):
        assert f"`{name}`" in text, name
    for kind in (KINDS | set(INTERACTIVE.values()) | {"other"}) - {"text"}:
        assert f"`.{kind}`" in text, kind


def test_the_page_says_of_every_code_that_is_no_refusal_what_waits() -> None:
    table = page(GUIDE).partition("## What an error does")[2].partition("## Where")[0]
    named = {"200 to 299": range(200, 300), "133005 to 133016": range(133005, 133017)}

    for code, entry in CODES.items():
        among = any(words in table and code in span for words, span in named.items())
        assert entry.says is Says.NEVER or among or f" {code}" in table, code
