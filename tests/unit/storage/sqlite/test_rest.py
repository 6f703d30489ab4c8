"""The short way to where a lane rests gives the same as `core.lane.resting`, and leads where the table allows."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.core.errors import IllegalMove
from procession.core.lane import LANE_TABLE, LaneMove, Phase, RestingFacts, resting
from procession.storage.instants import moment
from procession.storage.ledger.book import Book
from procession.storage.ledger.lane import HELD, IDLE, TURNS, Lane, new_lane
from procession.storage.ledger.rest import rest
from procession.storage.ledger.shares import Share, Shares
from procession.storage.sqlite.opening import open_writer
from procession.storage.sqlite.rows import SqliteRows
from tests.conformance.clock import ManualClock, SeededChance

NOW = 1_900_000_000_000_000
TIMES = st.sampled_from([None, NOW - 5, NOW, NOW + 5])


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Book:
    folder: Path = tmp_path_factory.mktemp("rest")
    book = Book(SqliteRows(open_writer(folder, ManualClock(), SeededChance())), Shares())
    book.shares.add(Share(1, "acme"))
    book.now = NOW
    return book


def a_held_lane() -> Lane:
    lane = new_lane(1, 1, "ln_1", TURNS, "ann", "main")
    lane.phase = HELD
    return lane


def facts_of(lane: Lane) -> RestingFacts:
    """From first principles: what the file `rest.py` reads, said once more."""
    has_work = lane.turn is not None or lane.replaying > 0 or lane.last > lane.cursor
    paused = bool(lane.paused) and (lane.paused_until is None or lane.paused_until > NOW)
    return RestingFacts(
        has_work=has_work,
        parked=lane.parked is not None,
        pause_applies=paused,
        paused_until=moment(lane.paused_until) if paused and lane.paused_until is not None else None,
        wake_at=None if lane.not_before is None else moment(lane.not_before),
    )


@given(
    waiting=st.integers(0, 2),
    turn=st.sampled_from([None, "ev_1"]),
    parked=st.sampled_from([None, "reason"]),
    paused=st.booleans(),
    paused_until=TIMES,
    not_before=TIMES,
)
def test_a_lane_rests_where_the_core_says(
    book: Book,
    waiting: int,
    turn: str | None,
    parked: str | None,
    paused: bool,
    paused_until: int | None,
    not_before: int | None,
) -> None:
    lane = a_held_lane()
    lane.next_seq = 1 + waiting
    lane.turn, lane.parked, lane.not_before = turn, parked, not_before
    lane.paused, lane.paused_until = int(paused), paused_until if paused else None
    phase, wake_at = resting(facts_of(lane), datetime.fromtimestamp(NOW / 1_000_000, UTC))

    rest(book, lane, LaneMove.SETTLE)

    assert lane.phase == phase
    if wake_at is not None and phase is not Phase.IDLE:
        assert lane.due_at is not None
        assert moment(lane.due_at) <= wake_at
    assert (lane.ready_pos is not None) == (phase is Phase.READY)
    assert (lane.worker, lane.lease_until) == ("", None)


@pytest.mark.parametrize("move", list(LaneMove))
def test_a_move_that_the_table_forbids_raises_and_changes_nothing(book: Book, move: LaneMove) -> None:
    lane = new_lane(2, 1, "ln_2", TURNS, "ben", "main")
    lane.next_seq = 2
    allowed = LANE_TABLE.get((Phase.IDLE, move), frozenset())

    if Phase.READY in allowed:
        rest(book, lane, move)
        assert lane.phase == Phase.READY
    else:
        with pytest.raises(IllegalMove):
            rest(book, lane, move)
        assert lane.phase == IDLE
