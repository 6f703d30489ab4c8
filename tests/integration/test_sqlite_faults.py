"""SQLite in a process of its own, killed, or on a disk that fails: what was answered is there, and no more is said."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import psutil
import pytest

from procession.storage.sqlite.opening import DATABASE
from tests.integration.sqlite_engine import LANES

ROOT = Path(__file__).parents[2]
KILLS = 6
ROUND = 100_000
"""Numbers of events of one run of the program: no two runs take the same."""

needs_strace = pytest.mark.skipif(shutil.which("strace") is None, reason="strace makes the disk fail")

Said = dict[str, list[str]]


@contextmanager
def engine(folder: Path, run: int, *before: str) -> Iterator[subprocess.Popen[str]]:
    command = [*before, sys.executable, "-m", "tests.integration.sqlite_engine", str(folder), str(run * ROUND)]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}", "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def heard(process: subprocess.Popen[str], said: Said, lines: int | None = None) -> None:
    """Read so many lines, or all there are; the last may have been cut off by a kill."""
    assert process.stdout is not None
    for count, line in enumerate(process.stdout, 1):
        if line.endswith("\n"):
            word, _, rest = line.strip().partition(" ")
            said.setdefault(word, []).append(rest)
        if count == lines:
            return


def killed(folder: Path, run: int, said: Said, lines: int) -> None:
    with engine(folder, run) as process:
        heard(process, said, lines)
        process.kill()
        heard(process, said)


def failing_disk(folder: Path, run: int, said: Said, *faults: str, lines: int | None = None) -> int:
    """Run under strace, which makes system calls of the whole process fail; answers how the program ended."""
    words = [word for fault in faults for word in ("-e", f"inject={fault}")]
    calls = ",".join(fault.partition(":")[0] for fault in faults)
    with engine(folder, run, "strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={calls}", *words) as process:
        heard(process, said, lines)
        if lines is not None:
            # A strace that dies lets go of its program, which would go on.
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
        process.kill()
        heard(process, said)
        return process.wait()


def there(folder: Path) -> tuple[set[str], set[str]]:
    """The events that the file holds, and of these the ones that are done; and that it is whole."""
    connection = sqlite3.connect(folder / DATABASE)
    try:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = connection.execute(
            "SELECT event.id, event.seq <= lane.cursor FROM procession_event AS event "
            "JOIN procession_lane AS lane ON lane.no = event.lane"
        ).fetchall()
        for no, last in connection.execute("SELECT no, next_seq - 1 FROM procession_lane WHERE side = 'turns'"):
            seqs = connection.execute("SELECT seq FROM procession_event WHERE lane = ? ORDER BY seq", (no,)).fetchall()
            assert [seq for (seq,) in seqs] == list(range(1, last + 1))
    finally:
        connection.close()
    return {event for event, _ in rows}, {event for event, is_done in rows if is_done}


def holds_what_was_said(folder: Path, said: Said) -> None:
    events, done = there(folder)
    assert set(said["accepted"]) <= events
    assert set(said["done"]) <= done
    assert not set(said.get("full", ())) & events
    # Nothing is there of which nobody was told, but for what was under way: one write a client at each end of a run.
    assert len(events) >= LANES


def test_what_was_answered_survives_kills(tmp_path: Path) -> None:
    said: Said = {}
    drawn = Random(11)

    for run in range(KILLS):
        killed(tmp_path, run, said, lines=drawn.randrange(20, 600))

    holds_what_was_said(tmp_path, said)
    assert len(said["ready"]) == KILLS
    assert len(said["done"]) == len(set(said["done"]))


@needs_strace
def test_after_a_failed_sync_nobody_is_told_more_than_that_it_is_unknown(tmp_path: Path) -> None:
    said: Said = {}

    failing_disk(tmp_path, 0, said, "fdatasync:error=EIO:when=30")
    answered = len(said["accepted"])
    killed(tmp_path, 1, said, lines=50)

    holds_what_was_said(tmp_path, said)
    assert answered
    assert said["unknown"]
    assert len(said["broken"]) == 1
    assert "disk I/O error" in said["broken"][0]


@needs_strace
def test_a_full_disk_is_told_as_such_and_heals(tmp_path: Path) -> None:
    said: Said = {}

    failing_disk(tmp_path, 0, said, "pwrite64:error=ENOSPC:when=200..260", lines=800)
    full = len(said["full"])
    after = said["accepted"][-1]

    events, _ = there(tmp_path)
    holds_what_was_said(tmp_path, said)
    assert full
    assert after in events
    assert "broken" not in said


@needs_strace
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync"])
def test_a_broken_write_of_any_kind_stops_the_store(tmp_path: Path, call: str) -> None:
    said: Said = {}
    killed(tmp_path, 0, said, lines=40)

    failing_disk(tmp_path, 1, said, f"{call}:error=EIO:when=25+")

    holds_what_was_said(tmp_path, said)
    assert len(said["broken"]) == 1
