"""A handler's own SQL on Postgres: its tables are its own, and everything else is the store's."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import psycopg
import pytest

from procession.app.system import SystemChance, SystemClock
from procession.core.errors import SqlFailed
from procession.core.turn import Advance, HeldTurn, Settlement, SqlWork
from procession.core.verdict import Fate
from procession.storage.postgres.store import PostgresStore
from procession.testing.postgres import ThrowawayServer
from tests.conformance.builders import an_ask, an_event, an_intake, the_event
from tests.throwaway import emptied, postgres_server

__all__ = ["postgres_server"]

Use = Callable[[psycopg.Connection[tuple[object, ...]]], object]

MUST_NOT: dict[str, Use] = {
    "commit": lambda lent: lent.execute("commit"),
    "commit behind a remark": lambda lent: lent.execute("/* why */ -- not\n commit"),
    "commit as a second statement": lambda lent: lent.execute("insert into visits values ('eve'); commit"),
    "commit in a block": lambda lent: lent.execute("do $$ begin commit; end $$"),
    "commit of the connection": lambda lent: lent.commit(),
    "commit by way of a cursor": lambda lent: lent.cursor().connection.commit(),
    "rollback": lambda lent: lent.execute("rollback"),
    "weaker commits": lambda lent: lent.execute("set local synchronous_commit = off"),
    "weaker commits by a function": lambda lent: lent.execute("select set_config('synchronous_commit', 'off', true)"),
    "another search path": lambda lent: lent.execute("select set_config('search_path', 'pg_temp', true)"),
    "a write to the store": lambda lent: lent.execute("update procession_event set payload = ''"),
    "a write in a function": lambda lent: lent.execute("do $$ begin delete from procession_event; end $$"),
    "a change of the store": lambda lent: lent.execute("alter table procession_event add column mine text"),
    "truncation": lambda lent: lent.execute("truncate procession_event"),
    "a lock": lambda lent: lent.execute("lock table procession_event"),
    "no end": lambda lent: lent.execute("select pg_sleep(20)"),
}


@asynccontextmanager
async def with_a_turn(server: ThrowawayServer) -> AsyncIterator[tuple[PostgresStore, HeldTurn]]:
    emptied(server.url)
    store = await asyncio.to_thread(PostgresStore.open, server.url, clock=SystemClock(), chance=SystemChance())
    with psycopg.connect(server.url, autocommit=True) as operator:
        operator.execute("create table visits (who text)")
    await store.accept(an_intake(an_event(1)))
    (turn,) = await store.claim_turns(an_ask())
    try:
        yield store, turn
    finally:
        await store.close()


def visit(who: str) -> Use:
    return lambda lent: lent.execute("insert into visits values (%s)", (who,))


def settled_with(turn: HeldTurn, *works: Use) -> Settlement:
    def work(use: Use) -> SqlWork:
        def run(lent: object) -> None:
            assert isinstance(lent, psycopg.Connection)
            use(lent)

        return run

    return Settlement(lease=turn.lease, turn=turn.id, outcome=Advance(), sql=tuple(work(use) for use in works))


def visits(server: ThrowawayServer) -> list[tuple[object, ...]]:
    with psycopg.connect(server.url) as operator:
        return operator.execute("select who from visits order by who").fetchall()


@pytest.mark.parametrize("what", MUST_NOT)
async def test_what_a_handler_must_not_do_leaves_nothing_behind(postgres_server: ThrowawayServer, what: str) -> None:
    async with with_a_turn(postgres_server) as (store, turn):
        with pytest.raises(SqlFailed):
            await store.settle(settled_with(turn, visit("ann"), MUST_NOT[what]))

        assert visits(postgres_server) == []
        settled = await store.settle(settled_with(turn, visit("bob")))
        assert settled.fate is Fate.KEPT
        assert visits(postgres_server) == [("bob",)]


async def test_others_of_the_batch_do_not_suffer(postgres_server: ThrowawayServer) -> None:
    async with with_a_turn(postgres_server) as (store, turn):
        spoilt = settled_with(turn, MUST_NOT["commit"])
        accepts = [store.accept(an_intake(an_event(n))) for n in (2, 3)]

        told = await asyncio.gather(accepts[0], store.settle(spoilt), accepts[1], return_exceptions=True)

        assert isinstance(told[1], SqlFailed)
        assert all([await store.console.why(the_event(n)) for n in (2, 3)])


async def test_parameters_cursors_and_savepoints_are_as_psycopg_has_them(postgres_server: ThrowawayServer) -> None:
    def use(lent: psycopg.Connection[tuple[object, ...]]) -> None:
        lent.cursor().executemany("insert into visits values (%s)", [("ann",), ("bob",)])
        with lent.transaction(force_rollback=True):
            lent.execute("insert into visits values (%(who)s)", {"who": "eve"})
        row = lent.execute("select count(*) from visits where who <> %s", ("bob",)).fetchone()
        lent.execute("insert into visits values (%s)", (f"seen {row}",))

    async with with_a_turn(postgres_server) as (store, turn):
        await store.settle(settled_with(turn, use))

    assert visits(postgres_server) == [("ann",), ("bob",), ("seen (1,)",)]
