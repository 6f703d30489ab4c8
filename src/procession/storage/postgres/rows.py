"""The rules' way to the rows of a database: each statement by its name, on one connection."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import psycopg

from procession.storage.postgres.connection import StoreConnection
from procession.storage.postgres.statements import Statement, every_statement
from procession.storage.rows import Arguments

_STATEMENTS: Final = every_statement()


class PostgresRows:
    __slots__ = ("connection",)

    def __init__(self, connection: StoreConnection) -> None:
        self.connection = connection

    def execute(self, name: str, arguments: Arguments = (), /) -> psycopg.Cursor[tuple[Any, ...]]:
        statement = _STATEMENTS[name]
        cursor = self.connection.cursor(binary=True)
        return cursor.execute(statement.text.encode(), _values(statement, arguments))

    def executemany(self, name: str, arguments: Iterable[Arguments], /) -> int:
        """One round trip for all. Answers how many rows were touched."""
        statement = _STATEMENTS[name]
        cursor = self.connection.cursor(binary=True)
        cursor.executemany(statement.text.encode(), [_values(statement, each) for each in arguments])
        return cursor.rowcount


def _values(statement: Statement, arguments: Arguments) -> list[Any]:
    if isinstance(arguments, Mapping):
        return [arguments[name] for name in statement.names]
    return list(arguments)
