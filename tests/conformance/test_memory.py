"""The suite over the reference."""

import pytest

from procession.storage.memory import MemoryStore
from tests.conformance.clock import ManualClock, SeededChance
from tests.conformance.harness import Guarantee, Harness, Opened
from tests.conformance.suite import every_case


@pytest.fixture
def harness() -> Harness:
    return Harness(open_memory, Guarantee.NO_SQL)


async def open_memory(clock: ManualClock, chance: SeededChance) -> Opened:
    store = MemoryStore(clock=clock)
    return Opened(store=store, console=store.console, directory=store.directory)


globals().update(every_case())
