"""Begin: the write before each outward action (B1 to B5)."""

from procession.core.effect import EffectMove
from procession.core.ids import EffectId
from procession.core.lane import LaneMove, Lease, Side
from procession.core.pace import Pace
from procession.core.turn import Began, NotBegun
from procession.core.verdict import Fate
from procession.storage.ledger.book import Book
from procession.storage.ledger.doubt import end_unsent
from procession.storage.ledger.effect import ARMED, PENDING, Sent
from procession.storage.ledger.hold import holder
from procession.storage.ledger.lane import TURNS, Lane
from procession.storage.ledger.line import too_early
from procession.storage.ledger.rest import rest

_LOST = NotBegun(fate=Fate.LOST, reason="another holds the lane")


def begin(book: Book, lease: Lease, effect: EffectId, attempt: int, pace: Pace | None) -> Began | NotBegun:
    lane = book.fenced(lease, Side.SENDS)
    sent = None if lane is None else book.effect(lane.tenant, effect)
    if lane is None or sent is None or sent.lane != lane.no:
        return _LOST
    if sent.state == ARMED and sent.attempts == attempt and sent.armed_epoch == lease.epoch:
        return Began(attempt=attempt)
    reason = _why_not(book, lane, sent, attempt)
    if reason is None and pace is not None:
        reason = too_early(book, lane, sent, pace)
    if reason is not None:
        rest(book, lane, LaneMove.RELEASE)
        return NotBegun(fate=Fate.KEPT, reason=reason)
    sent.move(EffectMove.ARM, book.now)
    sent.attempts, sent.tries, sent.armed_epoch = attempt, sent.tries + 1, lease.epoch
    sent.not_before, sent.slot_at, sent.reason = None, None, ""
    if lane.not_before is not None:
        lane.not_before = None
        book.changed(lane)
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
    late = _too_late(book, lane, sent)
    if late is not None:
        end_unsent(book, sent, late)
        return late
    held = holder(book, sent)
    return None if held is None else f"it is held back: {held.held_reason}"


def _too_late(book: Book, lane: Lane, sent: Sent) -> str | None:
    """B3."""
    since = sent.asked_at if sent.about_at is None else min(sent.about_at, sent.asked_at)
    if book.now - since > sent.answer_within:
        return "too old"
    if sent.window is not None:
        turns = book.lane(lane.tenant, lane.lane, TURNS)
        heard_at = None if turns is None else book.heir(turns).heard_at
        if heard_at is None or book.now - heard_at > sent.window:
            return "the window is closed"
    return None


def _is_paused(book: Book, lane: Lane) -> bool:
    return bool(lane.paused) and (lane.paused_until is None or lane.paused_until > book.now)
