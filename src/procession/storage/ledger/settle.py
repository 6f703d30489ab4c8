"""Remember and settle: what a turn leaves behind (M1, M2, T1 to T11)."""

from collections.abc import Callable, Sequence
from typing import assert_never

from procession.core.effect import EffectDraft, EffectMove
from procession.core.event import EventState
from procession.core.ids import EventId
from procession.core.lane import LaneMove, Lease, PauseDraft, Side
from procession.core.turn import (
    Advance,
    Delay,
    HeldTurn,
    Park,
    SetAside,
    Settled,
    Settlement,
    SqlWork,
    Step,
)
from procession.core.verdict import Fate
from procession.storage.instants import FOREVER, after
from procession.storage.ledger.asked import append_effects
from procession.storage.ledger.book import Book
from procession.storage.ledger.claim import held_turn, keep_turn
from procession.storage.ledger.effect import PENDING
from procession.storage.ledger.lane import HELD, Lane
from procession.storage.ledger.rest import rest, touch
from procession.storage.ledger.tries import clear_tries, end_try

RunSql = Callable[[Book, Sequence[SqlWork]], None]


def remember(book: Book, lease: Lease, turn: EventId, steps: Sequence[Step], flush: Sequence[EffectDraft]) -> Fate:
    lane = book.fenced(lease, Side.TURNS)
    if lane is None or lane.turn != turn:
        return Fate.LOST
    for step in steps:
        book.execute("settle.step", (lane.tenant, turn, step.name, step.occurrence, step.value))
    if steps and not lane.has_steps:
        lane.has_steps = 1
        book.changed(lane)
    append_effects(book, lane.tenant, turn, flush)
    return Fate.KEPT


def settle(book: Book, settlement: Settlement, run_sql: RunSql) -> Settled:
    kept = _kept_already(book, settlement)
    if kept is not None:
        return kept
    lane = book.fenced(settlement.lease, Side.TURNS)
    if lane is None or lane.turn != settlement.turn or not lane.try_open:
        return Settled(fate=Fate.LOST)
    if settlement.sql and isinstance(settlement.outcome, Advance):
        # First, so that whatever it does wrong, nothing of the settlement has been written yet.
        run_sql(book, settlement.sql)
    worker = lane.worker
    _end(book, lane, settlement)
    lane.settled_epoch, lane.settled, lane.chained = settlement.lease.epoch, settlement.turn, 0
    lane.deaths = lane.deaths_alone = 0
    rest(book, lane, LaneMove.SETTLE)
    return Settled(fate=Fate.KEPT, next=_next(book, lane, worker, settlement))


def _kept_already(book: Book, settlement: Settlement) -> Settled | None:
    """T1: the answer to a settlement that was kept under this epoch; None: it was not."""
    lease = settlement.lease
    share = book.shares.find(lease.tenant)
    if share is None or lease.era != book.era or lease.side is not Side.TURNS:
        return None
    lane = book.lane(share.no, lease.lane, Side.TURNS.value)
    if lane is None or lane.settled_epoch != lease.epoch or lane.settled != settlement.turn:
        return None
    still_held = lane.phase == HELD and lane.chained and lane.epoch == lease.epoch + 1
    return Settled(fate=Fate.KEPT, next=held_turn(book, lane) if still_held else None)


def _next(book: Book, lane: Lane, worker: str, settlement: Settlement) -> HeldTurn | None:
    if settlement.keep_for is None:
        return None
    return keep_turn(book, lane, worker, after(book.now, settlement.keep_for))


def _end(book: Book, lane: Lane, settlement: Settlement) -> None:
    match settlement.outcome:
        case Advance():
            _advance(book, lane, settlement)
        case Delay(after=wait, reason=reason, counts=counts):
            end_try(book, lane, "delayed", reason)
            lane.not_before = after(book.now, wait)
            lane.tries -= lane.deaths + (0 if counts else 1)
        case Park(reason=reason):
            end_try(book, lane, "parked", reason)
            lane.parked = reason
        case SetAside(reason=reason):
            end_try(book, lane, "set aside", reason)
            pass_turn(book, lane, EventState.SET_ASIDE, reason)
        case _ as never:
            assert_never(never)


def _advance(book: Book, lane: Lane, settlement: Settlement) -> None:
    if lane.has_steps:
        book.execute("settle.forget_steps", (lane.tenant, settlement.turn))
    if settlement.state is not None:
        book.keep_state(lane, settlement.state)
        lane.has_state = 1
    lane.try_open = 0
    pass_turn(book, lane, EventState.DONE, "")
    if settlement.effects:
        append_effects(book, lane.tenant, settlement.turn, settlement.effects)
    for effect in settlement.cancel_effects:
        cancel_effect(book, lane.tenant, effect, "cancelled by its handler")
    heir = book.heir(lane)
    for name in settlement.cancel_reminders:
        book.execute("settle.reminder_off", (heir.tenant, heir.no, name))
    for draft in settlement.reminders:
        due_at = after(book.now, draft.after)
        row = (heir.tenant, heir.no, draft.name, due_at, book.next_asked(), draft.payload)
        book.execute("settle.reminder", row)
    if settlement.pause is not None:
        _pause_after(book, heir, lane, settlement.pause)


def pass_turn(book: Book, lane: Lane, state: EventState, reason: str) -> None:
    """The turn's events have ended as `state`, and the cursor passes them; that of a replay lies behind it already."""
    assert lane.turn is not None
    assert lane.turn_last is not None
    first = lane.cursor + 1 if lane.aside_seq is None else lane.aside_seq
    last, events = lane.turn_last, lane.turn_last - first + 1
    row = (lane.tenant, lane.no, first, last, lane.turn, state.value, lane.tries, lane.first_try_at, book.now)
    book.turns.append(row)
    if state is not EventState.DONE:
        ended = (state.value, book.now, reason, lane.turn, lane.tenant, lane.no, first, last)
        book.execute("settle.events_ended", ended)
    elif lane.aside_seq is not None:
        book.execute("settle.replay_done", (lane.tenant, lane.no, first))
    book.tally[lane.tenant, state.value] += events
    lane.cursor = max(lane.cursor, last)
    clear_tries(lane)
    book.changed(lane)


def cancel_effect(book: Book, tenant: int, effect: str, reason: str) -> bool:
    """A pending effect that is not wanted any more; if it was its conversation's head, that goes on. False: it is not
    pending.
    """
    sent = book.effect(tenant, effect)
    if sent is None or sent.state != PENDING or sent.unproven:
        return False
    sent.move(EffectMove.CANCEL, book.now)
    sent.reason = reason
    book.changed_effect(sent)
    lane = book.lane_numbered(sent.tenant, sent.lane)
    if lane.cursor < sent.oseq:
        touch(book, lane, LaneMove.SIGHT)
    return True


def _pause_after(book: Book, turns: Lane, settled: Lane, pause: PauseDraft) -> None:
    """T10: what this turn and those before it asked for still goes. The lane that is settled is put to rest later."""
    for side in book.both_families(turns):
        pause_side(book, side, pause, passing=side.last)
        if side is not settled and side.phase != HELD:
            rest(book, side, LaneMove.PAUSE)


def pause_side(book: Book, lane: Lane, pause: PauseDraft, *, passing: int) -> None:
    """Pause one side; effects up to the oseq `passing` still go. The caller puts it to rest, unless it is held."""
    lane.paused, lane.pause_pass, lane.pause_keep = 1, passing, int(pause.keep_effects)
    until = None if pause.duration is None else after(book.now, pause.duration)
    lane.paused_until = None if until == FOREVER else until
    lane.pause_reason = pause.reason
    book.changed(lane)
