"""One connection to the database, with a deadline on every wait, and parameters in binary.

What is written as text has to be read as text by the server: arrays of payloads cost six times as much so.
"""

from collections.abc import Generator
from typing import Any, Final, Self, TypeVar

import psycopg
from psycopg.adapt import AdaptersMap
from psycopg.rows import tuple_row
from psycopg.types.array import ListBinaryDumper
from psycopg.types.numeric import Int8BinaryDumper
from psycopg.types.string import BytesBinaryDumper, StrBinaryDumper

from procession.core.errors import StoreAway

T = TypeVar("T")

CALL_SECONDS_MAX: Final = 10.0
"""How long a statement or a commit may take before the connection is thrown away: a lease's length, after which whoever
waits for it has lost it anyway."""
CONNECT_SECONDS_MAX: Final = 5


class StoreConnection(psycopg.Connection[tuple[Any, ...]]):
    """Outside of transactions of its own making each statement is its own: BEGIN and COMMIT are said in words."""

    lent = False

    def lend(self, cursors: type[psycopg.Cursor[tuple[Any, ...]]]) -> None:
        """To a handler's own SQL, with cursors that refuse what is not its affair."""
        self.lent, self.cursor_factory = True, cursors

    def take_back(self) -> None:
        self.lent, self.cursor_factory = False, psycopg.RawCursor
        self.row_factory = tuple_row

    def commit(self) -> None:
        self._refuse_if_lent()
        super().commit()

    def rollback(self) -> None:
        self._refuse_if_lent()
        super().rollback()

    def close(self) -> None:
        self._refuse_if_lent()
        super().close()

    def _refuse_if_lent(self) -> None:
        if self.lent:
            raise PermissionError("turn.sql lends this connection for its statements: the store ends and closes it")

    @classmethod
    def to(cls, url: str, *, read_only: bool = False) -> Self:
        """Raises StoreAway."""
        try:
            connection = cls.connect(
                url,
                autocommit=True,
                prepare_threshold=0,
                cursor_factory=psycopg.RawCursor,
                context=_ADAPTERS_OWNER,
                connect_timeout=CONNECT_SECONDS_MAX,
                application_name="procession reader" if read_only else "procession",
            )
        except psycopg.OperationalError as error:
            raise StoreAway(f"the database is not to be had: {words(error)}") from error
        assert isinstance(connection, cls)
        return connection

    def wait(self, gen: Generator[Any, Any, T], interval: float = 0.1, timeout: float | None = None) -> T:
        """An answer that comes after its deadline is no answer: what it would have said is asked for elsewhere."""
        limit = CALL_SECONDS_MAX if timeout is None else timeout
        try:
            return super().wait(gen, interval, limit)
        except psycopg.OperationalError:
            if self.pgconn.transaction_status == psycopg.pq.TransactionStatus.ACTIVE:
                self.pgconn.finish()
            raise


def words(error: BaseException) -> str:
    """What the server or the driver said, without what was asked."""
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    return str(primary or error).strip().partition("\n")[0]


class _Adapters:
    """What a connection is made with."""

    connection = None

    def __init__(self) -> None:
        self.adapters = AdaptersMap(psycopg.adapters)
        for kind, dumper in (
            (int, Int8BinaryDumper),
            (str, StrBinaryDumper),
            (bytes, BytesBinaryDumper),
            (list, ListBinaryDumper),
        ):
            self.adapters.register_dumper(kind, dumper)


_ADAPTERS_OWNER: Final = _Adapters()
