"""The operator's hand: verbs of the console, each in the writer's transaction, with its audit row."""

from typing import Final

from procession.core.effect import EffectMove, Receipt
from procession.core.errors import BadRequest
from procession.core.event import EventState, Intake
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, QuarantineId, TenantId
from procession.core.lane import LaneMove, PauseDraft, Side
from procession.storage.instants import FOREVER, after
from procession.storage.ledger.accept import accept
from procession.storage.ledger.book import Book
from procession.storage.ledger.effect import ARMED, DOUBT, PENDING, Sent
from procession.storage.ledger.hearing import pause_both
from procession.storage.ledger.lane import HELD, IDLE, SENDS, TURNS, Lane
from procession.storage.ledger.merge import move_replay
from procession.storage.ledger.release import end_open_try
from procession.storage.ledger.rest import end_pause, rest
from procession.storage.ledger.settle import cancel_effect, pass_turn
from procession.storage.ledger.sight import accept_at

_AUDIT: Final = "directory.audit"
_EVENTS: Final = "claim.events"
_HOW: Final = {"sent": EffectMove.CONFIRM, "resend": EffectMove.RESEND, "skip": EffectMove.SKIP}


def audit(book: Book, actor: str, tenant: TenantId | None, verb: str, about: str, detail: str = "") -> None:
    book.execute(_AUDIT, (book.now, actor, tenant, verb, about, detail))


# --- lanes ---


def pause(book: Book, tenant: TenantId, lane: LaneId, actor: str, draft: PauseDraft) -> bool:
    turns = book.heir(_turns(book, tenant, lane))
    until = None if draft.duration is None else after(book.now, draft.duration)
    until = None if until == FOREVER else until
    if turns.paused and turns.paused_until == until and bool(turns.pause_keep) == draft.keep_effects:
        return False
    pause_both(book, turns, draft)
    audit(book, actor, tenant, "lane pause", lane, draft.reason)
    return True


def resume(book: Book, tenant: TenantId, lane: LaneId, actor: str) -> bool:
    turns = _turns(book, tenant, lane)
    sends = book.lane(turns.tenant, lane, SENDS)
    sides = [turns] if sends is None else [turns, sends]
    changed = [_resume(book, each) for side in sides for each in book.family(side)]
    if any(changed):
        audit(book, actor, tenant, "lane resume", lane)
    return any(changed)


def _resume(book: Book, lane: Lane) -> bool:
    freed = lane.parked is not None and lane.parked_for is None
    if not freed and not lane.paused:
        return False
    if lane.paused:
        end_pause(book, lane)
    if freed:
        lane.parked = lane.not_before = None
        lane.tries = lane.deaths = lane.deaths_alone = 0
    if lane.phase != HELD:
        rest(book, lane, LaneMove.RESUME)
    book.changed(lane)
    return True


def skip(book: Book, tenant: TenantId, lane: LaneId, actor: str, side: Side) -> EventId | EffectId | None:
    named = _lane(book, tenant, lane, side.value)
    if named is None:
        raise BadRequest(f"tenant {tenant} has no lane {lane}: `procession lanes` shows the lanes")
    # What has to come to its end first: a lane that is merged has nothing else.
    found = next(each for each in book.family(named) if each.merged_into is None or _is_open(book, each))
    if found.phase == HELD:
        raise BadRequest(f"lane {found.lane} is being played right now: pause it first, then skip")
    skipped = _skip_turn(book, found) if side is Side.TURNS else _skip_effect(book, found)
    if skipped is not None:
        audit(book, actor, tenant, "lane skip", lane, skipped)
    return skipped


def _is_open(book: Book, lane: Lane) -> bool:
    if lane.side == TURNS:
        return lane.turn is not None
    return book.effect_at(lane, lane.cursor + 1) is not None


def _skip_turn(book: Book, lane: Lane) -> EventId | None:
    if lane.turn is None:
        seq = _head_seq(book, lane)
        row = None if seq is None else book.execute(_EVENTS, (lane.tenant, lane.no, seq, seq)).fetchone()
        if row is None:
            return None
        is_replay = lane.replaying > 0
        lane.turn, lane.turn_last, lane.aside_seq = row[0], seq, seq if is_replay else None
        lane.replaying -= is_replay
    skipped = EventId(lane.turn)
    lane.parked = None
    pass_turn(book, lane, EventState.SKIPPED, "skipped by an operator")
    rest(book, lane, LaneMove.SKIP)
    return skipped


