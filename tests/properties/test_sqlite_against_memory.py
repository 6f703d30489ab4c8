"""SQLite answers and shows exactly what the reference does, whatever is done to both."""

from collections.abc import Sequence
from contextlib import ExitStack

from tests.conformance.harness import Harness
from tests.conformance.openers import folder_in_memory, memory, sqlite
from tests.properties.machine import LineMachine


class SqliteMachine(LineMachine):
    def harnesses(self) -> Sequence[Harness]:
        self._folders = ExitStack()
        folder = self._folders.enter_context(folder_in_memory())
        return memory(), sqlite(folder / "store")

    def teardown(self) -> None:
        try:
            super().teardown()
        finally:
            self._folders.close()


TestSqlite = SqliteMachine.TestCase
