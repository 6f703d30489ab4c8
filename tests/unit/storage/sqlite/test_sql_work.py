"""A turn's own SQL: what it may do with the connection that it is lent."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from procession.core.errors import SqlFailed
from procession.core.turn import HeldTurn
from procession.core.verdict import Fate
from procession.storage.sqlite.store import SqliteStore
from tests.conformance.builders import a_settlement, an_ask, an_event, an_intake
from tests.unit.storage.sqlite.stores import connection_of, opened_inline

Use = Callable[[sqlite3.Connection], object]


async def prepared(folder: Path) -> tuple[SqliteStore, HeldTurn]:
    """A running turn, and a table of the user's."""
    store = opened_inline(folder)
    await store.accept(an_intake(an_event()))
    await store.write(lambda book: connection_of(book.rows).execute("CREATE TABLE mine (n INTEGER PRIMARY KEY)"))
    (turn,) = await store.claim_turns(an_ask())
    return store, turn


async def used(store: SqliteStore, turn: HeldTurn, use: Use) -> None:
    def work(connection: object) -> None:
        assert isinstance(connection, sqlite3.Connection)
        use(connection)

    settled = await store.settle(a_settlement(turn, sql=(work,)))
    assert settled.fate is Fate.KEPT


async def rows(store: SqliteStore, table: str = "mine") -> list[tuple[object, ...]]:
    return await store.read(lambda rows: connection_of(rows).execute(f"SELECT * FROM {table}").fetchall())


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO mine VALUES (1) RETURNING n",
        "CREATE TABLE theirs AS SELECT 1 AS n",
        "CREATE INDEX by_n ON mine (n)",
        "CREATE TRIGGER t AFTER INSERT ON mine BEGIN DELETE FROM mine WHERE n < 0; END",
        "ALTER TABLE mine ADD COLUMN m",
        "DROP TABLE mine",
        "SELECT count(*) FROM procession_event",
        "PRAGMA table_info(mine)",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 9) INSERT INTO mine SELECT i FROM n",
        "SAVEPOINT own",
    ],
)
async def test_statements_over_tables_of_its_own_are_free(tmp_path: Path, statement: str) -> None:
    store, turn = await prepared(tmp_path)

    await used(store, turn, lambda connection: connection.execute(statement).fetchall())

    assert await store.claim_turns(an_ask()) == ()
    await store.close()


async def test_a_savepoint_of_its_own_can_be_rolled_back(tmp_path: Path) -> None:
    store, turn = await prepared(tmp_path)

    def use(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO mine VALUES (1)")
        connection.execute("SAVEPOINT own")
        connection.execute("INSERT INTO mine VALUES (2)")
        connection.execute("ROLLBACK TO own")
        connection.execute("RELEASE own")

    await used(store, turn, use)

    assert await rows(store) == [(1,)]
    await store.close()


@pytest.mark.parametrize(
    "use",
    [
        lambda c: c.execute("COMMIT"),
        lambda c: c.execute("END"),
        lambda c: c.execute("COMMIT\n-- procession"),
        lambda c: c.execute("RELEASE procession_turn_sql"),
        lambda c: c.execute("ROLLBACK TO procession_turn_sql"),
        lambda c: c.executescript("SELECT 1"),
        lambda c: c.set_authorizer(None),
        lambda c: c.set_progress_handler(None, 0),
        lambda c: c.enable_load_extension(True),
        lambda c: setattr(c, "isolation_level", None),
        lambda c: c.execute("ATTACH ':memory:' AS other"),
        lambda c: c.execute("PRAGMA writable_schema = ON"),
        lambda c: c.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall(),
        lambda c: c.execute("VACUUM"),
        lambda c: c.execute("UPDATE Procession_Lane SET epoch = 99"),
        lambda c: c.execute("REPLACE INTO procession_store (one, uuid, clock) VALUES (1, '', 0)"),
        lambda c: c.execute("CREATE TABLE procession_mine (n)"),
        lambda c: c.execute("DROP INDEX procession_lane_ready"),
        lambda c: c.execute("CREATE INDEX mine_too ON procession_lane (epoch)"),
        lambda c: c.execute("CREATE TRIGGER t AFTER UPDATE ON procession_lane BEGIN DELETE FROM mine; END"),
        lambda c: c.execute("CREATE TEMP TRIGGER t AFTER UPDATE ON procession_lane BEGIN DELETE FROM mine; END"),
        lambda c: c.execute("SELECT load_extension('x')").fetchall(),
        lambda c: c.execute("CREATE TEMP TABLE procession_lane AS SELECT * FROM main.procession_lane"),
        lambda c: c.execute("CREATE TEMP VIEW procession_event AS SELECT 1"),
        lambda c: c.blobopen("procession_event", "payload", 1).write(b"!"),
    ],
)
async def test_what_is_the_stores_is_refused_and_nothing_of_the_turn_is_kept(tmp_path: Path, use: Use) -> None:
    store, turn = await prepared(tmp_path)

    def meddling(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO mine VALUES (1)")
        use(connection)

    with pytest.raises(SqlFailed):
        await used(store, turn, meddling)

    assert await rows(store) == []
    assert (await store.settle(a_settlement(turn))).fate is Fate.KEPT
    await store.close()


async def test_what_goes_on_after_a_rollback_is_not_kept_without_its_turn(tmp_path: Path) -> None:
    store, turn = await prepared(tmp_path)

    def stubborn(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO mine VALUES (1)")
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("INSERT OR ROLLBACK INTO mine VALUES (1)")
        connection.execute("INSERT INTO mine VALUES (77)")

    with pytest.raises(SqlFailed):
        await used(store, turn, stubborn)

    assert await rows(store) == []
    await store.close()


async def test_a_trigger_cannot_reach_the_stores_tables_for_it(tmp_path: Path) -> None:
    store, turn = await prepared(tmp_path)

    def meddling(connection: sqlite3.Connection) -> None:
        connection.execute("CREATE TRIGGER t AFTER INSERT ON mine BEGIN DELETE FROM procession_event; END")
        connection.execute("INSERT INTO mine VALUES (1)")

    with pytest.raises(SqlFailed):
        await used(store, turn, meddling)

    assert len(await rows(store, "procession_event")) == 1
    await store.close()


async def test_the_connection_is_given_back_as_it_was(tmp_path: Path) -> None:
    store, turn = await prepared(tmp_path)

    def use(connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        connection.text_factory = bytes

    await used(store, turn, use)

    await store.accept(an_intake(an_event(2)))
    (turn,) = await store.claim_turns(an_ask())
    assert turn.events[0].provider_id == "ann-2"
    await store.close()


async def test_a_handler_that_swallows_what_it_was_refused_has_changed_nothing_by_it(tmp_path: Path) -> None:
    store, turn = await prepared(tmp_path)

    def meddling(connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO mine VALUES (1)")
        with pytest.raises(sqlite3.DatabaseError):
            connection.execute("COMMIT")

    await used(store, turn, meddling)

    assert await rows(store) == [(1,)]
    await store.close()
