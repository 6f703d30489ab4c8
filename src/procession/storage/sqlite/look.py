"""A look at a file from beside its engine: a check of a large one takes a while, and nothing waits for it."""

from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from procession.ports.clock import Clock
from procession.storage.sqlite.opening import DATABASE, clock_mark, newest_version, open_reader


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLook:
    version: int
    version_known: int
    """The newest that this build can read."""
    faults: tuple[str, ...]
    """What SQLite's own check finds; empty: nothing."""
    clock_ahead: timedelta
    """Of the store's clock, against the machine's."""


def look_at(folder: Path, clock: Clock) -> FileLook:
    with closing(open_reader(folder)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        said = [row[0] for row in connection.execute("PRAGMA quick_check(5)")]
        ahead = clock_mark(connection) - clock.now()
    return FileLook(
        version=version,
        version_known=newest_version(),
        faults=() if said == ["ok"] else tuple(said),
        clock_ahead=ahead,
    )


def version_of(folder: Path) -> int:
    """Of the schema; 0 where there is none yet."""
    if not (folder / DATABASE).exists():
        return 0
    with closing(open_reader(folder)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)
