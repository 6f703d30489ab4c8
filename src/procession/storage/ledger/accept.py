"""Accept: events get their places, sightings find their effects, the rest is quarantined (A1 to A12)."""

import json

from procession.core.event import Acceptance, EventState, Intake, NewEvent, Placement
from procession.core.lane import LaneMove
from procession.storage.instants import instant, micros
from procession.storage.ledger.book import Book
from procession.storage.ledger.find import find_lane
from procession.storage.ledger.hearing import hear, pause_at_once
from procession.storage.ledger.lane import HELD, READY, TURNS
from procession.storage.ledger.resequence import place_of, release_followers
from procession.storage.ledger.rest import touch
from procession.storage.ledger.sight import see


def accept(book: Book, intake: Intake) -> Acceptance:
    placements = tuple([accept_event(book, new) for new in intake.events])
    for sighting in intake.sightings:
        see(book, sighting)
    for body in intake.quarantined:
        headers = json.dumps(body.headers)
        book.execute("accept.quarantine", (body.id, body.endpoint, book.now, body.reason, headers, body.body))
    return Acceptance(placements=placements)


def accept_event(book: Book, new: NewEvent) -> Placement:
    share = book.tenant(new.tenant)
    if new.order is None and new.window is None and not new.aliases:
        fresh, seq = _place(book, share.no, new)
    else:
        fresh, seq = _place_whole(book, share.no, new)
    book.tally[share.no, "accepted" if fresh else "duplicates"] += 1
    return Placement(event=new.id, fresh=fresh, seq=seq)


def _place(book: Book, tenant: int, new: NewEvent) -> tuple[bool, int | None]:
    """A plain event: the lane's next seq. False: it is here already."""
    now = book.now
    known = book.lane(tenant, new.lane, TURNS)
    lane = book.heir(known or book.lane_made(tenant, new.lane, TURNS, new.lane_key, new.channel))
    seq = lane.next_seq
    occurred_at = None if new.occurred_at is None else instant(new.occurred_at)
    row = (tenant, new.id, lane.no, seq, new.channel, new.provider_id, new.kind, now, now, occurred_at, new.payload)
    if not book.insert_event(row):
        if known is None:
            book.discard(lane)
        return False, None
    lane.next_seq = seq + 1
    if new.hears:
        hear(book, lane, new)
    book.tally[tenant, "placed"] += 1
    if lane.phase == READY or lane.phase == HELD:
        # The commonest case by far: what is appended behind a head changes nothing but the count.
        book.grown(lane)
    else:
        touch(book, lane, LaneMove.ACCEPT)
    if new.pause is not None:
        pause_at_once(book, lane, new.pause)
    return True, seq


def _place_whole(book: Book, tenant: int, new: NewEvent) -> tuple[bool, int | None]:
    """An event with an order of its source's, a window, or names."""
    if book.knows_event(tenant, new.id):
        return False, None
    where = (tenant, new.channel, new.lane, new.lane_key)
    lane = find_lane(book, where, new.aliases, new.retires, TURNS)
    place = place_of(book, lane, new)
    order, window = new.order, new.window
    book.insert_whole_event(
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
    if new.hears:
        hear(book, lane, new)
    if place.seq is not None:
        release_followers(book, lane, new)
        touch(book, lane, LaneMove.ACCEPT)
    if new.pause is not None:
        pause_at_once(book, lane, new.pause)
    book.changed(lane)
    return True, place.seq
