"""Postgres fails in every way that it has: what was answered is kept, and what was not kept was not answered."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from procession.app.system import SystemChance, SystemClock
from procession.core.errors import Misconfigured, OutcomeUnknown, SchemaNewer, StoreAway
from procession.core.turn import Advance, NotBegun, Settlement
from procession.core.verdict import Fate
from procession.storage.postgres import connection as of_connections
from procession.storage.postgres.batches import BEGIN
from procession.storage.postgres.store import PostgresStore
from procession.testing.postgres import ThrowawayServer, thrown_away
from tests.conformance.builders import (
    ACME,
    an_ask,
    an_effect,
    an_event,
    an_intake,
    the_effect,
    the_event,
    the_lane,
)
from tests.integration.postgres_wire import Cut, Wire
from tests.throwaway import emptied, postgres_server

__all__ = ["postgres_server"]


@pytest.fixture(scope="module")
def own_server() -> Iterator[ThrowawayServer]:
    """One that is killed, restarted and promoted."""
    with thrown_away() as server:
        yield server


async def opened(url: str) -> PostgresStore:
    return await asyncio.to_thread(PostgresStore.open, url, clock=SystemClock(), chance=SystemChance())


async def is_there(store: PostgresStore, n: int) -> bool:
    return bool(await store.console.why(the_event(n)))


@asynccontextmanager
async def by_wire(server: ThrowawayServer) -> AsyncIterator[tuple[PostgresStore, Wire]]:
    emptied(server.url)
    wire = Wire(server.tcp_url)
    store = await opened(await wire.open())
    try:
        yield store, wire
    finally:
        await store.close()
        await wire.close()


@pytest.mark.parametrize("cut", [Cut.BEFORE, Cut.AFTER])
async def test_a_commit_whose_answer_is_lost_is_asked_about(postgres_server: ThrowawayServer, cut: Cut) -> None:
    async with by_wire(postgres_server) as (store, wire):
        told = []
        for n in range(10):
            wire.cut = cut
            try:
                await store.accept(an_intake(an_event(n)))
                told.append(True)
            except StoreAway:
                told.append(False)

        there = [await is_there(store, n) for n in range(10)]
        assert wire.cuts == 10
        assert told == there
        assert set(told) == ({True} if cut is Cut.AFTER else {False})


async def test_a_server_that_says_nothing_is_waited_for_no_longer_than_allowed(
    postgres_server: ThrowawayServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_connections, "CALL_SECONDS_MAX", 0.5)
    async with by_wire(postgres_server) as (store, wire):
        await store.accept(an_intake(an_event(1)))
        wire.cut = Cut.SILENT

        async with asyncio.timeout(30):
            with pytest.raises((StoreAway, OutcomeUnknown)):
                await store.accept(an_intake(an_event(2)))

        await store.accept(an_intake(an_event(2), an_event(3)))
        assert await is_there(store, 3)


async def test_a_killed_server_loses_nothing_that_was_answered(own_server: ThrowawayServer) -> None:
    store = await opened(own_server.url)
    answered: list[int] = []
    under_way = asyncio.Event()

    async def accept(n: int) -> None:
        try:
            await store.accept(an_intake(an_event(n, lane=f"lane{n % 7}")))
        except (StoreAway, OutcomeUnknown):
            return
        answered.append(n)
        under_way.set()

    for life in range(3):
        under_way.clear()
        accepts = asyncio.gather(*(accept(n) for n in range(life * 2_000, life * 2_000 + 2_000)))
        await under_way.wait()
        await asyncio.to_thread(own_server.kill)
        await accepts
        await asyncio.to_thread(own_server.start)
        await store.accept(an_intake(an_event(10_000 + life)))

    there = {view.id for lane in range(7) for view in (await store.console.lane(ACME, the_lane(f"lane{lane}")))[1]}
    assert {the_event(n, lane=f"lane{n % 7}") for n in answered} <= there
    await store.close()


async def test_an_engine_that_stops_in_the_middle_keeps_the_others_waiting_for_seconds_only(
    postgres_server: ThrowawayServer,
) -> None:
    emptied(postgres_server.url)
    store = await opened(postgres_server.url)
    await store.accept(an_intake(an_event(1)))
    stopped = psycopg.connect(postgres_server.url, autocommit=True)
    stopped.execute(BEGIN.encode(), prepare=False)
    stopped.execute("SELECT 1 FROM procession_lane FOR UPDATE")

    async with asyncio.timeout(10):
        await store.accept(an_intake(an_event(2)))

    assert await is_there(store, 2)
    stopped.close()
    await store.close()


async def test_connections_that_the_server_ends_are_made_again(
    postgres_server: ThrowawayServer,
) -> None:
    emptied(postgres_server.url)
    store = await opened(postgres_server.url)
    with psycopg.connect(postgres_server.url, autocommit=True) as operator:
        for n in range(5):
            await store.accept(an_intake(an_event(n)))
            await is_there(store, n)
            operator.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name like 'procession%'"
            )

    assert [await is_there(store, n) for n in range(5)] == [True] * 5
    await store.close()


@pytest.mark.parametrize(
    ("name", "weak"), [("fsync", "off"), ("full_page_writes", "off"), ("synchronous_commit", "off")]
)
def test_a_server_that_may_lose_what_it_has_committed_is_refused(name: str, weak: str) -> None:
    with (
        thrown_away(settings={name: weak}) as server,
        pytest.raises(Misconfigured, match=rf"{name} is {weak}.*Set it to on"),
    ):
        PostgresStore.open(server.url, clock=SystemClock(), chance=SystemChance())


async def test_a_newer_schema_is_left_alone(postgres_server: ThrowawayServer) -> None:
    emptied(postgres_server.url)
    await (await opened(postgres_server.url)).close()
    with psycopg.connect(postgres_server.url, autocommit=True) as operator:
        operator.execute("update procession_store set schema = 9999")
        try:
            with pytest.raises(SchemaNewer, match="9999"):
                await opened(postgres_server.url)
        finally:
            operator.execute("update procession_store set schema = 1")


async def test_another_life_of_the_server_begins_a_new_era(postgres_server: ThrowawayServer) -> None:
    emptied(postgres_server.url)
    store = await opened(postgres_server.url)
    await store.accept(an_intake(an_event(1)))
    (turn,) = await store.claim_turns(an_ask())
    await store.settle(Settlement(lease=turn.lease, turn=turn.id, outcome=Advance(), effects=(an_effect(),)))
    (held,) = await store.claim_sends(an_ask())
    await store.accept(an_intake(an_event(2)))
    (running,) = await store.claim_turns(an_ask())
    before = store.era

    # As if a standby had been promoted: the same cluster, under another timeline.
    with psycopg.connect(postgres_server.url, autocommit=True) as operator:
        operator.execute("update procession_store set timeline = '000000FF'")
    other = await opened(postgres_server.url)

    assert other.era == before + 1
    assert (await other.console.doubts())[0].id == the_effect()
    begun = await store.begin(held.lease, held.effect.id, 1)
    assert isinstance(begun, NotBegun)
    assert begun.fate is Fate.LOST
    settled = await store.settle(Settlement(lease=running.lease, turn=running.id, outcome=Advance()))
    assert settled.fate is Fate.LOST
    assert [row.verb for row in await other.console.audit()] == ["era"]
    for each in (store, other):
        await each.close()


async def test_the_schema_is_made_once_by_however_many() -> None:
    with thrown_away() as server:
        stores = await asyncio.gather(*(opened(server.url) for _ in range(4)))

        assert {store.era for store in stores} == {1}
        for store in stores:
            await store.close()
