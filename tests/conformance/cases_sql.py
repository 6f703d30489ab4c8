"""settle: the handler's own SQL, in the settling transaction."""

import sqlite3
from datetime import timedelta

import pytest

from procession.core.errors import SqlFailed
from procession.core.limits import SQL_TIME_MAX
from procession.core.turn import Delay, Outcome, Park, SetAside
from procession.core.verdict import Fate
from tests.conformance.acts import (
    a_running_turn,
    pass_time,
    settle,
)
from tests.conformance.builders import (
    TICK,
    TTL,
    a_settlement,
    an_effect,
    an_event,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture

OTHER_OUTCOMES = [Delay(after=timedelta(seconds=1), reason="busy"), Park(reason="ask"), SetAside(reason="bad")]


def connection_of(given: object) -> sqlite3.Connection:
    """Whatever is handed to the work has `execute`; for the type checker it is a connection."""
    return given  # type: ignore[return-value]  # the port leaves the type to the store


def create_own_table(given: object) -> None:
    connection_of(given).execute("create table if not exists visits (who text)")


def insert_a_visit(given: object) -> None:
    connection_of(given).execute("insert into visits (who) values ('ann')")


async def visits(harness: Harness) -> int:
    """How many there are, read as a handler would read them."""
    found: list[int] = []

    def count(given: object) -> None:
        found.append(connection_of(given).execute("select count(*) from visits").fetchone()[0])

    await settle(harness, await a_running_turn(harness, an_event(lane=f"reader{harness.clock.now()}")), sql=(count,))
    return found[0]


async def with_visits_table(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness, an_event(lane="setup")), sql=(create_own_table,))


@line("T9", needs=(Guarantee.SQL,))
async def test_sql_is_kept_with_the_turn(harness: Harness) -> None:
    await with_visits_table(harness)

    settled = await settle(harness, await a_running_turn(harness), sql=(insert_a_visit, insert_a_visit))

    assert settled.fate is Fate.KEPT
    assert await visits(harness) == 2


@line("T9", needs=(Guarantee.SQL,))
async def test_nothing_of_the_settlement_is_kept_when_sql_raises(harness: Harness) -> None:
    def raising(given: object) -> None:
        raise LookupError("no such customer")

    await with_visits_table(harness)
    turn = await a_running_turn(harness)
    before = await picture(harness)

    with pytest.raises(SqlFailed):
        await settle(harness, turn, state=b"lost", effects=(an_effect(),), sql=(insert_a_visit, raising))

    assert await picture(harness) == before
    assert (await settle(harness, turn)).fate is Fate.KEPT
    assert await visits(harness) == 0


@line("T9", needs=(Guarantee.SQL,))
async def test_sql_that_does_not_end_is_cut_off(harness: Harness) -> None:
    def endless(given: object) -> None:
        connection = connection_of(given)
        connection.create_function("tick", 0, lambda: harness.clock.advance(TICK))
        connection.execute(
            "with recursive n(i) as (select 1 union all select i + 1 from n limit 100000) select tick() from n"
        ).fetchall()

    await with_visits_table(harness)
    turn = await a_running_turn(harness)

    with pytest.raises(SqlFailed):
        await settle(harness, turn, sql=(insert_a_visit, endless))

    assert (await settle(harness, turn)).fate is Fate.KEPT
    assert await visits(harness) == 0


@line("T9", needs=(Guarantee.SQL,))
async def test_time_between_the_statements_counts_too(harness: Harness) -> None:
    def slow(given: object) -> None:
        harness.clock.advance(SQL_TIME_MAX / 2 + TICK)

    await with_visits_table(harness)
    turn = await a_running_turn(harness)

    with pytest.raises(SqlFailed):
        await settle(harness, turn, sql=(insert_a_visit, slow, slow))

    assert (await settle(harness, turn, sql=(insert_a_visit, slow))).fate is Fate.KEPT
    assert await visits(harness) == 1


@pytest.mark.parametrize("statement", ["commit", "rollback", "begin", "end", "pragma synchronous=off"])
@line("T9", needs=(Guarantee.SQL,))
async def test_sql_cannot_end_or_weaken_the_transaction(harness: Harness, statement: str) -> None:
    def meddling(given: object) -> None:
        connection_of(given).execute(statement)

    await with_visits_table(harness)
    turn = await a_running_turn(harness)

    with pytest.raises(SqlFailed):
        await settle(harness, turn, sql=(insert_a_visit, meddling))

    assert (await settle(harness, turn)).fate is Fate.KEPT
    assert await visits(harness) == 0


@pytest.mark.parametrize("method", ["commit", "rollback", "close"])
@line("T9", needs=(Guarantee.SQL,))
async def test_sql_cannot_end_the_transaction_through_its_connection(harness: Harness, method: str) -> None:
    def meddling(given: object) -> None:
        insert_a_visit(given)
        getattr(given, method)()

    await with_visits_table(harness)
    turn = await a_running_turn(harness)

    with pytest.raises(SqlFailed):
        await settle(harness, turn, sql=(meddling,))

    assert (await settle(harness, turn)).fate is Fate.KEPT
    assert await visits(harness) == 0


@pytest.mark.parametrize("statement", ["delete from {}", "drop table {}", "alter table {} rename to x"])
@line("T9", "G7", needs=(Guarantee.SQL,))
async def test_sql_cannot_touch_the_stores_own_tables(harness: Harness, statement: str) -> None:
    def meddling(given: object) -> None:
        connection_of(given).execute(statement.format(harness.own_table)).fetchall()

    turn = await a_running_turn(harness)

    with pytest.raises(SqlFailed):
        await settle(harness, turn, sql=(meddling,))

    assert (await settle(harness, turn)).fate is Fate.KEPT


@line("T9", "G6", needs=(Guarantee.SQL,))
async def test_sql_of_a_lost_turn_does_not_run(harness: Harness) -> None:
    ran: list[str] = []

    def running(given: object) -> None:
        ran.append("ran")

    late = await a_running_turn(harness)
    await pass_time(harness, TTL)

    settled = await settle(harness, late, sql=(running,))

    assert (settled.fate, ran) == (Fate.LOST, [])


@pytest.mark.parametrize("outcome", OTHER_OUTCOMES)
@line("T2", "T9", needs=(Guarantee.SQL,))
async def test_sql_runs_for_an_advance_only(harness: Harness, outcome: Outcome) -> None:
    ran: list[str] = []

    def running(given: object) -> None:
        ran.append("ran")

    await settle(harness, await a_running_turn(harness), outcome, sql=(running,))

    assert ran == []


@line("T9", "T1", needs=(Guarantee.SQL,))
async def test_sql_of_a_repeated_settlement_does_not_run_again(harness: Harness) -> None:
    await with_visits_table(harness)
    settlement = a_settlement(await a_running_turn(harness), sql=(insert_a_visit,))
    await harness.store.settle(settlement)

    await harness.store.settle(settlement)

    assert await visits(harness) == 1


@line("T9", needs=(Guarantee.NO_SQL,))
async def test_a_store_without_sql_says_so_and_keeps_nothing(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    before = await picture(harness)

    with pytest.raises(SqlFailed):
        await settle(harness, turn, state=b"lost", sql=(insert_a_visit,))

    assert await picture(harness) == before
    assert (await settle(harness, turn)).fate is Fate.KEPT
