"""The suite over SQLite."""

from collections.abc import Iterator

import pytest

from tests.conformance.harness import Harness
from tests.conformance.openers import folder_in_memory, sqlite
from tests.conformance.suite import every_case


@pytest.fixture
def harness() -> Iterator[Harness]:
    with folder_in_memory() as folder:
        yield sqlite(folder / "store")


globals().update(every_case())
