"""Begin: the write before each outward action (B1 to B3)."""

from procession.core.effect import EffectMove
from procession.core.ids import EffectId
from procession.core.lane import LaneMove, Lease, Side
from procession.core.turn import Began, NotBegun
from procession.core.verdict import Fate
from procession.storage.sqlite.ledger.book import Book
from procession.storage.sqlite.ledger.doubt import end_unsent
from procession.storage.sqlite.ledger.effect import ARMED, PENDING, Sent
from procession.storage.sqlite.ledger.lane import Lane
from procession.storage.sqlite.ledger.rest import rest

_LOST = NotBegun(fate=Fate.LOST, reason="another holds the lane")


def begin(book: Book, lease: Lease, effect: EffectId, attempt: int) -> Began | NotBegun:
    lane = book.fenced(lease, Side.SENDS)
    sent = None if lane is None else book.effect(lane.tenant, effect)
    if lane is None or sent is None or sent.lane != lane.no:
        return _LOST
    if sent.state == ARMED and sent.attempts == attempt and sent.armed_epoch == lease.epoch:
        return Began(attempt=attempt)
    reason = _why_not(book, lane, sent, attempt)
    if reason is not None:
        rest(book, lane, LaneMove.RELEASE)
        return NotBegun(fate=Fate.KEPT, reason=reason)
    sent.move(EffectMove.ARM, book.now)
    sent.attempts, sent.tries, sent.armed_epoch = attempt, sent.tries + 1, lease.epoch
    sent.not_before, sent.reason = None, ""
    book.changed_effect(sent)
    return Began(attempt=attempt)


def _why_not(book: Book, lane: Lane, sent: Sent, attempt: int) -> str | None:
    if sent.state != PENDING:
        return f"it is {sent.state} already"
    if book.sending_paused:
        return "sending is paused"
    if sent.oseq != lane.cursor + 1 or sent.attempts + 1 != attempt:
        return "it is not the head any more"
    if _is_paused(book, lane) and sent.oseq > lane.pause_pass:
        return "the conversation is paused"
    if book.now - sent.asked_at > sent.answer_within:
        end_unsent(book, sent, "too old")
        return "too old"
    return None


def _is_paused(book: Book, lane: Lane) -> bool:
    return bool(lane.paused) and (lane.paused_until is None or lane.paused_until > book.now)
