"""The writer's connection, which a turn's own SQL is lent for a moment."""

import sqlite3
from collections.abc import Callable
from typing import Final

_LENT: Final = "turn.sql lends this connection for its statements only: the store begins, ends, guards and closes it"


class WriterConnection(sqlite3.Connection):
    """While it is lent, it cannot be ended, closed or unguarded: SQLite's own guard sees statements, and these are
    none.
    """

    lent = False

    def close(self) -> None:
        self._refuse_if_lent()
        super().close()

    def commit(self) -> None:
        self._refuse_if_lent()
        super().commit()

    def rollback(self) -> None:
        self._refuse_if_lent()
        super().rollback()

    def executescript(self, sql_script: str, /) -> sqlite3.Cursor:
        # It would commit first, by itself.
        self._refuse_if_lent()
        return super().executescript(sql_script)

    def set_authorizer(self, authorizer_callback: Callable[..., int] | None) -> None:
        self._refuse_if_lent()
        super().set_authorizer(authorizer_callback)

    def set_progress_handler(self, progress_handler: Callable[[], int | None] | None, n: int) -> None:
        self._refuse_if_lent()
        super().set_progress_handler(progress_handler, n)

    def blobopen(self, *_args: object, **_words: object) -> sqlite3.Blob:
        """It writes into any row without a statement, and so past the guard; the store has no use for it either."""
        raise sqlite3.ProgrammingError(_LENT)

    def deserialize(self, *_args: object, **_words: object) -> None:
        """It would put another file in the place of this one; the store has no use for it either."""
        raise sqlite3.ProgrammingError(_LENT)

    def enable_load_extension(self, *_args: object) -> None:
        """Foreign code in the writer: not by this way."""
        raise sqlite3.ProgrammingError(_LENT)

    def _refuse_if_lent(self) -> None:
        if self.lent:
            raise sqlite3.ProgrammingError(_LENT)
