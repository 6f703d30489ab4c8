"""Where a lane rests when nobody holds it: by `core.lane.resting`, from facts that are read here.

Every operation leaves a lane through `rest` or `touch`, and takes one through `hold`. The common case (nothing paused,
parked, delayed or collected) goes a short way that gives the same; a test holds it to `resting`.
"""

from typing import Final

from procession.core.effect import EffectMove, RefusedPolicy, Repeatability
from procession.core.errors import IllegalMove
from procession.core.event import LANE_MERGED, merged_payload
from procession.core.ids import LaneId, TenantId, merged_event_id
from procession.core.lane import LANE_TABLE, LaneMove, RestingFacts, resting
from procession.storage.instants import FOREVER, instant, moment
from procession.storage.ledger.book import Book
from procession.storage.ledger.doubt import doubt_is_over, park_for_doubt
from procession.storage.ledger.effect import CONFIRMED, DOUBT, PENDING, REFUSED, Sent
from procession.storage.ledger.hold import look_at
from procession.storage.ledger.lane import HELD, IDLE, PARKED, PAUSED, READY, SENDS, TURNS, Lane

_LEGAL: Final = frozenset((phase.value, move, to.value) for (phase, move), tos in LANE_TABLE.items() for to in tos)


def rest(book: Book, lane: Lane, move: LaneMove) -> None:
    """Put a lane that nobody holds (any more) where its facts say."""
    if lane.paused and lane.paused_until is not None and lane.paused_until <= book.now:
        end_pause(book, lane)
    if lane.side == SENDS:
        facts = _send_facts(book, lane)
    else:
        has_work = lane.turn is not None or lane.next_seq > lane.cursor + 1 or lane.replaying > 0
        plain = lane.not_before is None and lane.parked is None and not lane.paused and not lane.windowed
        if plain and not lane.merging:
            _place(book, lane, move, READY if has_work else IDLE, None)
            return
        facts = _turn_facts(book, lane, has_work=has_work)
    phase, wake_at = resting(facts, book.moment)
    due_at = None if wake_at is None else instant(wake_at)
    if lane.paused and lane.paused_until is not None:
        # Also a lane that is parked, or whose head the pause lets pass, has to be looked at when the pause ends.
        due_at = lane.paused_until if due_at is None else min(due_at, lane.paused_until)
    _place(book, lane, move, phase.value, due_at)


def touch(book: Book, lane: Lane, move: LaneMove) -> None:
    """Look anew at a lane that something was appended to, or that evidence came for. One that is held stays held."""
    phase = lane.phase
    if phase == HELD or (move is LaneMove.ACCEPT and phase in (READY, PAUSED, PARKED)):
        # What is appended behind a head changes nothing about it; a ready lane keeps its place among the ready.
        book.changed(lane)
    else:
        rest(book, lane, move)


def end_pause_if_over(book: Book, lane: Lane) -> None:
    """Before anything is asked for: what is asked for after the end of a pause is not what waited through it."""
    if not lane.paused or lane.paused_until is None or lane.paused_until > book.now:
        return
    if lane.phase == HELD:
        end_pause(book, lane)
    else:
        rest(book, lane, LaneMove.RESUME)


def hold(book: Book, lane: Lane, worker: str, until: int) -> None:
    """Make the lane the worker's, under a new epoch."""
    _check(lane, LaneMove.CLAIM, HELD)
    lane.phase, lane.worker, lane.lease_until = HELD, worker, until
    lane.ready_pos = lane.due_at = None
    lane.epoch += 1
    lane.chained = 0
    book.changed(lane)


def _place(book: Book, lane: Lane, move: LaneMove, phase: str, due_at: int | None) -> None:
    _check(lane, move, phase)
    if phase != READY:
        lane.ready_pos = None
    elif lane.phase != READY:
        book.ready_pos += 1
        lane.ready_pos = book.ready_pos
    lane.phase, lane.worker, lane.lease_until, lane.due_at = phase, "", None, due_at
    book.changed(lane)
    if lane.closing and phase == IDLE and not lane.merging:
        _end_merge(book, lane)


def _check(lane: Lane, move: LaneMove, phase: str) -> None:
    if (lane.phase, move, phase) not in _LEGAL:
        raise IllegalMove(f"a lane that is {lane.phase} cannot {move} into {phase}")


def end_pause(book: Book, lane: Lane) -> None:
    """S4: the effects that waited through the pause are dropped, unless they were to be kept. The caller puts the
    lane to rest.
    """
    keep, passing = lane.pause_keep, lane.pause_pass
    forget_pause(lane)
    book.changed(lane)
    if lane.side == TURNS or keep:
        return
    book.flush_effects()
    for (oseq,) in book.execute("rest.pending_behind", (lane.tenant, lane.no, passing)).fetchall():
        sent = book.effect_at(lane, oseq)
        if sent is not None and sent.state == PENDING and not sent.unproven:
            sent.move(EffectMove.CANCEL, book.now)
            sent.reason = "dropped at the end of a pause"
            book.changed_effect(sent)


