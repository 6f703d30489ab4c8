"""Merge: two lanes turn out to be one subject's, and one of them goes on (X1 to X6).

What moves, moves as one run behind what waits in the lane that goes on; what is open stays, and is closed under the
lease and the epoch that it was opened under. So nobody who holds either lane learns of it.
"""

from typing import Final

from procession.core.lane import LaneMove
from procession.storage.instants import FOREVER
from procession.storage.ledger.book import Book
from procession.storage.ledger.effect import PENDING
from procession.storage.ledger.lane import HELD, SENDS, TURNS, Lane
from procession.storage.ledger.rest import end_pause, rest, tell_state

_REMINDER_OFF: Final = "settle.reminder_off"


def merge(book: Book, turns: Lane, into: Lane) -> None:
    """The lane of `turns` goes on in that of `into`; both are given by their TURNS side."""
    sides = [
        (
            book.lane_made(turns.tenant, turns.lane, side, turns.key, turns.channel),
            book.lane_made(into.tenant, into.lane, side, into.key, into.channel),
        )
        for side in (TURNS, SENDS)
    ]
    for row, heir in sides:
        for each in (*book.family(row), *book.family(heir)):
            if each.paused and _pause_end(each) <= book.now:
                end_pause(book, each)
        row.merged_into, row.closing = heir.no, 1
        heir.merging += 1
        book.changed(row)  # before a family is asked for: which lanes close is read from the file
        book.changed(heir)
    book.names.move(turns.tenant, turns.no, into.no)
    passes = any(each.paused and each.pause_pass > each.cursor for each in sides[1])
    _move_turns(book, turns, into)
    _move_sends(book, *sides[1])
    _move_reminders(book, turns, into)
    for row, heir in sides:
        book.changed(row)
        book.changed(heir)
        family = book.family(heir)
        _share_pause(book, row, heir, family, passes=passes)
        for each in family:
            if each.phase != HELD:
                rest(book, each, LaneMove.MERGE)


def move_replay(book: Book, lane: int, event: int, heir: Lane) -> None:
    """A set-aside event of a merged lane is played once more, where its subject's events are by now."""
    book.execute("merge.move_replay", (heir.no, heir.next_seq, book.now, heir.tenant, lane, event))
    heir.next_seq += 1
    book.changed(heir)


def _pause_end(lane: Lane) -> int:
    return FOREVER if lane.paused_until is None else lane.paused_until


def _move_turns(book: Book, lane: Lane, heir: Lane) -> None:
    if lane.turn is None:
        tell_state(book, lane)
    own = {"tenant": lane.tenant, "lane": lane.no}
    for (no,) in book.execute("merge.replaying", {**own, "open": lane.aside_seq}).fetchall():
        move_replay(book, lane.no, no, heir)
    lane.replaying = 0
    stays = lane.cursor if lane.turn_last is None else max(lane.cursor, lane.turn_last)
    if lane.last > stays:
        book.execute("merge.move_events", {**own, "heir": heir.no, "stays": stays, "by": heir.last - stays})
        heir.next_seq += lane.last - stays
        lane.next_seq = stays + 1
    book.execute("merge.move_held", {**own, "heir": heir.no})
    heir.windowed = heir.windowed or lane.windowed
    heir.order_last = _later(heir.order_last, lane.order_last)
    heir.heard_at = _later(heir.heard_at, lane.heard_at)


def _later(one: int | None, other: int | None) -> int | None:
    return max((each for each in (one, other) if each is not None), default=None)


def _move_sends(book: Book, lane: Lane, heir: Lane) -> None:
    head = book.effect_at(lane, lane.cursor + 1)
    begun = head is not None and (head.attempts > 0 or head.state != PENDING)
    stays = lane.cursor + (head is not None and (begun or lane.phase == HELD))
    passing, by = heir.cursor, heir.last - stays
    if lane.last > stays:
        move = {"tenant": lane.tenant, "lane": lane.no, "heir": heir.no, "stays": stays, "by": by}
        book.move_effects("merge.move_effects", move)
        heir.next_seq += lane.last - stays
        if lane.pause_pass > stays:
            passing = min(lane.pause_pass, lane.last) + by
        lane.next_seq = stays + 1
    if lane.paused and not heir.paused:
        heir.pause_pass = passing


def _share_pause(book: Book, lane: Lane, heir: Lane, family: list[Lane], *, passes: bool) -> None:
    """X5. `passes`: there are effects that pass it, and so what is before them passes too."""
    paused = [each for each in (lane, heir) if each.paused]
    if not paused:
        return
    longest = max(paused, key=_pause_end)
    until, reason = longest.paused_until, longest.pause_reason
    keep = max(each.pause_keep for each in paused)
    for each in family:
        if not each.paused and each is not heir:
            each.pause_pass = each.last if passes else each.cursor
        each.paused, each.paused_until, each.pause_keep, each.pause_reason = 1, until, keep, reason
        book.changed(each)


def _move_reminders(book: Book, lane: Lane, heir: Lane) -> None:
    for name, due_at, asked, payload in book.execute("merge.reminders", (lane.tenant, lane.no)).fetchall():
        book.execute("merge.inherit_reminder", (heir.tenant, heir.no, name, due_at, asked, payload))
        book.execute(_REMINDER_OFF, (lane.tenant, lane.no, name))
