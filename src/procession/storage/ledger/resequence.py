"""Resequencing (A3 to A5, S6): a source's own order, held within its window.

A lane has one order: the number, version or time of the newest event that was released (`order_last`). An event that
is held is in the table without a seq; when it is released it takes the next one, under the same transaction as
everything else.
"""

from dataclasses import dataclass

from procession.core.event import EventState, NewEvent, Order, Ordering, Stale
from procession.core.lane import LaneMove
from procession.storage.instants import after
from procession.storage.ledger.book import Book
from procession.storage.ledger.lane import Lane
from procession.storage.ledger.rest import touch


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where an event goes."""

    seq: int | None = None
    state: str | None = None
    late: bool = False
    held_until: int | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Held:
    no: int
    by: str
    key: int
    stale: str
    first: int | None
    windowed: bool


def place_of(book: Book, lane: Lane, new: NewEvent) -> Place:
    """The place of a fresh event; the lane's counters move with it."""
    order = new.order
    if order is None:
        return Place(seq=_next_seq(book, lane))
    if _is_stale(lane, order.by, order.key, order.first):
        if order.stale is Stale.DROP:
            book.tally[lane.tenant, "dropped"] += 1
            return Place(state=EventState.DROPPED.value, reason=_why_stale(lane, order.by, order.key))
        return Place(seq=_next_seq(book, lane), late=True)
    if _may_go(lane, order):
        _pass(lane, order.key)
        return Place(seq=_next_seq(book, lane))
    return Place(state=EventState.HELD.value, held_until=after(book.now, order.window))


def release_followers(book: Book, lane: Lane, new: NewEvent) -> None:
    """NUMBER: those that were held for exactly the one that has just been released."""
    if new.order is not None and new.order.by is Ordering.NUMBER:
        _release_followers(book, lane)


def release_due(book: Book, lane: Lane) -> int:
    """S6: windows that are over. With what is due go all that are before it in the source's order. Answers how many."""
    rows = book.execute("accept.held_up_to", (lane.tenant, lane.no, book.now)).fetchall()
    for held in map(_held, rows):
        if _is_stale(lane, held.by, held.key, held.first):
            _place_stale(book, lane, held)
        else:
            _release(book, lane, held)
    _release_followers(book, lane)
    touch(book, lane, LaneMove.ACCEPT)
    return len(rows)


def _release_followers(book: Book, lane: Lane) -> None:
    while lane.order_last is not None:
        row = book.execute("accept.next_held", (lane.tenant, lane.no, lane.order_last + 1)).fetchone()
        if row is None or row[1] != Ordering.NUMBER:
            return
        _release(book, lane, _held(row))


def _is_stale(lane: Lane, by: str, key: int, first: int | None) -> bool:
    if by == Ordering.NUMBER:
        expected = _expected(lane, first)
        return expected is not None and key < expected
    if lane.order_last is None:
        return False
    return key <= lane.order_last if by == Ordering.VERSION else key < lane.order_last


def _may_go(lane: Lane, order: Order) -> bool:
    if order.by is Ordering.NUMBER:
        return _expected(lane, order.first) in (None, order.key)
    return not order.window


def _expected(lane: Lane, first: int | None) -> int | None:
    return first if lane.order_last is None else lane.order_last + 1


def _pass(lane: Lane, key: int) -> None:
    lane.order_last = key if lane.order_last is None else max(lane.order_last, key)


def _next_seq(book: Book, lane: Lane) -> int:
    seq = lane.next_seq
    lane.next_seq = seq + 1
    book.tally[lane.tenant, "placed"] += 1
    book.changed(lane)
    return seq


def _release(book: Book, lane: Lane, held: _Held, *, late: bool = False) -> None:
    if not late:
        _pass(lane, held.key)
    lane.windowed |= held.windowed
    book.execute("accept.place_held", (_next_seq(book, lane), book.now, int(late), lane.tenant, lane.no, held.no))


def _place_stale(book: Book, lane: Lane, held: _Held) -> None:
    if held.stale == Stale.DROP:
        book.tally[lane.tenant, "dropped"] += 1
        book.execute("accept.drop_held", (book.now, _why_stale(lane, held.by, held.key), lane.tenant, lane.no, held.no))
    else:
        _release(book, lane, held, late=True)


def _held(row: tuple[int, str, int, str, int | None, int | None]) -> _Held:
    no, by, key, stale, first, quiet = row
    return _Held(no=no, by=by, key=key, stale=stale, first=first, windowed=quiet is not None)


def _why_stale(lane: Lane, by: str, key: int) -> str:
    return f"stale: {by} {key} is not newer than {lane.order_last}"
