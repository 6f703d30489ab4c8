"""The suite over the reference."""

import pytest

from tests.conformance.harness import Harness
from tests.conformance.openers import memory
from tests.conformance.suite import every_case


@pytest.fixture
def harness() -> Harness:
    return memory()


globals().update(every_case())
