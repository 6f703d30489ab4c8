"""Finding the lane that something belongs to, by name or by itself; several that names lead to are merged (A10, X1)."""

from collections.abc import Sequence

from procession.core.ids import LaneId, namesake_id
from procession.storage.ledger.book import Book
from procession.storage.ledger.lane import TURNS, Lane
from procession.storage.ledger.merge import merge
from procession.storage.ledger.names import Led

Place = tuple[int, str, str, str]
"""Tenant, channel, and the lane that is meant where no name says otherwise, with its key."""


def find_lane(book: Book, place: Place, names: Sequence[str], retires: Sequence[str], side: str) -> Lane:
    """The side of the lane that goes on, made on first use."""
    tenant, channel, lane, key = place
    if names:
        turns = _led(book, place, names, retires)
        if side == TURNS:
            return turns
        lane, key = turns.lane, turns.key
    return book.heir(book.lane_made(tenant, lane, side, key, channel))


def _led(book: Book, place: Place, names: Sequence[str], retires: Sequence[str]) -> Lane:
    tenant, channel, lane, key = place
    leading: dict[str, Led] = {}
    for name in names:
        led = book.names.find(tenant, channel, name)
        if led is not None and led.leads(book.now):
            leading[name] = led
    firm = {led.lane for name, led in leading.items() if led.retired_at is None or name in retires}
    if not firm and all(name in leading for name in names):
        return book.heir(book.lane_numbered(tenant, leading[names[0]].lane))
    row = _one(book, tenant, firm) if firm else _unled(book, tenant, channel, lane, key)
    if not row.named:
        row.named = 1
        book.changed(row)
    book.names.lead(tenant, channel, names, row.no, retires, book.now)
    return row


def _one(book: Book, tenant: int, lanes: set[int]) -> Lane:
    """Of several that turn out to be one subject's, the oldest; the others go on in it."""
    first, *others = [book.lane_numbered(tenant, no) for no in sorted(lanes)]
    for other in others:
        merge(book, other, first)
    return first


def _unled(book: Book, tenant: int, channel: str, lane: str, key: str) -> Lane:
    """The lane that is meant; or, if names have led another subject there, one of its own."""
    number, free = 1, lane
    while (row := book.lane(tenant, free, TURNS)) is not None and row.named:
        number += 1
        free = namesake_id(LaneId(lane), number)
    return book.heir(book.lane_made(tenant, free, TURNS, key, channel))
