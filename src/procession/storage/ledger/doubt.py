"""What becomes of an effect whose attempt ended without a clear answer, and when its doubt has lasted long enough."""

from datetime import timedelta

from procession.core.effect import DoubtPolicy, EffectMove, Repeatability
from procession.storage.instants import FOREVER, after
from procession.storage.ledger.book import Book
from procession.storage.ledger.effect import DOUBT, Sent
from procession.storage.ledger.lane import Lane


def become_uncertain(book: Book, sent: Sent, reason: str, wait: timedelta) -> None:
    """D5, S2: a provider that drops repeats is sent the same key again; anything else is in doubt."""
    doubtful_until = sent.doubt_until
    if sent.repeatability == Repeatability.KEYED and sent.tries < sent.tries_max:
        sent.move(EffectMove.RESEND, book.now)
        sent.not_before, sent.unproven = after(book.now, wait), 1
    else:
        sent.move(EffectMove.DOUBT, book.now)
        # A probe that answers nothing does not make the doubt any longer.
        sent.doubt_until = min(book.now + sent.doubt_wait, FOREVER) if doubtful_until is None else doubtful_until
        sent.not_before = after(book.now, wait) if sent.repeatability == Repeatability.PROBED else None
    sent.reason = reason
    book.changed_effect(sent)


def give_back(book: Book, sent: Sent, reason: str) -> bool:
    """S2 and R2: the sender of an armed effect is gone, and its bytes may be on the way still. Answers whether it is
    in doubt.
    """
    become_uncertain(book, sent, reason, timedelta(0))
    return sent.state == DOUBT


def doubt_is_over(book: Book, sent: Sent) -> None:
    """S5: the tenant's policy, applied. A conversation is parked for it once it is the head (`park_for_doubt`)."""
    sent.doubt_until = sent.not_before = None
    match sent.doubt:
        case DoubtPolicy.RESEND if sent.resends < sent.resends_max:
            sent.move(EffectMove.RESEND, book.now)
            sent.resends, sent.unproven = sent.resends + 1, 0
            book.doubts_ended["resent"] += 1
        case DoubtPolicy.SKIP:
            sent.move(EffectMove.SKIP, book.now)
            book.doubts_ended["skipped"] += 1
        case _:
            sent.changed_at = book.now
            book.doubts_ended["parked"] += 1
    book.changed_effect(sent)


def park_for_doubt(book: Book, lane: Lane, head: Sent) -> None:
    """Of several doubts the head's is what a conversation waits for: when that is resolved, the next one's."""
    if head.state == DOUBT and head.doubt_until is None and lane.parked is None:
        lane.parked, lane.parked_for = f"effect {head.id} is in doubt: {head.reason}", head.id
        book.changed(lane)


def end_unsent(book: Book, sent: Sent, reason: str) -> None:
    """It is not to be sent (any more). D8: unless an earlier attempt of it may have been taken, which is a doubt."""
    if sent.unproven:
        sent.move(EffectMove.DOUBT, book.now)
        sent.reason = f"{reason}; but an earlier try may have been taken"
        sent.doubt_until, sent.not_before = min(book.now + sent.doubt_wait, FOREVER), None
    else:
        sent.move(EffectMove.REFUSE, book.now)
        sent.reason = reason
    book.changed_effect(sent)
