"""What the guides show can be done: their code runs, and their command lines are ones that exist."""

import asyncio
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import click
import pytest

from procession.cli import main
from procession.testing.chaos.served import free_port
from tests.docs.pages import Block, blocks, people_pages
from tests.integration.looking import until

PATIENCE_S: Final = 60
FIRST_STEPS: Final = "docs/guides/first-steps.md"
TESTING: Final = "docs/guides/testing-handlers.md"

needs_tools = pytest.mark.skipif(
    not (shutil.which("curl") and shutil.which("openssl")), reason="the page calls curl and openssl"
)


# --- testing handlers ---


def tests_of(path: str) -> Mapping[str, object]:
    space: dict[str, object] = {}
    for block in blocks(path, "python"):
        exec(compile(block.text, path, "exec"), space)
    return {name: value for name, value in space.items() if name.startswith("test_")}


@pytest.mark.parametrize("name", sorted(tests_of(TESTING)))
def test_each_test_that_the_guide_shows_passes(name: str) -> None:
    test = tests_of(TESTING)[name]

    assert callable(test)
    asyncio.run(test())


# --- first steps ---


class Shell:
    """Runs the blocks of a page one after the other, as somebody with three terminals would."""

    def __init__(self, folder: Path, instead: Mapping[str, str]) -> None:
        own = {name: value for name, value in os.environ.items() if not name.startswith("PROCESSION_")}
        self._environment = {**own, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{own['PATH']}"}
        self._folder = folder
        self._instead = instead

    def run(self, block: Block) -> str:
        """To its end; what it exports is there for those that follow."""
        ran = subprocess.run(
            ["bash", "-ec", f"{self._text(block)}\nenv -0 > after.env"],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert ran.returncode == 0, f"{block.text}\n{ran.stdout}{ran.stderr}"
        after = (self._folder / "after.env").read_text().split("\0")
        self._environment = dict(line.split("=", 1) for line in after if "=" in line)
        return ran.stdout

    def says(self, block: Block, word: str) -> bool:
        return word in self.run(block)

    @contextmanager
    def running(self, block: Block, output: Path) -> Iterator[subprocess.Popen[bytes]]:
        with output.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {self._text(block)}"],
                cwd=self._folder,
                env=self._environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
            try:
                yield process
            finally:
                process.terminate()
                process.wait(PATIENCE_S)

    def _text(self, block: Block) -> str:
        text = block.text.strip()
        for written, meant in self._instead.items():
            text = text.replace(written, meant)
        return text


@needs_tools
def test_the_first_steps_lead_to_an_answer(tmp_path: Path) -> None:
    port, taken = free_port(), free_port()
    shell = Shell(tmp_path, {"serve app:app": f"serve app:app --port {port}", ":8080": f":{port}", "9000": str(taken)})
    for file in blocks(FIRST_STEPS, "python", "toml"):
        (tmp_path / file.title).write_text(file.text.replace("9000", str(taken)))
    said = ""

    with ExitStack() as stack:
        for number, block in enumerate(blocks(FIRST_STEPS, "sh")):
            if block.title == "background":
                output = tmp_path / f"{number}.out"
                process = stack.enter_context(shell.running(block, output))
                until(partial(is_listening, taken if "receiver" in block.text else port, process), PATIENCE_S)
            elif "procession why" in block.text:
                until(partial(shell.says, block, "confirmed"), PATIENCE_S)
                said = shell.run(block)
            else:
                shell.run(block)

    [replied] = [line for output in tmp_path.glob("*.out") for line in output.read_text().splitlines() if "ef_" in line]
    reply = json.loads(replied.split(" ", 1)[1])
    assert reply == {"reply": "a table: hello for the 1. time", "to": "+4915112345678"}
    assert [line.split()[0] for line in said.splitlines()] == shown_words()


def shown_words() -> list[str]:
    """The first word of each line that the page shows of `procession why`."""
    shown = blocks(FIRST_STEPS, "text")[-1]
    return [line.split()[0] for line in shown.text.splitlines()]


def is_listening(port: int, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "it has ended"
    tried = subprocess.run(
        ["curl", "--silent", "--output", os.devnull, f"http://127.0.0.1:{port}/health"], timeout=PATIENCE_S, check=False
    )
    return tried.returncode == 0


# --- command lines ---


def command_lines() -> Iterator[tuple[str, str]]:
    for path in people_pages():
        for block in blocks(path, "sh"):
            for line in re.sub(r"\\\n", " ", block.text).splitlines():
                if line.startswith("procession "):
                    yield path, line


def wrong_with(line: str) -> str | None:
    """What click would refuse of it; None: nothing. Values are not read."""
    words = shlex.split(line, comments=True)[1:]
    command: click.Command = main
    context = click.Context(command, info_name="procession")
    while isinstance(command, click.Group) and words:
        found = command.get_command(context, words[0])
        if found is None:
            return f"there is no command {words[0]}"
        command, words = found, words[1:]
        context = click.Context(command, parent=context)
    try:
        command.make_parser(context).parse_args([word for word in words if word not in ("|", "<", ">")])
    except click.UsageError as error:
        return error.format_message()
    return None


@pytest.mark.parametrize(("path", "line"), list(command_lines()))
def test_a_command_line_that_a_page_shows_is_one_that_exists(path: str, line: str) -> None:
    assert wrong_with(line) is None, path


@pytest.mark.parametrize("line", ["procession lane shout x", "procession serve --loud", "procession whi m1"])
def test_a_command_line_that_does_not_exist_is_caught(line: str) -> None:
    assert wrong_with(line)
