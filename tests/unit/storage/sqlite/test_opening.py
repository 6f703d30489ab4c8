"""What has to hold before anything is trusted to a file."""

import os
import sqlite3
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from procession.core.errors import Misconfigured, SchemaNewer
from procession.storage.sqlite import opening
from procession.storage.sqlite.lock import FolderLock
from procession.storage.sqlite.opening import DATABASE, open_writer
from tests.conformance.builders import an_ask, an_event, an_intake
from tests.conformance.clock import ManualClock, SeededChance
from tests.unit.storage.sqlite.stores import opened


def test_the_settings_are_those_that_the_promises_need(tmp_path: Path) -> None:
    connection = open_writer(tmp_path, ManualClock(), SeededChance())

    def setting(name: str) -> object:
        return connection.execute(f"PRAGMA {name}").fetchone()[0]

    assert (setting("journal_mode"), setting("synchronous"), setting("wal_autocheckpoint")) == ("wal", 2, 0)


def test_a_setting_that_cannot_be_had_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_SETTINGS", (("PRAGMA synchronous = OFF", "PRAGMA synchronous", 2),))

    with pytest.raises(Misconfigured, match="synchronous"):
        open_writer(tmp_path, ManualClock(), SeededChance())


def test_others_can_read_neither_the_file_nor_its_log_in_a_folder_that_they_can_enter(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    connection = open_writer(tmp_path, ManualClock(), SeededChance())

    modes = {file.name: file.stat().st_mode & 0o077 for file in tmp_path.glob(f"{DATABASE}*")}
    assert modes == {DATABASE: 0, f"{DATABASE}-wal": 0, f"{DATABASE}-shm": 0}
    connection.close()


async def test_a_newer_schema_is_refused_and_nothing_is_touched(tmp_path: Path) -> None:
    await opened(tmp_path).close()
    with sqlite3.connect(tmp_path / DATABASE) as connection:
        connection.execute("PRAGMA user_version = 9999")
    connection.close()
    before = (tmp_path / DATABASE).read_bytes()

    with pytest.raises(SchemaNewer, match="9999"):
        opened(tmp_path)

    assert (tmp_path / DATABASE).read_bytes() == before


def test_what_is_no_database_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"not a database, " * 100)

    with pytest.raises(Misconfigured, match="backup"):
        opened(tmp_path)


async def test_a_second_engine_is_refused_and_told_who_the_first_is(tmp_path: Path) -> None:
    store = opened(tmp_path)

    with pytest.raises(Misconfigured, match=f"process {os.getpid()}"):
        opened(tmp_path)

    await store.close()
    await opened(tmp_path).close()


def test_an_engine_in_another_process_is_refused(tmp_path: Path) -> None:
    lock = FolderLock(tmp_path)
    script = (
        "import sys; from pathlib import Path; from procession.storage.sqlite.lock import FolderLock; "
        "FolderLock(Path(sys.argv[1]))"
    )

    other = subprocess.run([sys.executable, "-c", script, tmp_path], capture_output=True, text=True, check=False)

    assert other.returncode != 0
    assert "another engine" in other.stderr
    lock.release()


async def test_a_refused_file_does_not_stay_locked(tmp_path: Path) -> None:
    (tmp_path / DATABASE).write_bytes(b"not a database, " * 100)
    with pytest.raises(Misconfigured):
        opened(tmp_path)
    (tmp_path / DATABASE).unlink()

    await opened(tmp_path).close()


async def test_only_its_owner_can_read_the_file(tmp_path: Path) -> None:
    await opened(tmp_path / "store").close()

    assert (tmp_path / "store" / DATABASE).stat().st_mode & 0o077 == 0
    assert (tmp_path / "store").stat().st_mode & 0o077 == 0


async def test_the_clock_goes_on_from_where_it_was_though_the_wall_was_set_back(tmp_path: Path) -> None:
    clock = ManualClock()
    store = opened(tmp_path, clock)
    clock.advance(timedelta(hours=5))
    await store.accept(an_intake(an_event()))
    seen = store.now()
    await store.close()

    store = opened(tmp_path, ManualClock())

    assert store.now() == seen
    await store.close()


async def test_the_leases_of_a_former_process_are_deaths_for_the_first_sweep(tmp_path: Path) -> None:
    store = opened(tmp_path)
    await store.accept(an_intake(an_event()))
    await store.claim_turns(an_ask(alone=True))
    store.abandon()

    store = opened(tmp_path)
    swept = await store.sweep(10)

    (turn,) = await store.claim_turns(an_ask(suspects=True))
    assert (swept.leases_freed, swept.deaths) == (1, 1)
    assert (turn.tries, turn.deaths, turn.deaths_alone) == (2, 1, 1)
    await store.close()


async def test_each_file_has_a_name_and_an_era_of_its_own(tmp_path: Path) -> None:
    clock, chance = ManualClock(), SeededChance()
    names = set()
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        connection = open_writer(tmp_path / folder, clock, chance)
        names.add(connection.execute("SELECT uuid, era FROM procession_store").fetchone())

    assert len({name for name, _ in names}) == 2
    assert {era for _, era in names} == {1}
