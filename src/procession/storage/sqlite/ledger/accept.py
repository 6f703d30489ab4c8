"""Accept: events get their places, sightings find their effects, the rest is quarantined (A1 to A9)."""

import json
from typing import Final

from procession.core.event import Acceptance, EventState, Intake, NewEvent, Placement
from procession.core.lane import LaneMove
from procession.storage.sqlite.instants import instant, micros
from procession.storage.sqlite.ledger.book import Book
from procession.storage.sqlite.ledger.lane import TURNS
from procession.storage.sqlite.ledger.resequence import Place, place_of, release_followers
from procession.storage.sqlite.ledger.rest import touch
from procession.storage.sqlite.ledger.shares import Share
from procession.storage.sqlite.ledger.sight import see
from procession.storage.sqlite.statements import statements

_SQL: Final = statements("accept")
_EVENT: Final = _SQL["event"]


def accept(book: Book, intake: Intake) -> Acceptance:
    placements = tuple([accept_event(book, new) for new in intake.events])
    for sighting in intake.sightings:
        see(book, sighting)
    for body in intake.quarantined:
        headers = json.dumps(body.headers)
        book.execute(_SQL["quarantine"], (body.id, body.endpoint, book.now, body.reason, headers, body.body))
    return Acceptance(placements=placements)


def accept_event(book: Book, new: NewEvent) -> Placement:
    share = book.tenant(new.tenant)
    place = _place_whole(book, share, new) if new.order or new.window else _place(book, share, new)
    if place is None:
        book.tally[share.no, "duplicates"] += 1
        return Placement(event=new.id, fresh=False, seq=None)
    book.tally[share.no, "accepted"] += 1
    return Placement(event=new.id, fresh=True, seq=place.seq)


def _place(book: Book, share: Share, new: NewEvent) -> Place | None:
    """A plain event: the lane's next seq. None: it is here already."""
    tenant, now = share.no, book.now
    known = book.lane(tenant, new.lane, TURNS)
    lane = known or book.lane_made(tenant, new.lane, TURNS, new.lane_key, new.channel)
    occurred_at = None if new.occurred_at is None else instant(new.occurred_at)
    row = (tenant, new.id, lane.no, lane.next_seq, new.channel, new.provider_id, new.kind, now, now, occurred_at)
    if not book.execute(_EVENT, (*row, new.payload)).rowcount:
        if known is None:
            book.discard(lane)
        return None
    seq = lane.next_seq
    lane.next_seq = seq + 1
    touch(book, lane, LaneMove.ACCEPT)
    book.tally[tenant, "placed"] += 1
    return Place(seq=seq)


def _place_whole(book: Book, share: Share, new: NewEvent) -> Place | None:
    """An event with an order of its source's, or a window."""
    tenant = share.no
    if book.execute(_SQL["known"], (tenant, new.id)).fetchone() is not None:
        return None
    lane = book.lane_made(tenant, new.lane, TURNS, new.lane_key, new.channel)
    place = place_of(book, lane, new)
    order, window = new.order, new.window
    book.execute(
        _SQL["event_whole"],
        (
            tenant,
            new.id,
            lane.no,
            place.seq,
            place.state,
            new.channel,
            new.provider_id,
            new.kind,
            book.now,
            None if place.seq is None else book.now,
            None if new.occurred_at is None else instant(new.occurred_at),
            int(place.late),
            book.now if place.state == EventState.DROPPED else None,
            place.reason,
            None if order is None else order.by.value,
            None if order is None else order.key,
            None if order is None else order.stale.value,
            None if order is None else order.first,
            place.held_until,
            None if window is None else micros(window.quiet),
            None if window is None else micros(window.wait_max),
            None if window is None else max(1, window.events_max),
            None if window is None else int(window.flushes),
            new.payload,
        ),
    )
    if window is not None:
        lane.windowed = 1
    if place.seq is not None:
        release_followers(book, lane, new)
        touch(book, lane, LaneMove.ACCEPT)
    book.changed(lane)
    return place
