"""A Postgres that all tests of a run share, and how it is emptied between them."""

import os
from collections.abc import Iterator
from typing import Final

import psycopg
import pytest

from procession.testing.postgres import ThrowawayServer, thrown_away

_CONNECTIONS: Final[dict[str, psycopg.Connection[tuple[object, ...]]]] = {}


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[ThrowawayServer]:
    chosen = os.environ.get("POSTGRES_VERSION")
    with thrown_away(version=int(chosen) if chosen else None) as server:
        yield server
        while _CONNECTIONS:
            _CONNECTIONS.popitem()[1].close()


def emptied(url: str) -> None:
    """All that a store has kept there is gone; the schema stays. Rows are deleted, since that is quicker than anything
    that asks for new files.
    """
    connection = _CONNECTIONS.get(url) or _CONNECTIONS.setdefault(url, psycopg.connect(url, autocommit=True))
    for (table,) in connection.execute(
        "select tablename from pg_tables where schemaname = 'public' and tablename not like 'procession_%'"
    ).fetchall():
        connection.execute(f'drop table "{table}"'.encode())
    tables = connection.execute("select tablename from pg_tables where tablename like 'procession_%'").fetchall()
    gone = [f"delete from {table};" for (table,) in tables if table != "procession_store"]
    if tables:
        fresh = "update procession_store set era = 1, sending_paused = 0; select setval('procession_clock', 0);"
        connection.execute(("begin;" + "".join(gone) + fresh + "commit").encode(), prepare=False)
