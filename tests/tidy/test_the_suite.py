"""The floor that all tests stand on: tests/conftest.py keeps what it says."""

import asyncio
import os
import socket
import subprocess
import sys
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
import pytest

def log(line):
    # One write of a few bytes to a file opened for appending is not torn.
    with open("log", "a") as file:
        file.write(line + "\\n")

@pytest.mark.serial
@pytest.mark.parametrize("number", range(6))
def test_alone(number):
    for _ in range(200):
        log(f"alone {number}")

@pytest.mark.parametrize("number", range(30))
def test_together(number):
    for _ in range(200):
        log(f"together {number}")
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
    lines = (tmp_path / "log").read_text().splitlines()
    places = {test: [at for at, line in enumerate(lines) if line == test] for test in set(lines)}
    torn = {test for test, own in places.items() if own[-1] - own[0] >= len(own)}
    assert len(places) == 36
    assert not {test for test in torn if test.startswith("alone")}
    assert torn, "the crowd never mingled, so this shows nothing"
