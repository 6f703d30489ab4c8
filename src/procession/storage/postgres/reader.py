"""Reading beside the writer: a connection that can only read, each reading on one snapshot."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

import psycopg

from procession.core.errors import BadRequest, StoreAway
from procession.storage.postgres.connection import StoreConnection, words
from procession.storage.postgres.rows import PostgresRows
from procession.storage.rows import Rows

T = TypeVar("T")

_BEGIN: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class Reader:
    """In a thread of its own, one reading at a time."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: StoreConnection | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="procession-postgres-reader")

    async def run(self, read: Callable[[Rows], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._read, read)

    def close(self) -> None:
        """Idempotent."""
        self._thread.shutdown()
        self._let_go()

    def _read(self, read: Callable[[Rows], T]) -> T:
        try:
            connection = self._begun()
            answer = read(PostgresRows(connection))
            connection.cursor().execute("COMMIT", prepare=False)
        except (psycopg.DataError, OverflowError, UnicodeError) as error:
            self._let_go()
            raise BadRequest(f"this cannot be asked for: {words(error)}") from error
        except psycopg.Error as error:
            self._let_go()
            raise StoreAway(f"reading failed: {words(error)}") from error
        except BaseException:
            self._let_go()
            raise
        return answer

    def _begun(self) -> StoreConnection:
        """In a transaction. A connection that has died since it was last used is replaced."""
        if self._connection is not None and not self._connection.closed:
            try:
                self._connection.cursor().execute(_BEGIN, prepare=False)
            except psycopg.OperationalError:
                self._let_go()
            else:
                return self._connection
        self._connection = StoreConnection.to(self._url, read_only=True)
        self._connection.cursor().execute(_BEGIN, prepare=False)
        return self._connection

    def _let_go(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
