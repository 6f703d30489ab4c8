"""Opening a file: what has to hold before anything is trusted to it.

Settings are set and then read back, since SQLite ignores what it cannot do without saying so: a file system without
shared memory, say, keeps another journal mode, and with it another promise.
"""

import os
import re
import sqlite3
from datetime import datetime
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from procession.core.errors import Misconfigured, SchemaNewer
from procession.ports.chance import Chance
from procession.ports.clock import Clock
from procession.storage.instants import instant, moment
from procession.storage.ledger.effect import Sent
from procession.storage.ledger.lane import Lane
from procession.storage.sqlite.connection import WriterConnection
from procession.storage.sqlite.statements import statements

DATABASE: Final = "procession.db"

_SQL: Final = statements("store")
_LIBRARY_MIN: Final = (3, 37, 0)
"""STRICT tables; RETURNING is older."""
_STATEMENTS_KEPT: Final = 512

_MIGRATION: Final = re.compile(r"\d{4}_\w+\.sql")

_SETTINGS: Final = (
    # Set, read back, what it has to be. Checkpoints are the writer's own, between its transactions. Busy, in
    # milliseconds: how long to wait for a stranger that locks the file (a backup tool, a shell) before saying that the
    # store is away. The cache: in KiB, and grown only as it is used.
    ("PRAGMA journal_mode = WAL", "PRAGMA journal_mode", "wal"),
    ("PRAGMA synchronous = FULL", "PRAGMA synchronous", 2),
    ("PRAGMA wal_autocheckpoint = 0", "PRAGMA wal_autocheckpoint", 0),
    ("PRAGMA busy_timeout = 2000", "PRAGMA busy_timeout", 2_000),
    ("PRAGMA cache_size = -16384", "PRAGMA cache_size", -16_384),
    ("PRAGMA foreign_keys = OFF", "PRAGMA foreign_keys", 0),
    ("PRAGMA recursive_triggers = OFF", "PRAGMA recursive_triggers", 0),
    ("PRAGMA locking_mode = NORMAL", "PRAGMA locking_mode", "normal"),
)


def open_writer(folder: Path, clock: Clock, chance: Chance) -> WriterConnection:
    """The one connection that writes; the caller holds the folder's lock."""
    _check_library()
    path = folder / DATABASE
    # Its log takes the file's mode when it is made, which is before anything could be changed about a file that SQLite
    # has made.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = WriterConnection(
        path, isolation_level=None, check_same_thread=False, cached_statements=_STATEMENTS_KEPT
    )
    try:
        _refuse_newer(connection)
        _settle_settings(connection)
        _migrate(connection)
        _check_columns(connection)
        _found(connection, clock, chance)
        connection.execute(_SQL["free_leases"])
    except BaseException:
        connection.close()
        raise
    # Each time: whoever made the file may have died before this.
    _sync_folder(folder)
    return connection


def open_reader(folder: Path) -> sqlite3.Connection:
    """A connection that can only read."""
    uri = f"{(folder / DATABASE).absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(
        uri, uri=True, isolation_level=None, check_same_thread=False, cached_statements=_STATEMENTS_KEPT
    )
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA busy_timeout = 2000")
    # Looked into once, so that it has the file open in earnest: see `SqliteStore.abandon`.
    _version(connection)
    return connection


def make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)


def clock_mark(connection: sqlite3.Connection) -> datetime:
    """The newest instant that an earlier process has written down."""
    return moment(connection.execute(_SQL["load"]).fetchone()[3])


def newest_version() -> int:
    return max(version for version, _ in _migrations())


def _check_library() -> None:
    if sqlite3.sqlite_version_info < _LIBRARY_MIN:
        wanted = ".".join(map(str, _LIBRARY_MIN))
        raise Misconfigured(f"SQLite {sqlite3.sqlite_version} is too old: Procession needs {wanted} or newer")


def _refuse_newer(connection: sqlite3.Connection) -> None:
    version, known = _version(connection), newest_version()
    if version > known:
        raise SchemaNewer(
            f"the store has schema {version}, and this version of Procession knows up to {known}: nothing was touched. "
            f"Start the newer version, or restore a backup from before it"
        )


def _version(connection: sqlite3.Connection) -> int:
    try:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        raise Misconfigured(f"{DATABASE} cannot be read: {error}. Restore it from a backup, or move it away") from error
    return int(version)


def _settle_settings(connection: sqlite3.Connection) -> None:
    for assign, ask, wanted in _SETTINGS:
        connection.execute(assign).fetchall()
        (found,) = connection.execute(ask).fetchone()
        if found != wanted:
            raise Misconfigured(
                f"{ask} is {found!r} and cannot be made {wanted!r}, which the promises need. Is the data folder "
                f"on a network file system? It has to be on a local one"
            )


# --- migrations ---


def _migrate(connection: sqlite3.Connection) -> None:
    version = _version(connection)
    for number, file in _migrations():
        if number > version:
            script = file.read_text(encoding="utf-8")
            # One transaction a file: a crash in the middle leaves the version before it.
            connection.executescript(f"BEGIN IMMEDIATE;\n{script}\nPRAGMA user_version = {number};\nCOMMIT;")


def _migrations() -> list[tuple[int, Traversable]]:
    files_there = files(__package__).joinpath("migrations").iterdir()
    found = [(int(file.name[:4]), file) for file in files_there if _MIGRATION.fullmatch(file.name)]
    return sorted(found, key=lambda pair: pair[0])


def _check_columns(connection: sqlite3.Connection) -> None:
    """Rows are read into these classes by position."""
    for table, kind, left_out in (("procession_lane", Lane, set[str]()), ("procession_effect", Sent, {"payload"})):
        columns = [row[1] for row in connection.execute(_SQL["columns"], (table,)) if row[1] not in left_out]
        assert columns == list(kind.COLUMNS), f"{table} is not what the code reads"


def _found(connection: sqlite3.Connection, clock: Clock, chance: Chance) -> None:
    if connection.execute(_SQL["load"]).fetchone() is None:
        connection.execute(_SQL["found"], (chance.token(16).hex(), instant(clock.now())))


def _sync_folder(folder: Path) -> None:
    """A new file's name is durable only when its folder is."""
    for place in (folder, folder.absolute().parent):
        handle = os.open(place, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
