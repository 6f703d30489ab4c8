"""Begin and record: the two writes around each outward action (B1 to B5, D1 to D11)."""

from datetime import datetime, timedelta
from typing import Final, assert_never

from procession.core.effect import EFFECT_TABLE, ENDED, EffectMove, EffectState, moved
from procession.core.errors import BadRequest
from procession.core.ids import EffectId
from procession.core.lane import LaneMove, Lease, Phase, Side
from procession.core.pace import Pace
from procession.core.turn import Began, HeldEffect, NotBegun, Recorded
from procession.core.verdict import Absent, Confirmed, Deferred, Fate, Halted, Refused, Scope, Uncertain, Verdict
from procession.storage.memory.accept import name_ref
from procession.storage.memory.claim import fenced, held_effect
from procession.storage.memory.doubt import become_uncertain, end_unsent
from procession.storage.memory.outlets import confirm_at, hold_back, holder, reason_of, too_early
from procession.storage.memory.rest import climb, hold, rest
from procession.storage.memory.rows import EffectRow, LaneRow, Tables


def begin(
    tables: Tables, lease: Lease, effect_id: EffectId, attempt: int, pace: Pace | None, now: datetime
) -> Began | NotBegun:
    row = fenced(tables, lease)
    effect = tables.effects.get((lease.tenant, effect_id))
    if row is None or effect is None or effect.draft.lane != row.lane or lease.side is not Side.SENDS:
        return NotBegun(fate=Fate.LOST, reason="another holds the lane")
    if effect.state is EffectState.ARMED and effect.attempts == attempt and effect.armed_epoch == lease.epoch:
        return Began(attempt=attempt)
    reason = _why_not(tables, row, effect, attempt, now)
    if reason is None and pace is not None:
        reason = too_early(tables, row, effect, pace, now)
    if reason is not None:
        rest(tables, row, LaneMove.RELEASE, now)
        return NotBegun(fate=Fate.KEPT, reason=reason)
    effect.state, effect.changed_at = moved(effect.state, EffectMove.ARM), now
    effect.attempts, effect.tries, effect.armed_epoch = attempt, effect.tries + 1, lease.epoch
    effect.not_before, effect.slot_at, effect.reason = None, None, ""
    row.backoff_until = None
    return Began(attempt=attempt)


def _why_not(tables: Tables, row: LaneRow, effect: EffectRow, attempt: int, now: datetime) -> str | None:
    if effect.state is not EffectState.PENDING:
        return f"it is {effect.state} already"
    if tables.sending_paused:
        return "sending is paused"
    if effect.oseq != row.cursor + 1 or effect.attempts + 1 != attempt:
        return "it is not the head any more"
    if row.paused and row.paused_until > now and effect.oseq > row.pause_cover:
        return "the conversation is paused"
    late = _too_late(tables, row, effect, now)
    if late is not None:
        end_unsent(effect, late, now)
        return late
    held = holder(tables, effect, now)
    return None if held is None else f"it is held back: {held.held_reason}"


def _too_late(tables: Tables, row: LaneRow, effect: EffectRow, now: datetime) -> str | None:
    """B3."""
    terms, about_at = effect.draft.terms, effect.draft.about_at
    since = effect.asked_at if about_at is None else min(about_at, effect.asked_at)
    if now - since > terms.answer_within:
        return "too old"
    if terms.window is not None:
        turns = tables.lanes.get((row.tenant, row.lane, Side.TURNS))
        heard_at = None if turns is None else tables.heir(turns).heard_at
        if heard_at is None or now - heard_at > terms.window:
            return "the window is closed"
    return None


def record(
    tables: Tables,
    lease: Lease,
    effect_id: EffectId,
    attempt: int,
    verdict: Verdict,
    ttl: timedelta | None,
    now: datetime,
) -> Recorded:
    if _kept_already(tables, lease, effect_id, attempt):
        return Recorded(fate=Fate.KEPT, next=_next_of_kept(tables, lease))
    row = fenced(tables, lease)
    effect = tables.effects.get((lease.tenant, effect_id))
    if row is None or effect is None or effect.draft.lane != row.lane or lease.side is not Side.SENDS:
        return Recorded(fate=Fate.LOST)
    if effect.attempts != attempt or effect.oseq != row.cursor + 1:
        return Recorded(fate=Fate.LOST)
    _judge(tables, row, effect, verdict, now)
    effect.changed_at = now
    worker = row.worker
    row.settled_epoch, row.settled_send, row.kept_on = lease.epoch, (effect_id, attempt), False
    rest(tables, row, LaneMove.SETTLE, now)
    if ttl is not None and row.phase is Phase.READY and not tables.sending_paused:
        hold(tables, row, worker, now + ttl, LaneMove.CLAIM)
        row.kept_on = True
        return Recorded(fate=Fate.KEPT, next=held_effect(tables, row))
    return Recorded(fate=Fate.KEPT)


