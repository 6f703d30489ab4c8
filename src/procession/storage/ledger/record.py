"""Record: the write after each outward action, or after a probe (D1 to D11)."""

from datetime import timedelta
from typing import assert_never

from procession.core.effect import EffectMove
from procession.core.errors import BadRequest, IllegalMove
from procession.core.ids import EffectId
from procession.core.lane import LaneMove, Lease, Side
from procession.core.turn import Recorded
from procession.core.verdict import Absent, Confirmed, Deferred, Fate, Halted, Refused, Scope, Uncertain, Verdict
from procession.storage.instants import after
from procession.storage.ledger.book import Book
from procession.storage.ledger.claim import held_effect, keep_send
from procession.storage.ledger.doubt import become_uncertain, end_unsent
from procession.storage.ledger.effect import Sent
from procession.storage.ledger.hold import hold_back, reason_of
from procession.storage.ledger.lane import HELD, Lane
from procession.storage.ledger.rest import rest
from procession.storage.ledger.sight import accept_at, name_ref


def record(
    book: Book, lease: Lease, effect: EffectId, attempt: int, verdict: Verdict, ttl: timedelta | None
) -> Recorded:
    what = f"{effect}#{attempt}"
    kept = _kept_already(book, lease, what)
    if kept is not None:
        return kept
    lane = book.fenced(lease, Side.SENDS)
    sent = None if lane is None else book.effect(lane.tenant, effect)
    if lane is None or sent is None or sent.lane != lane.no:
        return Recorded(fate=Fate.LOST)
    if sent.attempts != attempt or sent.oseq != lane.cursor + 1:
        return Recorded(fate=Fate.LOST)
    _judge(book, lane, sent, verdict)
    worker = lane.worker
    lane.settled_epoch, lane.settled, lane.chained = lease.epoch, what, 0
    rest(book, lane, LaneMove.SETTLE)
    if ttl is None:
        return Recorded(fate=Fate.KEPT)
    return Recorded(fate=Fate.KEPT, next=keep_send(book, lane, worker, after(book.now, ttl)))


def _kept_already(book: Book, lease: Lease, what: str) -> Recorded | None:
    """D1: the answer to a verdict that was kept under this epoch; None: it was not."""
    share = book.shares.find(lease.tenant)
    if share is None or lease.era != book.era or lease.side is not Side.SENDS:
        return None
    lane = book.lane(share.no, lease.lane, Side.SENDS.value)
    if lane is None or lane.settled_epoch != lease.epoch or lane.settled != what:
        return None
    still_held = lane.phase == HELD and lane.chained and lane.epoch == lease.epoch + 1
    return Recorded(fate=Fate.KEPT, next=held_effect(book, lane) if still_held else None)


def _judge(book: Book, lane: Lane, sent: Sent, verdict: Verdict) -> None:
    if sent.ended:
        _add(book, sent, verdict)
        return
    was = sent.state
    try:
        _apply(book, lane, sent, verdict)
    except IllegalMove:
        # Nothing has been changed: the move is the first thing that each verdict does.
        raise BadRequest(f"an effect that is {was} cannot be recorded as {type(verdict).__name__}") from None
    book.changed_effect(sent)


def _add(book: Book, sent: Sent, verdict: Verdict) -> None:
    """A sighting was quicker: it stands, and the call's own answer can only add what the provider calls it, and what it
    says about others.
    """
    if isinstance(verdict, Confirmed):
        _confirm(book, sent, verdict)
    elif isinstance(verdict, Deferred | Halted):
        hold_back(book, sent, verdict)


def _apply(book: Book, lane: Lane, sent: Sent, verdict: Verdict) -> None:
    match verdict:
        case Confirmed():
            sent.move(EffectMove.CONFIRM, book.now)
            accept_at(book, sent)
            _confirm(book, sent, verdict)
        case Deferred():
            sent.move(EffectMove.DEFER, book.now)
            _defer(book, sent, verdict)
            hold_back(book, sent, verdict)
        case Halted():
            sent.move(EffectMove.DEFER, book.now)
            _halt(book, lane, sent, verdict)
        case Refused():
            end_unsent(book, sent, f"{verdict.code}: {verdict.reason}" if verdict.code else verdict.reason)
        case Uncertain():
            become_uncertain(book, sent, verdict.reason, verdict.after)
        case Absent():
            sent.move(EffectMove.ABSENT, book.now)
            sent.not_before, sent.reason = None, verdict.reason
        case _ as never:
            assert_never(never)


def _confirm(book: Book, sent: Sent, verdict: Confirmed) -> None:
    sent.receipt = max(sent.receipt, int(verdict.receipt))
    sent.changed_at = book.now
    book.changed_effect(sent)
    if verdict.ref is not None and sent.ref is None:
        name_ref(book, sent, verdict.ref)


def _halt(book: Book, lane: Lane, sent: Sent, verdict: Halted) -> None:
    sent.reason, sent.not_before = reason_of(verdict), None
    sent.tries -= 1
    if verdict.scope is Scope.CONVERSATION and lane.parked is None:
        lane.parked = f"effect {sent.id} is held back: {sent.reason}"
    hold_back(book, sent, verdict)


def _defer(book: Book, sent: Sent, verdict: Deferred) -> None:
    sent.reason, sent.not_before = verdict.reason, after(book.now, verdict.after)
    if not verdict.counts:
        sent.tries -= 1
    elif sent.tries >= sent.tries_max:
        end_unsent(book, sent, f"tries used up: {verdict.reason}")