def _head_seq(book: Book, lane: Lane) -> int | None:
    if lane.replaying:
        (seq,) = book.execute("claim.next_replay", (lane.tenant, lane.no)).fetchone()
        return int(seq)
    return lane.cursor + 1 if lane.next_seq > lane.cursor + 1 else None


def _skip_effect(book: Book, lane: Lane) -> EffectId | None:
    head = book.effect_at(lane, lane.cursor + 1)
    if head is None or head.ended:
        return None
    head.move(EffectMove.SKIP, book.now)
    head.reason = "skipped by an operator"
    book.changed_effect(head)
    lane.parked = lane.parked_for = None
    rest(book, lane, LaneMove.SKIP)
    return EffectId(head.id)


# --- set-aside events ---


def replay(book: Book, tenant: TenantId, event: EventId, actor: str) -> bool:
    row = _aside(book, tenant, event)
    if row is None:
        return False
    owner, lane_no, no = row
    lane = book.lane_numbered(owner, lane_no)
    book.tally[lane.tenant, "replayed"] += 1
    if lane.merged_into is not None:
        lane = book.heir(lane)
        move_replay(book, lane_no, no, lane)
    else:
        book.execute("console.replaying", row)
        lane.replaying += 1
        book.changed(lane)
    if lane.phase != HELD:
        rest(book, lane, LaneMove.RESUME)
    audit(book, actor, tenant, "aside replay", event)
    return True


def drop_aside(book: Book, tenant: TenantId, event: EventId, actor: str) -> bool:
    row = _aside(book, tenant, event)
    if row is None:
        return False
    book.execute("console.drop_aside", row)
    lane = book.lane_numbered(*row[:2])
    # It leaves the set-aside ones as a replay does, and ends as skipped.
    book.tally[lane.tenant, "replayed"] += 1
    book.tally[lane.tenant, "skipped"] += 1
    audit(book, actor, tenant, "aside drop", event)
    return True


def _aside(book: Book, tenant: TenantId, event: EventId) -> tuple[int, int, int] | None:
    """Its tenant, its lane, its number."""
    share = book.shares.find(tenant)
    if share is None:
        return None
    row: tuple[int, int, int] | None = book.execute("console.aside", (share.no, event)).fetchone()
    return row


# --- quarantine ---


def drop_quarantined(book: Book, kept: QuarantineId, actor: str) -> bool:
    if not book.execute("console.quarantine_remove", (kept,)).rowcount:
        return False
    audit(book, actor, None, "quarantine drop", kept)
    return True


def route_quarantined(book: Book, kept: QuarantineId, intake: Intake, actor: str) -> bool:
    if not book.execute("console.quarantine_remove", (kept,)).rowcount:
        return False
    accept(book, intake=intake)
    audit(book, actor, None, "quarantine route", kept)
    return True


# --- effects ---


def resolve(book: Book, tenant: TenantId, effect: EffectId, how: str, actor: str) -> bool:
    if how not in _HOW:
        raise BadRequest(f"a doubt is resolved as sent, resend or skip, not as {how!r}")
    sent = _effect(book, tenant, effect)
    if sent.state != DOUBT:
        return False
    lane = book.lane_numbered(sent.tenant, sent.lane)
    if lane.phase == HELD:
        raise BadRequest(f"effect {effect} is being probed right now: try again in a moment")
    _resolve(book, lane, sent, _HOW[how])
    audit(book, actor, tenant, "doubt resolve", effect, how)
    return True


def _resolve(book: Book, lane: Lane, sent: Sent, move: EffectMove) -> None:
    sent.move(move, book.now)
    sent.doubt_until = sent.not_before = None
    sent.reason = "resolved by an operator"
    if move is EffectMove.CONFIRM:
        accept_at(book, sent)
        sent.receipt = max(sent.receipt, int(Receipt.ACCEPTED))
    if move is EffectMove.RESEND:
        sent.resends, sent.unproven = sent.resends + 1, 0
    book.changed_effect(sent)
    if lane.parked_for == sent.id:
        lane.parked = lane.parked_for = None
    rest(book, lane, LaneMove.RESOLVE)


