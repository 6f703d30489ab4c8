"""`procession demo` on real processes: it passes as it is, and it fails visibly where the bot's order is broken."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from procession.app.system import SystemClock
from procession.testing.demo.show import Show
from procession.testing.demo.view import said

PATIENCE_S: Final = 110
WRONG: Final = (
    *("not_taken", "lost", "unanswered", "duplicate", "out_of_order_accepted", "out_of_order_shown"),
    *("cross_tenant", "astray", "not_asked_for", "doubts_open"),
)
BACKWARDS: Final = """
from procession import App, Turn
from procession.testing.whatsapp.label import bubbles

app = App()

@app.on("whatsapp.text")
async def answer(turn: Turn) -> None:
    for bubble in reversed(bubbles(turn.event.text, 3)):
        turn.reply(bubble)
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
    ran = run_demo("--json", "--seconds", "5")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = json.loads(ran.stdout)
    assert told["holds"]
    assert {name: told[name] for name in WRONG} == dict.fromkeys(WRONG, 0)
    assert told["taken"] == told["texts"] == told["turns"] > 0
    assert told["sends"] == told["shown"] == 3 * told["texts"]
    assert told["repeated"] > 0
    assert told["statuses"] > told["sends"]
    assert told["doubts_proven"] > 0
    assert len(told["kills"]) == 1
    assert told["kills"][0]["made_good_after_s"] is not None
    assert set(told["reply_s"]) == {"bistro", "sushi", "tapas", "pizzeria"}


def test_without_a_terminal_the_demo_tells_its_course_line_by_line() -> None:
    ran = run_demo("--seconds", "2")

    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "\x1b" not in ran.stdout
    assert "everybody writes to the pizzeria" in ran.stdout
    assert "kill -9 of the engine" in ran.stdout
    assert "PASSED:" in ran.stdout


@pytest.mark.timeout(PATIENCE_S)
async def test_a_bot_that_answers_backwards_makes_the_demo_fail(tmp_path: Path) -> None:
    (tmp_path / "backwards.py").write_text(BACKWARDS)
    show = Show(tmp_path, seconds=2, seed=0, clock=SystemClock(), bot="backwards:app")

    result = await show.run()

    assert not result.holds
    assert result.out_of_order > 0
    assert result.told.wrong
    assert said(result)[0].startswith("FAILED")


def test_a_terminal_that_is_closed_leaves_no_engine_behind(tmp_path: Path) -> None:
    demo = subprocess.Popen(
        [sys.executable, "-m", "procession.cli", "demo"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TERM": "dumb", "TMPDIR": str(tmp_path)},
    )
    assert demo.stdout is not None
    with demo.stdout:
        while "procession serve runs" not in demo.stdout.readline():
            assert demo.poll() is None
    assert engines_in(tmp_path)

    demo.send_signal(signal.SIGHUP)
    demo.wait(PATIENCE_S)

    assert engines_in(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def engines_in(folder: Path) -> list[int]:
    """Processes that work in a folder below this one."""
    return [
        int(process.name)
        for process in Path("/proc").iterdir()
        if process.name.isdecimal() and str(working_folder(process)).startswith(str(folder))
    ]


def working_folder(process: Path) -> Path | None:
    try:
        return (process / "cwd").readlink()
    except OSError:
        return None  # it has ended meanwhile, or is somebody else's
