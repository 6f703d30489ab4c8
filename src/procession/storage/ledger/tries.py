"""What is kept of a turn's tries."""

from procession.storage.ledger.book import Book
from procession.storage.ledger.lane import Lane


def end_try(book: Book, lane: Lane, how: str, reason: str) -> None:
    """The open try of the lane's turn did not end in advance; that it was made is kept for whoever asks."""
    at = book.now if lane.try_at is None else lane.try_at
    book.execute("settle.try", (lane.tenant, lane.turn, lane.tries, at, how, reason))
    lane.try_open, lane.try_at = 0, None
    book.changed(lane)


def clear_tries(lane: Lane) -> None:
    """The turn is over: the next one has not been tried."""
    lane.turn = lane.turn_last = lane.aside_seq = lane.not_before = lane.first_try_at = lane.try_at = None
    lane.tries = lane.deaths = lane.deaths_alone = lane.try_open = lane.has_steps = 0