def _kept_already(tables: Tables, lease: Lease, effect: EffectId, attempt: int) -> bool:
    """A repeat by the same caller: its epoch is the one that the lane's newest record came under."""
    row = tables.lanes.get((lease.tenant, lease.lane, lease.side))
    return (
        row is not None
        and lease.era == tables.era
        and row.settled_epoch == lease.epoch
        and row.settled_send == (effect, attempt)
    )


def _next_of_kept(tables: Tables, lease: Lease) -> HeldEffect | None:
    row = tables.lanes[lease.tenant, lease.lane, lease.side]
    still_ours = row.phase is Phase.HELD and row.kept_on and row.epoch == lease.epoch + 1
    return held_effect(tables, row) if still_ours else None


_MOVES: Final[dict[type[Verdict], EffectMove]] = {
    Confirmed: EffectMove.CONFIRM,
    Deferred: EffectMove.DEFER,
    Halted: EffectMove.DEFER,
    Refused: EffectMove.REFUSE,
    Uncertain: EffectMove.DOUBT,
    Absent: EffectMove.ABSENT,
}


def _judge(tables: Tables, row: LaneRow, effect: EffectRow, verdict: Verdict, now: datetime) -> None:
    if effect.state in ENDED:
        _add(tables, effect, verdict, now)
        return
    if (effect.state, _MOVES[type(verdict)]) not in EFFECT_TABLE:
        raise BadRequest(f"an effect that is {effect.state} cannot be recorded as {type(verdict).__name__}")
    match verdict:
        case Confirmed():
            effect.state = moved(effect.state, EffectMove.CONFIRM)
            effect.doubt_until = None
            confirm_at(tables, effect, now)
            _confirm(tables, effect, verdict, now)
        case Deferred():
            effect.state = moved(effect.state, EffectMove.DEFER)
            _defer(effect, verdict, now)
            hold_back(tables, effect, verdict, now)
        case Halted():
            effect.state = moved(effect.state, EffectMove.DEFER)
            _halt(tables, row, effect, verdict, now)
        case Refused():
            end_unsent(effect, f"{verdict.code}: {verdict.reason}" if verdict.code else verdict.reason, now)
        case Uncertain():
            become_uncertain(effect, verdict.reason, verdict.after, now)
        case Absent():
            effect.state = moved(effect.state, EffectMove.ABSENT)
            effect.doubt_until, effect.not_before, effect.reason = None, None, verdict.reason
        case _ as never:
            assert_never(never)


def _add(tables: Tables, effect: EffectRow, verdict: Verdict, now: datetime) -> None:
    """A sighting was quicker: it stands, and the call's own answer can only add what the provider calls it, and what it
    says about others.
    """
    if isinstance(verdict, Confirmed):
        _confirm(tables, effect, verdict, now)
    elif isinstance(verdict, Deferred | Halted):
        hold_back(tables, effect, verdict, now)


def _confirm(tables: Tables, effect: EffectRow, verdict: Confirmed, now: datetime) -> None:
    climb(effect, verdict.receipt, failed=False)
    if verdict.ref is not None and effect.ref is None:
        name_ref(tables, effect, verdict.ref, now)


def _halt(tables: Tables, row: LaneRow, effect: EffectRow, verdict: Halted, now: datetime) -> None:
    effect.reason, effect.not_before = reason_of(verdict), None
    effect.tries -= 1
    if verdict.scope is Scope.CONVERSATION:
        row.parked = row.parked or f"effect {effect.draft.id} is held back: {effect.reason}"
    hold_back(tables, effect, verdict, now)


def _defer(effect: EffectRow, verdict: Deferred, now: datetime) -> None:
    effect.reason, effect.not_before = verdict.reason, now + verdict.after
    if not verdict.counts:
        effect.tries -= 1
    elif effect.tries >= effect.draft.terms.tries_max:
        end_unsent(effect, f"tries used up: {verdict.reason}", now)
