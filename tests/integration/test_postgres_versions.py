"""Every statement is understood by every version of the server that is installed; the suite runs on the newest."""

import asyncio

import psycopg
import pytest

from procession.app.system import SystemChance, SystemClock
from procession.storage.postgres.statements import every_statement
from procession.storage.postgres.store import PostgresStore
from procession.testing.postgres import thrown_away
from procession.testing.postgres.programs import installed
from tests.conformance.builders import an_ask, an_event, an_intake


@pytest.mark.parametrize("version", [each.version for each in installed()])
async def test_every_statement_is_understood(version: int) -> None:
    with thrown_away(version=version) as server:
        store = await asyncio.to_thread(PostgresStore.open, server.url, clock=SystemClock(), chance=SystemChance())
        await store.accept(an_intake(an_event(1)))

        assert len(await store.claim_turns(an_ask())) == 1
        await store.close()
        with psycopg.connect(server.url, autocommit=True) as operator:
            for name, statement in every_statement().items():
                try:
                    operator.execute(b"prepare statement as " + statement.text.encode(), prepare=False)
                except psycopg.Error as error:
                    raise AssertionError(f"{name}: {error}") from error
                operator.execute("deallocate statement")
