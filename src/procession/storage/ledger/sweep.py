"""Sweep: free what died, and turn what is due into work (S1 to S7)."""

from collections import Counter
from typing import Final

from procession.core.event import NewEvent
from procession.core.ids import ChannelName, LaneId, TenantId, reminder_event_id
from procession.core.lane import LaneMove
from procession.ports.store import Swept
from procession.storage.instants import FOREVER, duration
from procession.storage.ledger.accept import accept_event
from procession.storage.ledger.book import Book
from procession.storage.ledger.doubt import doubt_is_over
from procession.storage.ledger.effect import CONFIRMED, DOUBT
from procession.storage.ledger.lane import IDLE, READY, SENDS, TRY_ALONE, TURNS, Lane
from procession.storage.ledger.release import disarm
from procession.storage.ledger.resequence import release_due
from procession.storage.ledger.rest import rest
from procession.storage.ledger.tries import end_try

_NEXT: Final = ("sweep.next_lease", "sweep.next_lane", "sweep.next_doubt", "sweep.next_held", "sweep.next_reminder")


def sweep(book: Book, rows_max: int) -> Swept:
    done: Counter[str] = Counter()
    book.doubts_ended.clear()
    _free_leases(book, rows_max, done)
    _release_held(book, rows_max, done)
    _remind(book, rows_max, done)
    _end_doubts(book, rows_max)
    _wake(book, rows_max, done)
    done.update({f"doubts_{how}": count for how, count in book.doubts_ended.items()})
    upcoming = _upcoming(book)
    return Swept(
        **done,
        more=upcoming is not None and upcoming <= book.now,
        next_after=None if upcoming is None else duration(max(upcoming - book.now, 0)),
    )


def _free_leases(book: Book, rows_max: int, done: Counter[str]) -> None:
    for row in book.execute("sweep.leases_over", (book.now, rows_max)).fetchall():
        lane = book.adopt(row)
        done["leases_freed"] += 1
        if lane.side == TURNS:
            _die(book, lane)
            done["deaths"] += 1
        else:
            done["doubted"] += disarm(book, lane, "its sender is gone")
        rest(book, lane, LaneMove.SWEEP)
    book.flush()


def _die(book: Book, lane: Lane) -> None:
    alone = lane.try_open == TRY_ALONE
    end_try(book, lane, "died alone" if alone else "died", "its process ended, or its lease ran out")
    lane.deaths += 1
    lane.deaths_alone += alone


def _release_held(book: Book, rows_max: int, done: Counter[str]) -> None:
    while done["released"] < rows_max:
        row = book.execute("sweep.held_over", (book.now,)).fetchone()
        if row is None:
            return
        done["released"] += release_due(book, book.lane_numbered(*row))
        book.flush()


def _remind(book: Book, rows_max: int, done: Counter[str]) -> None:
    for tenant, no, name, generation, payload in book.execute("sweep.reminders_due", (book.now, rows_max)).fetchall():
        book.execute("sweep.reminder_rung", (tenant, no, name))
        lane = book.lane_numbered(tenant, no)
        accept_event(book, _event_of(book.shares[tenant].tenant, lane, name, generation, payload))
        done["reminded"] += 1
    book.flush()


def _event_of(tenant: str, lane: Lane, name: str, generation: int, payload: bytes) -> NewEvent:
    return NewEvent(
        tenant=TenantId(tenant),
        channel=ChannelName(lane.channel),
        lane=LaneId(lane.lane),
        lane_key=lane.key,
        id=reminder_event_id(TenantId(tenant), LaneId(lane.lane), name, generation),
        provider_id=f"reminder/{name}/{generation}",
        kind=f"reminder.{name}",
        payload=payload,
    )


def _end_doubts(book: Book, rows_max: int) -> None:
    for tenant, effect, no in book.execute("sweep.doubts_over", (book.now, rows_max)).fetchall():
        lane = book.lane_numbered(tenant, no)
        sent = book.effect(tenant, effect)
        if sent is None or sent.state != DOUBT or sent.doubt_until is None:
            continue  # looking at one before it in its conversation has ended it
        doubt_is_over(book, sent)
        rest(book, lane, LaneMove.RESOLVE)
    book.flush()


def _wake(book: Book, rows_max: int, done: Counter[str]) -> None:
    for row in book.execute("sweep.lanes_due", (book.now, rows_max)).fetchall():
        lane = book.adopt(row)
        if lane.due_at is None or lane.due_at > book.now:
            continue  # the end of a lane that was merged into it has woken it
        head = book.effect_at(lane, lane.cursor + 1) if lane.side == SENDS else None
        # A pause that is over is resumed, by itself: also that of a lane with nothing in it.
        rest(book, lane, LaneMove.RESUME if lane.paused or lane.phase == IDLE else LaneMove.SWEEP)
        done["woken"] += lane.phase == READY
        done["gates_expired"] += head is not None and head.state == CONFIRMED and bool(head.gate_expired)
    book.flush()


def _upcoming(book: Book) -> int | None:
    rows = [book.execute(name).fetchone() for name in _NEXT]
    moments = [row[0] for row in rows if row is not None and row[0] is not None]
    return min((moment for moment in moments if moment < FOREVER), default=None)
