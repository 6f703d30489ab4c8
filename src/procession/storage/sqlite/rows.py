"""The rules' way to the rows of a file: each statement by its name, on one connection."""

import sqlite3
from collections.abc import Iterable
from typing import Any, Final

from procession.storage.rows import Arguments
from procession.storage.sqlite.statements import every_statement

_TEXTS: Final = every_statement()


class SqliteRows:
    __slots__ = ("_many", "_one", "_texts", "connection")

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self._one = connection.execute
        self._many = connection.executemany
        self._texts = _TEXTS

    def execute(self, name: str, arguments: Arguments = (), /) -> sqlite3.Cursor:
        return self._one(self._texts[name], arguments)

    def executemany(self, name: str, arguments: Iterable[Any], /) -> sqlite3.Cursor:
        return self._many(self._texts[name], arguments)
