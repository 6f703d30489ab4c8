"""The suite over Postgres."""

import pytest

from procession.testing.postgres import ThrowawayServer
from tests.conformance.harness import Harness
from tests.conformance.openers import postgres
from tests.conformance.suite import every_case
from tests.throwaway import emptied, postgres_server

__all__ = ["postgres_server"]


@pytest.fixture
def harness(postgres_server: ThrowawayServer) -> Harness:
    emptied(postgres_server.url)
    return postgres(postgres_server.url)


globals().update(every_case())
