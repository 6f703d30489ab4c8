"""Opening a database: what has to hold before anything is trusted to it."""

import re
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Final

import psycopg

from procession.core.errors import Misconfigured, SchemaNewer, StoreAway
from procession.ports.chance import Chance
from procession.storage.postgres.connection import StoreConnection, words
from procession.storage.postgres.rows import PostgresRows

VERSION_MIN: Final = 150_000
_MIGRATION: Final = re.compile(r"\d{4}_\w+\.sql")
_KEEPS_COMMITS: Final = ("on", "remote_apply")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Which cluster, and which life of it."""

    cluster: str
    timeline: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """What the store says of itself."""

    schema: int
    era: int
    place: Place
    """Where it lived when it was last seen."""


def prepared(url: str, chance: Chance) -> StoreConnection:
    """A connection to a server that keeps what the promises need, after the schema was made, or brought forward.

    Raises Misconfigured, SchemaNewer, StoreAway.
    """
    connection = StoreConnection.to(url)
    try:
        check(connection)
        _migrate(connection, chance)
    except psycopg.Error as error:
        connection.close()
        raise StoreAway(f"the schema could not be made: {words(error)}") from error
    except BaseException:
        connection.close()
        raise
    return connection


def reconnected(url: str) -> StoreConnection:
    """Another one, later: the server may be another by now, and somebody newer may have brought the schema forward."""
    connection = StoreConnection.to(url)
    try:
        check(connection)
        _refuse_newer(stored(connection).schema)
    except psycopg.Error as error:
        connection.close()
        raise StoreAway(f"the database is not to be had: {words(error)}") from error
    except BaseException:
        connection.close()
        raise
    return connection


def stored(connection: StoreConnection) -> Stored:
    row = PostgresRows(connection).execute("store.load").fetchone()
    assert row is not None, "the store has no row of its own"
    _, schema, era, cluster, timeline = row
    return Stored(schema=schema, era=era, place=Place(cluster=cluster, timeline=timeline))


def place_of(connection: StoreConnection) -> Place:
    cluster, timeline = PostgresRows(connection).execute("store.place").fetchone() or ("", "")
    return Place(cluster=cluster, timeline=timeline)


def check(connection: StoreConnection) -> None:
    """Raises Misconfigured, with what to write; StoreAway for a server that only repeats another."""
    row = PostgresRows(connection).execute("store.settings").fetchone()
    assert row is not None
    fsync, full_page_writes, synchronous_commit, version, encoding, recovering = row
    if recovering:
        raise StoreAway("this server is a standby: it takes no writes")
    if version < VERSION_MIN:
        raise Misconfigured(
            f"Postgres {version // 10_000} is too old: Procession needs {VERSION_MIN // 10_000} or newer"
        )
    if encoding != "UTF8":
        raise Misconfigured(f"the database's encoding is {encoding}: Procession needs UTF8 (createdb --encoding UTF8)")
    for name, found in (("fsync", fsync), ("full_page_writes", full_page_writes)):
        if found != "on":
            raise Misconfigured(
                f"{name} is {found}: the server may lose what it has committed. "
                f"Set it to on (ALTER SYSTEM SET {name} = on), and reload"
            )
    if synchronous_commit not in _KEEPS_COMMITS:
        raise Misconfigured(
            f"synchronous_commit is {synchronous_commit}: a commit may be lost after it was answered. "
            f"Set it to on for this user (ALTER ROLE … SET synchronous_commit = on)"
        )


def newest_version() -> int:
    return max(version for version, _ in _migrations())


# --- migrations ---


def _migrate(connection: StoreConnection, chance: Chance) -> None:
    """One transaction for all, and one process at a time."""
    rows = PostgresRows(connection)
    run = connection.cursor()
    run.execute("BEGIN")
    try:
        rows.execute("store.migrating").fetchall()
        (there,) = rows.execute("store.schema").fetchone() or (False,)
        version = int((rows.execute("store.load").fetchone() or (0, 0))[1]) if there else 0
        _refuse_newer(version)
        for number, file in _migrations():
            if number > version:
                run.execute(file.read_text(encoding="utf-8").encode(), prepare=False)
        if not there:
            place = place_of(connection)
            rows.execute("store.found", (chance.token(16).hex(), newest_version(), place.cluster, place.timeline))
        elif version < newest_version():
            rows.execute("store.advance", (newest_version(),))
        run.execute("COMMIT")
    except BaseException:
        if not connection.closed:
            run.execute("ROLLBACK")
        raise


def _refuse_newer(version: int) -> None:
    known = newest_version()
    if version > known:
        raise SchemaNewer(
            f"the store has schema {version}, and this version of Procession knows up to {known}: nothing was touched. "
            f"Start the newer version, or restore a backup from before it"
        )


def _migrations() -> list[tuple[int, Traversable]]:
    files_there = files(__package__).joinpath("migrations").iterdir()
    found = [(int(file.name[:4]), file) for file in files_there if _MIGRATION.fullmatch(file.name)]
    return sorted(found, key=lambda pair: pair[0])