def cancel(book: Book, tenant: TenantId, effect: EffectId, actor: str) -> bool:
    sent = _effect(book, tenant, effect)
    if not cancel_effect(book, sent.tenant, effect, "cancelled by an operator"):
        return False
    audit(book, actor, tenant, "effect cancel", effect)
    return True


# --- what is held back ---


def release(book: Book, tenant: TenantId, channel: ChannelName | None, actor: str) -> bool:
    """Of the tenant with all its channels, where no channel is named."""
    share = book.shares.find(tenant)
    if share is None:
        return False
    held = [
        outlet
        for (name,) in book.execute("console.outlets_held", {"tenant": share.no, "channel": channel}).fetchall()
        if (outlet := book.outlet(share.no, name)).hold_end > book.now
    ]
    if not held:
        return False
    for outlet in held:
        outlet.held_until = book.now
        book.changed_outlet(outlet)
    for (no,) in book.execute("console.sends_waiting", {"tenant": share.no, "channel": channel}).fetchall():
        _look_anew(book, book.lane_numbered(share.no, no))
    reasons = "; ".join(dict.fromkeys(outlet.held_reason for outlet in held))
    audit(book, actor, tenant, "sending release", channel or "all channels", reasons)
    return True


def _look_anew(book: Book, lane: Lane) -> None:
    head = book.effect_at(lane, lane.cursor + 1)
    if head is not None and head.state == PENDING:
        rest(book, lane, LaneMove.RESOLVE)
        book.flush()


# --- the store as a whole ---


def sending(book: Book, actor: str, *, paused: bool) -> bool:
    if book.sending_paused == paused:
        return False
    book.execute("console.sending", (int(paused),))
    book.sending_paused = paused
    audit(book, actor, None, "sending", "paused" if paused else "resumed")
    return True


def new_era(book: Book, actor: str, reason: str) -> int:
    """Every lease is void, sending is paused, and what is pending or armed may have been sent by what was lost."""
    (era,) = book.execute("console.era").fetchone()
    book.era, book.sending_paused = era, True
    for tenant, effect in book.execute("console.unfinished").fetchall():
        _doubt(book, book.effect(tenant, effect))
        book.flush()
    for owner, no in book.execute("console.held_lanes").fetchall():
        lane = book.lane_numbered(owner, no)
        if lane.side == TURNS:
            end_open_try(book, lane, "a new era began")
            lane.tries -= 1
        rest(book, lane, LaneMove.RELEASE)
        book.flush()
    for owner, no in book.execute("console.sends_with_work").fetchall():
        lane = book.lane_numbered(owner, no)
        if lane.phase not in (HELD, IDLE):
            rest(book, lane, LaneMove.RESOLVE)
            book.flush()
    audit(book, actor, None, "era", str(era), reason)
    return int(era)


def _doubt(book: Book, sent: Sent | None) -> None:
    if sent is None or sent.state not in (PENDING, ARMED):
        return
    sent.move(EffectMove.DOUBT, book.now)
    sent.doubt_until, sent.reason = min(book.now + sent.doubt_wait, FOREVER), "a new era began"
    book.changed_effect(sent)


# --- finding ---


def _turns(book: Book, tenant: TenantId, lane: LaneId) -> Lane:
    """The turns' side; made, where a lane has only ever had effects."""
    found = _lane(book, tenant, lane, TURNS)
    if found is None:
        sends = _lane(book, tenant, lane, SENDS)
        if sends is None:
            raise BadRequest(f"tenant {tenant} has no lane {lane}: `procession lanes` shows the lanes")
        found = book.lane_made(sends.tenant, lane, TURNS, sends.key, sends.channel)
    return found


def _lane(book: Book, tenant: TenantId, lane: LaneId, side: str) -> Lane | None:
    share = book.shares.find(tenant)
    return None if share is None else book.lane(share.no, lane, side)


def _effect(book: Book, tenant: TenantId, effect: EffectId) -> Sent:
    share = book.shares.find(tenant)
    sent = None if share is None else book.effect(share.no, effect)
    if sent is None:
        raise BadRequest(f"tenant {tenant} has no effect {effect}")
    return sent
