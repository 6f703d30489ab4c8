"""What an event says about its lane beside being played there: that its subject spoke, that a person takes over."""

from procession.core.event import NewEvent
from procession.core.lane import LaneMove, PauseDraft
from procession.storage.instants import FOREVER, after, instant
from procession.storage.ledger.book import Book
from procession.storage.ledger.lane import HELD, Lane
from procession.storage.ledger.rest import rest
from procession.storage.ledger.settle import pause_side


def hear(book: Book, lane: Lane, new: NewEvent) -> None:
    """A11. The caller writes the lane."""
    spoke = book.now if new.occurred_at is None else min(instant(new.occurred_at), book.now)
    lane.heard_at = spoke if lane.heard_at is None else max(lane.heard_at, spoke)


def pause_at_once(book: Book, lane: Lane, pause: PauseDraft) -> None:
    """A12: a longer pause that is there stays."""
    until = FOREVER if pause.duration is None else after(book.now, pause.duration)
    there = FOREVER if lane.paused_until is None else lane.paused_until
    if not lane.paused or there < until:
        pause_both(book, lane, pause)


def pause_both(book: Book, turns: Lane, pause: PauseDraft) -> None:
    """Only what has been begun comes to its end."""
    for side in book.both_families(turns):
        pause_side(book, side, pause, passing=side.cursor)
        if side.phase != HELD:
            rest(book, side, LaneMove.PAUSE)
