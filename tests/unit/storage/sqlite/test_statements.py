"""Each statement of the store compiles against its schema, and none looks through a whole table without a reason."""

import sqlite3
from importlib.resources import files
from pathlib import Path
from typing import Final

import pytest

from procession.storage.ledger.effect import Sent
from procession.storage.ledger.lane import Lane
from procession.storage.sqlite import statements as module
from procession.storage.sqlite.opening import open_writer
from procession.storage.sqlite.statements import statements
from tests.conformance.clock import ManualClock, SeededChance

GROUPS: Final = ("accept", "book", "claim", "prune", "rest", "settle", "sweep")
STATEMENTS: Final = [(group, name) for group in GROUPS for name in statements(group)]

MAY_SCAN: Final = {
    ("book", "tenants"): "tenants are few, and all are wanted",
    ("prune", "turns_ended"): "in the order of the table, up to its limit",
}


@pytest.fixture
def connection(tmp_path: Path) -> sqlite3.Connection:
    return open_writer(tmp_path, ManualClock(), SeededChance())


def plan(connection: sqlite3.Connection, group: str, name: str) -> list[str]:
    text = statements(group)[name]
    if ":tenant" in text:
        return []
    rows = connection.execute(f"EXPLAIN QUERY PLAN {text}", (0,) * _parameters(text)).fetchall()
    return [row[3] for row in rows]


def _parameters(text: str) -> int:
    numbered = [int(text[at + 1]) for at, sign in enumerate(text) if sign == "?" and text[at + 1].isdigit()]
    return max(numbered) if numbered else text.count("?")


@pytest.mark.parametrize(("group", "name"), STATEMENTS)
def test_no_statement_of_the_line_looks_through_a_whole_table(
    connection: sqlite3.Connection, group: str, name: str
) -> None:
    steps = plan(connection, group, name)

    scans = [step for step in steps if step.startswith("SCAN") and " USING " not in step]
    assert not scans or (group, name) in MAY_SCAN
    assert not [step for step in steps if "TEMP B-TREE" in step and "ORDER BY" in step]


@pytest.mark.parametrize(
    ("group", "name", "index"),
    [
        ("claim", "ready_turns", "procession_lane_ready"),
        ("claim", "ready_sends", "procession_lane_ready"),
        ("claim", "suspect_turns", "procession_lane_suspect"),
        ("claim", "most_deaths", "procession_lane_suspect"),
        ("sweep", "leases_over", "procession_lane_lease"),
        ("sweep", "lanes_due", "procession_lane_due"),
        ("sweep", "doubts_over", "procession_effect_doubt"),
        ("sweep", "held_over", "procession_event_held_until"),
        ("sweep", "reminders_due", "procession_reminder_due"),
        ("sweep", "next_lease", "procession_lane_lease"),
        ("sweep", "next_lane", "procession_lane_due"),
        ("sweep", "next_doubt", "procession_effect_doubt"),
        ("sweep", "next_held", "procession_event_held_until"),
        ("sweep", "next_reminder", "procession_reminder_due"),
        ("accept", "held_up_to", "procession_event_held"),
        ("accept", "next_held", "procession_event_held"),
        ("rest", "windows", "procession_event_seq"),
        ("rest", "pending_behind", "procession_effect_open"),
        ("prune", "forget_over", "procession_event_over"),
        ("prune", "forget_effects", "procession_effect_ended"),
        ("prune", "forget_sightings", "procession_sighting_at"),
    ],
)
def test_what_is_looked_for_often_has_its_index(
    connection: sqlite3.Connection, group: str, name: str, index: str
) -> None:
    assert any(index in step for step in plan(connection, group, name))


def test_the_classes_of_rows_have_the_columns_of_their_tables(connection: sqlite3.Connection) -> None:
    for table, columns in (("procession_lane", Lane.COLUMNS), ("procession_effect", (*Sent.COLUMNS, "payload"))):
        there = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        assert tuple(there) == columns


def test_each_table_and_index_of_the_store_has_its_prefix(connection: sqlite3.Connection) -> None:
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]

    assert names
    assert all(name.startswith(("procession_", "sqlite_autoindex_procession_", "sqlite_")) for name in names)


def test_every_file_of_statements_can_be_read() -> None:
    groups = [file.name.removesuffix(".sql") for file in files(module.__package__).joinpath("sql").iterdir()]

    assert set(GROUPS) < set(groups)
    assert all(text.endswith("-- procession") for group in groups for text in statements(group).values())
