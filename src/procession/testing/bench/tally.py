"""What an engine has done so far, read from its file from outside, without a word to the engine."""

import sqlite3
import time
from pathlib import Path
from typing import Final

import msgspec

_COUNTS: Final = (
    "SELECT coalesce(sum(placed), 0), coalesce(sum(done), 0), coalesce(sum(confirmed), 0) FROM procession_tally"
)
STANDS_STILL_S: Final = 30.0


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    at: float
    """On the machine's monotonic clock."""
    placed: int
    done: int
    confirmed: int


class Tally:
    def __init__(self, database: Path) -> None:
        self._connection = sqlite3.connect(f"{database.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
        self._connection.execute("PRAGMA busy_timeout = 2000")

    def now(self) -> Counts:
        placed, done, confirmed = self._connection.execute(_COUNTS).fetchone()
        return Counts(at=time.monotonic(), placed=placed, done=done, confirmed=confirmed)

    def close(self) -> None:
        self._connection.close()


class Standstill:
    """Raises when nothing moves any more: a measure must not hang on an engine that does."""

    def __init__(self) -> None:
        self._last: tuple[int, int, int] | None = None
        self._since = time.monotonic()

    def look(self, counts: Counts) -> None:
        seen = (counts.placed, counts.done, counts.confirmed)
        if seen != self._last:
            self._last, self._since = seen, counts.at
        elif counts.at - self._since > STANDS_STILL_S:
            raise RuntimeError(f"nothing has moved for {STANDS_STILL_S:.0f} s: {counts}")
