"""The reference keeps its invariants whatever is done to it, and everything comes to its end once the world heals."""

from collections.abc import Sequence

from tests.conformance.harness import Harness
from tests.conformance.openers import memory
from tests.properties.machine import LineMachine


class MemoryMachine(LineMachine):
    def harnesses(self) -> Sequence[Harness]:
        return (memory(),)


TestMemory = MemoryMachine.TestCase
