"""A channel's line (B5): what comes too early is told its place, and waits for it."""

from typing import Final

from procession.core.pace import Burst, Pace, channel_slot, pair_slot
from procession.storage.ledger.book import Book
from procession.storage.ledger.effect import Sent
from procession.storage.ledger.hold import outlets_of
from procession.storage.ledger.lane import Lane

_NOT_YET: Final = "its place in the channel's line has not come"


def too_early(book: Book, lane: Lane, sent: Sent, pace: Pace) -> str | None:
    """It is counted, or told its place. None: it may begin now."""
    if sent.slot_at is not None and not _has_lapsed(book, sent, sent.slot_at):
        return None if sent.slot_at <= book.now else _NOT_YET
    outlet = book.outlet(sent.tenant, sent.channel)
    slot, line = channel_slot(pace, outlet.line, book.now)
    pair_at, owes = pair_slot(pace, Burst(since=lane.burst_since, count=lane.burst_count), slot)
    if pair_at > slot:
        # Nobody else can take this conversation's place, so it need not be kept; and one in the line would be wasted.
        lane.not_before = pair_at
        return "its conversation has had its share for now"
    outlet.line, lane.burst_since, lane.burst_count, sent.slot_at = line, owes.since, owes.count, slot
    book.changed(lane)
    book.changed_effect(sent)
    book.changed_outlet(outlet)
    return None if slot <= book.now else _NOT_YET


def _has_lapsed(book: Book, sent: Sent, slot_at: int) -> bool:
    """Places that passed while it was held back would all be due at once, when that is over."""
    return any(outlet.hold_end > slot_at for outlet in outlets_of(book, sent))
