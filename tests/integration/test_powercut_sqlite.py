"""The simulated power cut can see: what SQLite synced survives it, and what it did not sync is lost."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import IO

import pytest

from procession.testing.powercut import PowerCut, environment, restart_on
from procession.testing.powercut.build import COMPILERS

ROUNDS = 3
ROWS = 400

WRITER = """
import sqlite3, sys
file, synchronous = sys.argv[1:]
db = sqlite3.connect(file, isolation_level=None)
db.execute("pragma journal_mode=wal")
db.execute(f"pragma synchronous={synchronous}")
db.execute("pragma wal_autocheckpoint=100")
db.execute("create table if not exists rows(id integer primary key, body blob)")
(last,) = db.execute("select coalesce(max(id), 0) from rows").fetchone()
while True:
    last += 1
    db.execute("insert into rows values (?, ?)", (last, b"x" * 700))
    print(last, flush=True)
"""


# A compiler that is there but cannot build the shim is a failure, not a reason to look away.
pytestmark = pytest.mark.skipif(not any(map(shutil.which, COMPILERS)), reason="no C compiler")


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """What one round left: the last row that was acknowledged, and what the disk has."""

    acknowledged: int
    kept: int
    integrity: str
    cut: PowerCut


def test_full_loses_no_acknowledged_row(tmp_path: Path) -> None:
    rounds = _rounds(tmp_path, "FULL")

    assert [after.integrity for after in rounds] == ["ok"] * ROUNDS
    assert all(after.kept >= after.acknowledged >= ROWS for after in rounds), rounds
    assert rounds[-1].kept >= ROWS * ROUNDS, "rows of the rounds before must still be there"


def test_full_loses_nothing_either_when_some_unsynced_pages_reach_the_disk(tmp_path: Path) -> None:
    drawn = Random(7)

    rounds = _rounds(tmp_path, "FULL", lambda _name, _page: drawn.random() < 0.5)

    assert [after.integrity for after in rounds] == ["ok"] * ROUNDS
    assert all(after.kept >= after.acknowledged for after in rounds), rounds


def test_normal_loses_acknowledged_rows_so_the_shim_sees(tmp_path: Path) -> None:
    rounds = _rounds(tmp_path, "NORMAL")

    # Not in every round: NORMAL syncs at a checkpoint, and a kill right behind one finds nothing left to lose.
    lossy = [after for after in rounds if after.kept < after.acknowledged]
    assert lossy, rounds
    assert all(after.cut.lost_bytes for after in lossy)
    assert [after.integrity for after in rounds] == ["ok"] * ROUNDS, "NORMAL loses the end, it does not corrupt"


def test_off_loses_acknowledged_rows_so_the_shim_sees(tmp_path: Path) -> None:
    (after, *_) = _rounds(tmp_path, "OFF")

    assert after.kept < after.acknowledged


def test_a_plain_kill_before_the_power_cut_hides_nothing_from_it(tmp_path: Path) -> None:
    """What the first process left in the page cache is made durable by the second one's syncs."""
    root, shadow = tmp_path / "root", tmp_path / "shadow"
    _write_until_killed(root, shadow, "NORMAL")
    acknowledged = _write_until_killed(root, shadow, "FULL")

    restart_on(shadow, root)

    assert _read(root) >= (acknowledged, "ok")


def _rounds(base: Path, synchronous: str, leak: Callable[[str, int], bool] | None = None) -> list[After]:
    root, shadow = base / "root", base / "shadow"
    rounds = []
    for _ in range(ROUNDS):
        acknowledged = _write_until_killed(root, shadow, synchronous)
        cut = restart_on(shadow, root, leak)
        kept, integrity = _read(root)
        rounds.append(After(acknowledged=acknowledged, kept=kept, integrity=integrity, cut=cut))
    return rounds


def _write_until_killed(root: Path, shadow: Path, synchronous: str) -> int:
    environ = {**os.environ, **environment(root, shadow)}
    command = [sys.executable, "-c", WRITER, str(root / "rows.db"), synchronous]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        try:
            first = int(writer.stdout.readline())
            while int(writer.stdout.readline()) < first + ROWS:
                pass
        finally:
            writer.kill()
        return _last_whole_line(writer.stdout, first + ROWS)


def _last_whole_line(lines: IO[bytes], last: int) -> int:
    for line in lines:
        if line.endswith(b"\n"):
            last = int(line)
    return last


def _read(root: Path) -> tuple[int, str]:
    db = sqlite3.connect(root / "rows.db")
    try:
        (integrity,) = db.execute("pragma integrity_check").fetchone()
        (kept,) = db.execute("select coalesce(max(id), 0) from rows").fetchone()
    except sqlite3.OperationalError as broken:
        return 0, str(broken)
    finally:
        db.close()
    return kept, integrity
