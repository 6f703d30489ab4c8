"""A process dies at the pass that its environment names, and nowhere else."""

import os
import signal
import subprocess
import sys

import pytest

from procession.runtime.crashpoint import NAMES, VARIABLE, armed_by, crashpoint, last_words

PROGRAM = """
from procession.runtime.crashpoint import crashpoint
for number in range(1, 6):
    print(number, flush=True)
    crashpoint("settle.before")
    crashpoint("settle.after")
"""


def test_the_process_is_killed_at_the_named_pass() -> None:
    done = _run("settle.after:3")

    assert done.returncode == -signal.SIGKILL
    assert done.stdout.split() == ["1", "2", "3"]
    assert done.stderr == last_words("settle.after")


def test_without_a_number_it_is_the_first_pass() -> None:
    assert _run("settle.before").stdout.split() == ["1"]


def test_of_several_armed_points_the_first_to_be_reached_kills() -> None:
    assert _run("settle.after:4,settle.before:2").stderr == last_words("settle.before")


def test_a_point_that_is_not_armed_is_passed() -> None:
    done = _run("begin.armed:1")

    assert (done.returncode, done.stderr) == (0, "")
    assert len(done.stdout.split()) == 5


def test_nothing_is_armed_in_this_process() -> None:
    for name in NAMES:
        crashpoint(name)


@pytest.mark.parametrize("text", ["nowhere:1", "settle.after:0", "settle.after:-1", "settle.after:x"])
def test_a_point_that_cannot_be_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=VARIABLE):
        armed_by(text)


def _run(armed: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, VARIABLE: armed, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, check=False)
