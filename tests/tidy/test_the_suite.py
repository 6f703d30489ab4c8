"""The floor that all tests stand on: tests/conftest.py keeps what it says."""

import asyncio
import os
import socket
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import run_to_the_end
from tests.tidy.sources import ROOT


async def test_a_test_may_be_a_coroutine_function() -> None:
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)


@given(st.integers())
async def test_a_property_may_be_a_coroutine_function(number: int) -> None:
    running = await asyncio.get_running_loop().run_in_executor(None, lambda: number)

    assert running == number


def test_a_coroutine_test_that_fails_fails() -> None:
    async def failing() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        run_to_the_end(failing)()


def test_a_coroutine_test_that_leaves_something_running_fails() -> None:
    async def leaving() -> None:
        left.append(asyncio.get_running_loop().create_task(asyncio.Event().wait(), name="forgotten"))

    left: list[asyncio.Task[bool]] = []

    with pytest.raises(AssertionError, match="forgotten"):
        run_to_the_end(leaving)()


def test_a_test_cannot_reach_beyond_loopback() -> None:
    # An address of the range kept for documentation: even without the guard nobody would answer.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out, pytest.raises(AssertionError, match="loopback"):
        out.connect(("192.0.2.1", 9))


def test_a_test_can_reach_loopback() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out,
    ):
        here.bind(("127.0.0.1", 0))

        out.connect(here.getsockname())


CROWD: Final = """
import os
import pytest

def log(word):
    # One write of a few bytes to a file opened for appending is not torn.
    with open("log", "a") as file:
        file.write(f"{os.getpid()} {word}\\n")

@pytest.mark.parametrize("number", range(6))
@pytest.mark.serial
def test_alone(number):
    for _ in range(100):
        log("alone")

@pytest.mark.parametrize("number", range(30))
def test_together(number):
    for _ in range(100):
        log("together")
"""


@pytest.mark.serial
def test_a_test_marked_serial_runs_alone(tmp_path: Path) -> None:
    (tmp_path / "test_crowd.py").write_text(CROWD)

    flags = ("-q", "-n", "2", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), "-p", "tests.conftest")
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", *flags, "-o", "markers=serial", "test_crowd.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert "36 passed" in ran.stdout, ran.stdout + ran.stderr
    runs = [tuple(line.split()) for line in (tmp_path / "log").read_text().splitlines()]
    # Lines of one test in a row: a serial test is one unbroken run of 100, and the others do mingle.
    changes = [(before, after) for before, after in pairwise(runs) if before[0] != after[0]]
    alone_at = [index for index, (_, word) in enumerate(runs) if word == "alone"]
    assert sum("alone" not in (before[1], after[1]) for before, after in changes) > 30, "the crowd never mingled"
    assert all(len({runs[index] for index in alone_at[start : start + 100]}) == 1 for start in range(0, 600, 100))
    assert all(alone_at[start + 99] - alone_at[start] == 99 for start in range(0, 600, 100))
