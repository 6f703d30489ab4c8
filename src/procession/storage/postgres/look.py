"""A look at a database from beside its engines."""

from contextlib import closing
from dataclasses import dataclass

import psycopg

from procession.core.errors import StoreAway
from procession.storage.postgres.connection import StoreConnection, words
from procession.storage.postgres.opening import newest_version, place_of, stored
from procession.storage.postgres.rows import PostgresRows


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseLook:
    server: int
    """Its major version."""
    synchronous_commit: str
    timeline: str
    schema: int
    schema_known: int
    """The newest that this build can read."""
    others: int
    """Connections of Procession beside this one: those of all engines."""


def look_at(url: str) -> DatabaseLook:
    """Raises StoreAway."""
    with closing(StoreConnection.to(url, read_only=True)) as connection:
        try:
            rows = PostgresRows(connection)
            _, _, synchronous_commit, server, _, _ = rows.execute("store.settings").fetchone() or ("",) * 6
            (others,) = rows.execute("store.others").fetchone() or (0,)
            return DatabaseLook(
                server=int(server) // 10_000,
                synchronous_commit=synchronous_commit,
                timeline=place_of(connection).timeline,
                schema=stored(connection).schema,
                schema_known=newest_version(),
                others=others,
            )
        except psycopg.Error as error:
            raise StoreAway(f"the database is not to be had: {words(error)}") from error


def version_of(url: str) -> int:
    """Of the schema; 0 where there is none yet. Raises StoreAway."""
    with closing(StoreConnection.to(url, read_only=True)) as connection:
        try:
            (there,) = PostgresRows(connection).execute("store.schema").fetchone() or (False,)
            return stored(connection).schema if there else 0
        except psycopg.Error as error:
            raise StoreAway(f"the database is not to be had: {words(error)}") from error
