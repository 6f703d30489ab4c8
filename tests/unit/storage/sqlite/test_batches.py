"""Many writes share a commit: what one of them does wrong, and what a commit may come to."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from procession.core.errors import BadRequest, OutcomeUnknown, SqlFailed, StoreAway, StoreBroken, StoreFull
from procession.core.event import Acceptance
from procession.core.limits import BATCH_MAX, WRITES_WAITING_MAX
from procession.core.verdict import Fate
from procession.storage.ledger.book import Book
from procession.storage.rows import Rows
from procession.storage.sqlite.batches import CommitFault
from procession.storage.sqlite.opening import DATABASE
from procession.storage.sqlite.store import SqliteStore
from tests.conformance.builders import a_settlement, an_ask, an_event, an_intake, the_event
from tests.unit.storage.sqlite.stores import Planned, connection_of, opened, opened_inline


async def several(store: SqliteStore, *numbers: int) -> list[Acceptance | BaseException]:
    """Accepted at the same moment, so that they share a commit."""
    accepts = [store.accept(an_intake(an_event(n, lane=f"lane{n}"))) for n in numbers]
    return await asyncio.gather(*accepts, return_exceptions=True)


async def there(store: SqliteStore) -> int:
    def count(rows: Rows) -> int:
        return int(connection_of(rows).execute("SELECT count(*) FROM procession_event").fetchone()[0])

    return await store.read(count)


async def test_writes_that_come_together_share_a_commit(tmp_path: Path) -> None:
    planned = Planned()
    store = opened_inline(tmp_path, planned)

    await several(store, *range(10))

    assert planned.batches == [10]
    await store.close()


async def test_a_batch_has_a_bound(tmp_path: Path) -> None:
    planned = Planned()
    store = opened_inline(tmp_path, planned)

    await several(store, *range(BATCH_MAX + 5))

    assert planned.batches == [BATCH_MAX, 5]
    await store.close()


async def test_what_waits_has_a_bound_and_above_it_nothing_is_taken(tmp_path: Path) -> None:
    store = opened_inline(tmp_path)
    accepts = [store.accept(an_intake(an_event(n))) for n in range(WRITES_WAITING_MAX + 3)]

    answers = await asyncio.gather(*accepts, return_exceptions=True)

    assert [type(answer) for answer in answers[-3:]] == [StoreAway] * 3
    assert await there(store) == WRITES_WAITING_MAX
    await store.close()


async def test_what_is_said_of_the_whole_store_is_rolled_back_in_memory_too(tmp_path: Path) -> None:
    store = opened_inline(tmp_path)

    def spoils(_book: Book) -> None:
        raise BadRequest("the batch is run anew without it")

    paused, era, _ = await asyncio.gather(
        store.console.sending(paused=True, actor="olive"),
        store.console.new_era(actor="olive", reason="a restored file"),
        store.write(spoils),
        return_exceptions=True,
    )

    assert (paused, era) == (True, 2)
    assert [row.verb for row in await store.console.audit()] == ["era", "sending"]
    await store.close()


async def test_a_new_era_that_was_not_kept_voids_no_lease(tmp_path: Path) -> None:
    planned = Planned()
    store = opened_inline(tmp_path, planned)
    await store.accept(an_intake(an_event()))
    (turn,) = await store.claim_turns(an_ask())
    planned.plan = [CommitFault.FULL]

    with pytest.raises(StoreFull):
        await store.console.new_era(actor="olive", reason="a restored file")

    assert store.era == turn.lease.era
    assert (await store.settle(a_settlement(turn))).fate is Fate.KEPT
    await store.close()


async def test_a_write_that_raises_takes_nothing_with_it(tmp_path: Path) -> None:
    store = opened_inline(tmp_path)

    def half(book: Book) -> None:
        connection_of(book.rows).execute("DELETE FROM procession_event")
        connection_of(book.rows).execute("INSERT INTO procession_event (no) VALUES (1)")

    answers = await asyncio.gather(several(store, 1, 2), store.write(half), several(store, 3), return_exceptions=True)

    assert isinstance(answers[1], sqlite3.IntegrityError)
    assert await there(store) == 3
    assert len(await store.claim_turns(an_ask())) == 3
    await store.close()


async def test_what_cannot_be_text_is_a_bad_request_and_the_others_are_kept(tmp_path: Path) -> None:
    store = opened_inline(tmp_path)
    hostile = an_event(7, lane="\ud800")

    answers = await asyncio.gather(store.accept(an_intake(hostile)), several(store, 1), return_exceptions=True)

    assert isinstance(answers[0], BadRequest)
    assert await there(store) == 1
    await store.close()


@pytest.mark.parametrize(("fault", "told"), [(CommitFault.AWAY, StoreAway), (CommitFault.FULL, StoreFull)])
async def test_a_commit_that_certainly_failed_is_told_to_all_and_can_be_tried_again(
    tmp_path: Path, fault: CommitFault, told: type[StoreAway]
) -> None:
    planned = Planned()
    store = opened_inline(tmp_path, planned)
    planned.plan = [fault]

    answers = await several(store, 1, 2)
    empty = await there(store)

    again = await several(store, 1, 2)
    assert [type(answer) for answer in answers] == [told, told]
    assert empty == 0
    assert [answer.placements[0].fresh for answer in again if isinstance(answer, Acceptance)] == [True, True]
    assert len(await store.claim_turns(an_ask())) == 2
    await store.close()


@pytest.mark.parametrize(("fault", "kept"), [(CommitFault.UNKNOWN_KEPT, 2), (CommitFault.UNKNOWN_LOST, 0)])
async def test_after_an_unknown_commit_the_store_does_nothing_more(
    tmp_path: Path, fault: CommitFault, kept: int
) -> None:
    planned = Planned()
    broken: list[BaseException] = []
    store = opened_inline(tmp_path, planned, broken.append)
    planned.plan = [fault]

    answers = await several(store, 1, 2)
    with pytest.raises(StoreBroken):
        await store.accept(an_intake(an_event(3)))
    with pytest.raises(StoreBroken):
        await store.claim_turns(an_ask())
    store.abandon()

    store = opened_inline(tmp_path)
    assert [type(answer) for answer in answers] == [OutcomeUnknown, OutcomeUnknown]
    assert len(broken) == 1
    assert await there(store) == kept
    await store.close()


async def test_a_file_that_may_not_grow_is_a_full_disk_and_heals(tmp_path: Path) -> None:
    store = opened(tmp_path)
    await several(store, 1)

    def pages_max(pages: int) -> Callable[[Book], None]:
        def bound(book: Book) -> None:
            connection_of(book.rows).execute(f"PRAGMA max_page_count = {pages}").fetchone()

        return bound

    await store.write(pages_max(1))
    full = await asyncio.gather(
        *(store.accept(an_intake(an_event(n, payload=b"x" * 20_000))) for n in range(2, 9)), return_exceptions=True
    )
    await store.write(pages_max(1_000_000))

    again = await several(store, 2)
    assert {type(answer) for answer in full} == {StoreFull}
    assert isinstance(again[0], Acceptance)
    assert await there(store) == 2
    await store.close()


async def test_a_strangers_lock_is_away_and_passes(tmp_path: Path) -> None:
    store = opened(tmp_path)
    await store.write(lambda book: connection_of(book.rows).execute("PRAGMA busy_timeout = 1").fetchone())
    stranger = sqlite3.connect(tmp_path / DATABASE, isolation_level=None)
    stranger.execute("BEGIN IMMEDIATE")

    away = await several(store, 1)
    stranger.execute("ROLLBACK")
    stranger.close()

    assert [type(answer) for answer in away] == [StoreAway]
    assert isinstance((await several(store, 1))[0], Acceptance)
    await store.close()


async def test_sql_that_rolls_everything_back_takes_no_other_turn_with_it(tmp_path: Path) -> None:
    store = opened_inline(tmp_path)
    await several(store, 1, 2)
    await store.write(lambda book: connection_of(book.rows).execute("CREATE TABLE mine (n INTEGER PRIMARY KEY)"))
    bad, good = await store.claim_turns(an_ask())

    def meddling(connection: object) -> None:
        assert isinstance(connection, sqlite3.Connection)
        connection.execute("INSERT INTO mine VALUES (1)")
        connection.execute("INSERT OR ROLLBACK INTO mine VALUES (1)")

    answers = await asyncio.gather(
        store.settle(a_settlement(good)), store.settle(a_settlement(bad, sql=(meddling,))), return_exceptions=True
    )

    assert isinstance(answers[1], SqlFailed)
    assert await store.claim_turns(an_ask()) == ()
    assert (await store.settle(a_settlement(good))).fate is Fate.KEPT
    assert (await store.settle(a_settlement(bad))).fate is Fate.KEPT
    await store.close()


async def test_whoever_gave_up_before_the_batch_began_is_left_out(tmp_path: Path) -> None:
    planned = Planned()
    store = opened_inline(tmp_path, planned)
    given_up = asyncio.ensure_future(store.accept(an_intake(an_event(1))))
    await asyncio.sleep(0)
    given_up.cancel()

    await several(store, 2)

    assert await there(store) == 1
    await store.close()


async def test_closing_finishes_what_was_put(tmp_path: Path) -> None:
    store = opened(tmp_path)
    accepts = asyncio.gather(*(store.accept(an_intake(an_event(n))) for n in range(300)))
    await asyncio.sleep(0)

    await store.close()
    await store.close()

    assert len(await accepts) == 300
    with pytest.raises(StoreAway):
        await store.accept(an_intake(an_event(1)))


async def test_a_closed_store_leaves_no_log_behind(tmp_path: Path) -> None:
    store = opened(tmp_path)
    await several(store, 1)

    await store.close()

    assert not (tmp_path / f"{DATABASE}-wal").exists()


async def test_what_was_answered_is_there_after_a_crash(tmp_path: Path) -> None:
    store = opened(tmp_path)
    await several(store, *range(20))
    store.abandon()

    store = opened(tmp_path)

    assert await there(store) == 20
    assert {turn.id for turn in await store.claim_turns(an_ask())} == {the_event(n, lane=f"lane{n}") for n in range(20)}
    await store.close()


async def test_a_write_that_changes_nothing_commits_nothing(tmp_path: Path) -> None:
    store = opened(tmp_path)
    await store.sweep(10)

    def batch(rows: Rows) -> int:
        return int(connection_of(rows).execute("SELECT batch FROM procession_store").fetchone()[0])

    before = await store.read(batch)
    await store.sweep(10)
    await store.claim_turns(an_ask())

    assert await store.read(batch) == before
    await store.close()


async def test_a_reading_cannot_write(tmp_path: Path) -> None:
    store = opened(tmp_path)

    def meddling(rows: Rows) -> None:
        connection_of(rows).execute("DELETE FROM procession_event")

    with pytest.raises(StoreAway, match="SQLITE_READONLY"):
        await store.read(meddling)
    await store.close()
