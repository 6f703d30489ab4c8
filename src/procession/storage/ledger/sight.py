"""Sightings (A8, D2): outside evidence climbs an effect's receipt, and proves that it was taken."""

from procession.core.effect import EffectMove, Receipt
from procession.core.event import Sighting
from procession.core.lane import LaneMove
from procession.storage.ledger.book import Book
from procession.storage.ledger.effect import DOUBT, Sent
from procession.storage.ledger.rest import touch
from procession.storage.ledger.shares import Share


def see(book: Book, sighting: Sighting) -> None:
    share = book.tenant(sighting.tenant)
    if sighting.failed or sighting.receipt >= Receipt.SENT:
        _show(book, share, sighting.channel)
    sent = _find(book, share, sighting)
    if sent is not None:
        climb(book, sent, sighting.receipt, failed=sighting.failed, detail=sighting.detail)
        if sighting.ref is not None and sent.ref is None:
            name_ref(book, sent, sighting.ref)
        _look_anew(book, sent)
    elif sighting.ref is not None and sighting.effect is None:
        # Several become one row: the detail of one that is no failure is not why another failed.
        detail = sighting.detail if sighting.failed else ""
        row = (share.no, sighting.channel, sighting.ref, int(sighting.receipt), int(sighting.failed), detail, book.now)
        book.execute("accept.keep_sighting", row)


def climb(book: Book, sent: Sent, receipt: int, *, failed: bool, detail: str) -> None:
    """What one sighting does to its effect, wherever its lane stands."""
    if not sent.ended:
        sent.move(EffectMove.SIGHT, book.now)
        accept_at(book, sent)
    # Only an accepted send can be seen, so that is the least that is known of it.
    sent.receipt = max(sent.receipt, receipt, int(Receipt.ACCEPTED))
    if failed:
        sent.failed = 1
        sent.reason = detail or sent.reason
    sent.changed_at = book.now
    book.changed_effect(sent)


def accept_at(book: Book, sent: Sent) -> None:
    """It is known now to be accepted: the gate counts from here, and (D11) is as long as is known now."""
    sent.accepted_at, sent.not_before = book.now, None
    if book.outlet(sent.tenant, sent.channel).shown:
        sent.gate_unshown = None


def _show(book: Book, share: Share, channel: str) -> None:
    """The channel has shown that statuses come."""
    outlet = book.outlet(share.no, channel)
    if not outlet.shown:
        outlet.shown = 1
        book.changed_outlet(outlet)


def name_ref(book: Book, sent: Sent, ref: str) -> None:
    """The provider's own id of it became known: a sighting that came by it earlier finds it now (D2)."""
    book.hold(f"ref/{sent.tenant}/{sent.channel}/{ref}")
    sent.ref = ref
    book.changed_effect(sent)
    kept = book.execute("accept.take_sighting", (sent.tenant, sent.channel, ref)).fetchall()
    for receipt, failed, detail in kept:
        climb(book, sent, receipt, failed=bool(failed), detail=detail)


def _find(book: Book, share: Share, sighting: Sighting) -> Sent | None:
    effect: str | None = sighting.effect
    if effect is None and sighting.ref is not None:
        book.flush_effects()
        # Whoever looks for a reference, and whoever makes it known, must not miss one another.
        book.hold(f"ref/{share.no}/{sighting.channel}/{sighting.ref}")
        row = book.execute("accept.effect_of_ref", (share.no, sighting.channel, sighting.ref)).fetchone()
        effect = None if row is None else row[0]
    if effect is None:
        return None
    sent = book.effect(share.no, effect)
    return sent if sent is not None and sent.channel == sighting.channel else None


def _look_anew(book: Book, sent: Sent) -> None:
    lane = book.lane_numbered(sent.tenant, sent.lane)
    if lane.parked_for == sent.id and sent.state != DOUBT:
        lane.parked = lane.parked_for = None
        book.changed(lane)
    if lane.cursor < sent.oseq:
        touch(book, lane, LaneMove.SIGHT)
