"""Renew and release: the two that only move leases (N1, R1, R2)."""

from collections.abc import Sequence
from datetime import timedelta

from procession.core.lane import LaneMove, Lease, Side
from procession.storage.instants import after
from procession.storage.ledger.book import Book
from procession.storage.ledger.doubt import give_back
from procession.storage.ledger.effect import ARMED
from procession.storage.ledger.lane import Lane
from procession.storage.ledger.rest import rest
from procession.storage.ledger.tries import end_try


def renew(book: Book, leases: Sequence[Lease], ttl: timedelta) -> tuple[Lease, ...]:
    until = after(book.now, ttl)
    lost = []
    for lease in leases:
        lane = book.fenced(lease, lease.side)
        if lane is None:
            lost.append(lease)
        else:
            lane.lease_until = until
            book.changed(lane)
    return tuple(lost)


def release(book: Book, leases: Sequence[Lease], *, uncount: bool) -> None:
    for lease in leases:
        lane = book.fenced(lease, lease.side)
        if lane is None:
            continue
        if lease.side is Side.TURNS:
            end_open_try(book, lane, "given back" if uncount else "stopped")
            lane.tries -= uncount
        else:
            disarm(book, lane, "released while armed")
        rest(book, lane, LaneMove.RELEASE)


def disarm(book: Book, lane: Lane, reason: str) -> bool:
    """The lane's head, if it is armed, has lost its sender. Answers whether it is in doubt now."""
    head = book.effect_at(lane, lane.cursor + 1)
    return head is not None and head.state == ARMED and give_back(book, head, reason)


def end_open_try(book: Book, lane: Lane, reason: str) -> None:
    """The lane is given back; that is no death."""
    end_try(book, lane, "released", reason)