def tell_state(book: Book, lane: Lane) -> None:
    """X4: an event brings a merged lane's state to the lane that goes on."""
    if not lane.has_state:
        return
    heir = book.heir(lane)
    tenant = TenantId(book.shares[lane.tenant].tenant)
    event = merged_event_id(tenant, LaneId(lane.lane))
    (state,) = book.execute("merge.take_state", (lane.tenant, lane.no)).fetchone()
    lane.has_state = 0
    payload = merged_payload(lane.key, bytes(state))
    named = (lane.tenant, event, heir.no, heir.next_seq, heir.channel, f"merged/{lane.lane}", LANE_MERGED)
    book.execute("merge.event", (*named, book.now, book.now, payload))
    heir.next_seq += 1
    book.tally[lane.tenant, "accepted"] += 1
    book.tally[lane.tenant, "placed"] += 1
    touch(book, heir, LaneMove.ACCEPT)


def _end_merge(book: Book, lane: Lane) -> None:
    """X3: what it had open has ended, and the lane that goes on need not wait for it any more."""
    assert lane.merged_into is not None
    lane.closing = 0
    if lane.side == TURNS:
        tell_state(book, lane)
    heir = book.lane_numbered(lane.tenant, lane.merged_into)
    heir.merging -= 1
    if lane.burst_since > heir.burst_since:
        heir.burst_since, heir.burst_count = lane.burst_since, lane.burst_count
    if lane.parked is not None and (heir.parked is None or heir.parked_for is not None):
        # A doubt is looked at again when the lane is resumed; what an operator has to look at is known only here.
        heir.parked, heir.parked_for = lane.parked, None
    lane.parked = lane.due_at = None
    forget_pause(lane)
    book.changed(heir)
    if heir.phase != HELD:
        rest(book, heir, LaneMove.MERGE)


def forget_pause(lane: Lane) -> None:
    lane.paused, lane.paused_until, lane.pause_pass, lane.pause_keep, lane.pause_reason = 0, None, 0, 0, ""


# --- turns ---


def _turn_facts(book: Book, lane: Lane, *, has_work: bool) -> RestingFacts:
    wake_at = lane.not_before
    if wake_at is None and has_work and lane.windowed and lane.turn is None and not lane.replaying:
        wake_at = _window_end(book, lane)
    return RestingFacts(
        has_work=has_work,
        parked=lane.parked is not None,
        pause_applies=bool(lane.paused),
        paused_until=None if lane.paused_until is None else moment(lane.paused_until),
        wake_at=None if wake_at is None else moment(wake_at),
        merging=lane.merging > 0,
    )


def _window_end(book: Book, lane: Lane) -> int | None:
    """A6: when the window of the run at the lane's head is over. None: it has none, or nothing keeps it open."""
    events_max, run, first, newest = 1, 0, 0, 0
    wait_max = quiet = 0
    for placed_at, own_quiet, own_wait_max, own_events_max, flushes in book.execute(
        "rest.windows", (lane.tenant, lane.no, lane.cursor)
    ):
        if own_quiet is None:
            break
        if run == 0:
            first, wait_max, events_max = placed_at, own_wait_max, own_events_max
        run, newest, quiet = run + 1, placed_at, own_quiet
        if flushes or run >= events_max:
            return None
    return min(newest + quiet, first + wait_max, FOREVER) if run else None


# --- sends ---


def _send_facts(book: Book, lane: Lane) -> RestingFacts:
    head = pass_ended(book, lane)
    wake_at = None if head is None else _send_wake(book, lane, head)
    return RestingFacts(
        has_work=head is not None,
        parked=lane.parked is not None,
        pause_applies=bool(lane.paused) and (head is None or head.oseq > lane.pause_pass),
        paused_until=None if lane.paused_until is None else moment(lane.paused_until),
        wake_at=None if wake_at is None else moment(min(wake_at, FOREVER)),
        merging=lane.merging > 0,
    )


def pass_ended(book: Book, lane: Lane) -> Sent | None:
    """Move the cursor over effects that have ended and whose gate is open; answer the head."""
    while (head := book.effect_at(lane, lane.cursor + 1)) is not None:
        if head.state == DOUBT and head.doubt_until is not None and head.doubt_until <= book.now:
            # Whoever gets here before the sweep does its work, so that a doubt that is over is never READY.
            doubt_is_over(book, head)
        if not head.ended or head.gate_opens_at() > book.now:
            break
        if head.state == CONFIRMED and not head.gate_reached():
            head.gate_expired = 1
            book.changed_effect(head)
        lane.cursor += 1
        if head.state == REFUSED and head.on_refused == RefusedPolicy.PARK and lane.parked is None:
            lane.parked = f"effect {head.id} was refused: {head.reason}"
    if head is not None:
        park_for_doubt(book, lane, head)
    return head


def _send_wake(book: Book, lane: Lane, head: Sent) -> int | None:
    if head.state == CONFIRMED:
        return head.gate_opens_at()
    if head.state == PENDING:
        waits = (head.not_before, head.slot_at, lane.not_before, look_at(book, head))
        return max([moment for moment in waits if moment is not None], default=None)
    if head.state == DOUBT:
        probed = head.repeatability == Repeatability.PROBED and head.not_before is not None
        return head.not_before if probed else head.doubt_until
    return None
