"""`procession demo` on real processes: it passes as it is, and it fails visibly where the bot's order is broken."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from procession.app.system import SystemClock
from procession.testing.demo.show import Show

PATIENCE_S: Final = 110

BACKWARDS: Final = """
from procession import App, Turn

app = App()

@app.on("chat.text")
async def answer(turn: Turn) -> None:
    about = {"event": turn.event.provider_id, "lane": turn.lane_key, "n": turn.event.data["n"]}
    for step in (2, 1):
        turn.reply({**about, "step": step})
"""


def run_demo(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "procession.cli", "demo", *options],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env={**os.environ, "TERM": "dumb"},
    )


def test_the_demo_kills_its_engine_and_every_promise_holds() -> None:
    ran = run_demo("--json", "--seconds", "3")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = json.loads(ran.stdout)
    assert told["holds"]
    assert told["accepted"] > 0
    assert told["replies"] == 2 * told["accepted"] == 2 * told["turns"]
    assert told["duplicates_dropped"] > 0
    assert told["early_put_in_place"] > 0
    assert [told[name] for name in ("lost", "sent_twice", "out_of_order", "wrong_tenant", "in_doubt")] == [0] * 5
    assert len(told["kills"]) == 1


def test_without_a_terminal_the_demo_tells_its_course_line_by_line() -> None:
    ran = run_demo("--seconds", "2")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "\x1b" not in ran.stdout
    assert "kill -9 of the engine" in ran.stdout
    assert "PASSED: accepted" in ran.stdout


@pytest.mark.timeout(PATIENCE_S)
async def test_a_bot_that_answers_backwards_makes_the_demo_fail(tmp_path: Path) -> None:
    (tmp_path / "backwards.py").write_text(BACKWARDS)
    show = Show(tmp_path, seconds=2, seed=0, clock=SystemClock(), bot="backwards:app")

    result = await show.run()

    assert not result.holds
    assert result.out_of_order > 0
    assert result.wrong
