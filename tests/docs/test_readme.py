"""The README's code is run as it stands there."""

import ast
import asyncio
import os
import subprocess
import sys
from pathlib import Path

from tests.docs.pages import blocks, page

FIRST_SCREEN = 40


def test_the_first_screen_says_what_it_is_the_two_commands_and_the_handler() -> None:
    lines = page("README.md").splitlines()[:FIRST_SCREEN]

    for shown in ("every conversation in order", "make demo", "make test", "@app.on(", "turn.reply("):
        assert any(shown.casefold() in line.casefold() for line in lines), shown


def test_the_handler_has_twelve_lines() -> None:
    handler = blocks("README.md", "python")[0]

    assert len([line for line in handler.text.splitlines() if line.strip()]) == 12


def test_the_handler_and_its_test_run() -> None:
    space: dict[str, object] = {}
    for block in blocks("README.md", "python"):
        exec(compile(block.text, "README.md", "exec"), space)

    tests = [value for name, value in space.items() if name.startswith("test_")]

    assert len(tests) == 1
    for test in tests:
        assert callable(test)
        asyncio.run(test())


def test_the_declaration_is_applied_as_it_stands(tmp_path: Path) -> None:
    [declaration] = blocks("README.md", "toml")
    (tmp_path / "platform.toml").write_text(declaration.text)
    own = {name: value for name, value in os.environ.items() if not name.startswith("PROCESSION_")}

    applied = subprocess.run(
        [sys.executable, "-m", "procession.cli", "apply", "-f", "platform.toml"],
        cwd=tmp_path,
        env={**own, "CHAT_SECRET": "0123456789abcdef0123456789abcdef"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert applied.returncode == 0, applied.stderr
    assert "channel bistro/chat" in applied.stdout


def test_whatever_is_shown_is_python() -> None:
    for block in blocks("README.md", "python"):
        ast.parse(block.text)
