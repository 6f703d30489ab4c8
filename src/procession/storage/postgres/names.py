"""Names, where several processes teach them: one is written only over what was read."""

from collections.abc import Callable

from procession.storage.ledger.names import Led, Names
from procession.storage.postgres.contended import Contended
from procession.storage.rows import Rows


class PostgresNames(Names):
    """For one transaction: then all of it is forgotten."""

    def __init__(self, rows: Rows, step: Callable[[], int]) -> None:
        super().__init__(rows)
        self._step = step

    def _write(self, row: tuple[int, str, str, int, int, int | None], known: Led | None) -> None:
        *named, newest, retired_at = row
        newest += self._step()
        expected = None if known is None else known.lane
        if self._execute("names.lead", (*named, newest, retired_at, expected)).rowcount != 1:
            raise Contended
