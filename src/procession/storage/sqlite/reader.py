"""Reading beside the writer: a connection that can only read, each reading on one snapshot of the file."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from procession.core.errors import BadRequest, StoreAway
from procession.storage.rows import Rows
from procession.storage.sqlite.opening import open_reader
from procession.storage.sqlite.rows import SqliteRows
from procession.storage.sqlite.statements import own

T = TypeVar("T")

Reading = Callable[[Rows], T]


class Reader:
    """In a thread of its own, one reading at a time; in a simulation, on the loop itself."""

    def __init__(self, folder: Path, *, inline: bool) -> None:
        self._connection = open_reader(folder)
        self._rows = SqliteRows(self._connection)
        self._thread = None if inline else ThreadPoolExecutor(1, thread_name_prefix="procession-sqlite-reader")

    async def run(self, read: Reading[T]) -> T:
        if self._thread is None:
            return self._read(read)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, read)

    def close(self) -> None:
        """Idempotent."""
        if self._thread is not None:
            self._thread.shutdown()
        self._connection.close()

    def _read(self, read: Reading[T]) -> T:
        # One transaction: everything that a reading sees was true at the same moment.
        self._connection.execute(_BEGIN)
        try:
            return read(self._rows)
        except OverflowError:
            raise BadRequest("a number is larger than any that the store can hold") from None
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", None) or type(error).__name__
            raise StoreAway(f"reading failed: {name}") from error
        finally:
            self._connection.execute(_END)


_BEGIN = own("BEGIN")
_END = own("ROLLBACK")
