"""Postgres answers and shows exactly what the reference does, whatever is done to both."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import pytest
from hypothesis import settings

from procession.testing.postgres import ThrowawayServer
from tests.conformance.harness import Harness
from tests.conformance.openers import memory, postgres
from tests.properties.machine import LineMachine
from tests.throwaway import emptied, postgres_server

__all__ = ["postgres_server"]

# A dozen round trips a step: on a busy machine that is minutes.
pytestmark = pytest.mark.timeout(1800)


class PostgresMachine(LineMachine):
    url: ClassVar[str]

    def harnesses(self) -> Sequence[Harness]:
        emptied(self.url)
        return memory(), postgres(self.url)


@pytest.fixture(scope="module", autouse=True)
def _on_a_server(postgres_server: ThrowawayServer) -> Iterator[None]:
    PostgresMachine.url = postgres_server.url
    yield
    del PostgresMachine.url


TestPostgres = PostgresMachine.TestCase
# Each step is a dozen round trips, and the same rules are played at length on SQLite: what is looked for here is what
# the texts of this store say otherwise.
TestPostgres.settings = settings(max_examples=max(settings().max_examples // 15, 10))
