"""Remember and settle: what a turn leaves behind (M1, M2, T1 to T11)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import assert_never

from procession.core.effect import EffectDraft, EffectMove, EffectState, moved
from procession.core.errors import SqlFailed
from procession.core.event import EventState
from procession.core.ids import EventId, TenantId
from procession.core.lane import LaneMove, Lease, PauseDraft, Phase, Side
from procession.core.turn import Advance, Delay, HeldTurn, Park, SetAside, Settled, Settlement, Step
from procession.core.verdict import Fate
from procession.storage.memory.claim import end_try, fenced, held_turn, may_keep, open_turn
from procession.storage.memory.names import find_lane
from procession.storage.memory.rest import end_pause_if_over, hold, rest, touch
from procession.storage.memory.rows import EffectRow, LaneRow, ReminderRow, Tables, plus


def remember(
    tables: Tables, lease: Lease, turn: EventId, steps: Sequence[Step], flush: Sequence[EffectDraft], now: datetime
) -> Fate:
    row = fenced(tables, lease)
    if row is None or not row.frozen or row.frozen[0] != turn:
        return Fate.LOST
    kept = tables.steps.setdefault((row.tenant, turn), {})
    for step in steps:
        kept.setdefault((step.name, step.occurrence), step.value)
    append_effects(tables, row.tenant, turn, flush, now)
    return Fate.KEPT


def settle(tables: Tables, settlement: Settlement, now: datetime) -> Settled:
    lease = settlement.lease
    row = tables.lanes.get((lease.tenant, lease.lane, lease.side))
    if row is not None and _kept_already(tables, row, settlement):
        return Settled(fate=Fate.KEPT, next=_next_of_kept(tables, row, settlement))
    row = fenced(tables, lease)
    if row is None or not row.frozen or row.frozen[0] != settlement.turn:
        return Settled(fate=Fate.LOST)
    if settlement.sql and isinstance(settlement.outcome, Advance):
        raise SqlFailed("this store keeps no SQL tables: turn.sql needs SQLite or Postgres")
    worker = row.worker
    until = None if settlement.keep_for is None else now + settlement.keep_for
    _end(tables, row, settlement, now)
    row.settled_epoch, row.settled_turn, row.kept_on = lease.epoch, settlement.turn, False
    row.deaths = row.deaths_alone = 0
    rest(tables, row, LaneMove.SETTLE, now)
    if until is not None and row.phase is Phase.READY and row.deaths == 0 and may_keep(tables, row):
        hold(tables, row, worker, until, LaneMove.CLAIM)
        row.kept_on = True
        return Settled(fate=Fate.KEPT, next=open_turn(tables, row, alone=False, now=now))
    return Settled(fate=Fate.KEPT)


def _kept_already(tables: Tables, row: LaneRow, settlement: Settlement) -> bool:
    lease = settlement.lease
    return lease.era == tables.era and row.settled_epoch == lease.epoch and row.settled_turn == settlement.turn


def _next_of_kept(tables: Tables, row: LaneRow, settlement: Settlement) -> HeldTurn | None:
    still_ours = row.phase is Phase.HELD and row.kept_on and row.epoch == settlement.lease.epoch + 1
    return held_turn(tables, row) if still_ours else None


def _end(tables: Tables, row: LaneRow, settlement: Settlement, now: datetime) -> None:
    match settlement.outcome:
        case Advance():
            _advance(tables, row, settlement, now)
        case Delay() as delay:
            end_try(tables, row, "delayed", delay.reason, now)
            row.backoff_until = now + delay.after
            row.tries -= row.deaths + (0 if delay.counts else 1)
        case Park() as park:
            end_try(tables, row, "parked", park.reason, now)
            row.parked = park.reason
        case SetAside() as aside:
            end_try(tables, row, "set aside", aside.reason, now)
            _pass_turn(tables, row, EventState.SET_ASIDE, aside.reason, now)
        case _ as never:
            assert_never(never)


def _advance(tables: Tables, row: LaneRow, settlement: Settlement, now: datetime) -> None:
    turn = settlement.turn
    tables.steps.pop((row.tenant, turn), None)
    if settlement.state is not None:
        row.state = settlement.state
    _pass_turn(tables, row, EventState.DONE, "", now)
    append_effects(tables, row.tenant, turn, settlement.effects, now)
    for effect_id in settlement.cancel_effects:
        effect = tables.effects.get((row.tenant, effect_id))
        if effect is not None and effect.state is EffectState.PENDING and not effect.unproven:
            cancel(tables, effect, "cancelled by its handler", now)
    heir = tables.heir(row)
    for name in settlement.cancel_reminders:
        tables.reminders.pop((heir.tenant, heir.lane, name), None)
    _set_reminders(tables, heir, settlement, now)
    if settlement.pause is not None:
        _pause_after(tables, heir, row, settlement.pause, now)


def _pass_turn(tables: Tables, row: LaneRow, state: EventState, reason: str, now: datetime) -> None:
    """The cursor passes the turn's events; those of a replay lie behind it already."""
    tables.turns[row.tenant, row.frozen[0]].ended_at = now
    for event_id in row.frozen:
        event = tables.events[row.tenant, event_id]
        event.state, event.ended_at, event.reason = state, now, reason
        assert event.seq is not None
        row.cursor = max(row.cursor, event.seq)
    row.frozen, row.backoff_until = (), None
    row.tries = row.deaths = row.deaths_alone = 0


def pass_turn(tables: Tables, row: LaneRow, state: EventState, reason: str, now: datetime) -> None:
    """The same for an operator's skip."""
    _pass_turn(tables, row, state, reason, now)


def append_effects(
    tables: Tables, tenant: TenantId, turn: EventId, drafts: Sequence[EffectDraft], now: datetime
) -> None:
    """T3: each new effect takes its conversation's next place; one that is there already is left as it is."""
    for draft in drafts:
        if (tenant, draft.id) in tables.effects:
            continue
        where = (tenant, draft.channel, draft.lane, draft.lane_key)
        row = find_lane(tables, where, draft.aliases, (), Side.SENDS, now)
        there = replace(draft, lane=row.lane, lane_key=row.key)
        end_pause_if_over(tables, row, now)
        row.last += 1
        tables.effects[tenant, draft.id] = EffectRow(
            tenant=tenant, draft=there, turn=turn, oseq=row.last, asked_at=now, changed_at=now
        )
        tables.oplaces[tenant, row.lane, row.last] = draft.id
        touch(tables, row, LaneMove.ACCEPT, now)


def cancel(tables: Tables, effect: EffectRow, reason: str, now: datetime) -> None:
    """A pending effect that is not wanted any more; if it was its lane's head, the lane goes on."""
    effect.state, effect.reason, effect.changed_at = moved(effect.state, EffectMove.CANCEL), reason, now
    row = tables.lanes[effect.tenant, effect.draft.lane, Side.SENDS]
    if row.cursor < effect.oseq and row.phase not in (Phase.HELD, Phase.IDLE):
        rest(tables, row, LaneMove.RESOLVE, now)


def _set_reminders(tables: Tables, row: LaneRow, settlement: Settlement, now: datetime) -> None:
    for draft in settlement.reminders:
        key = (row.tenant, row.lane, draft.name)
        tables.generations[key] = tables.generations.get(key, 0) + 1
        tables.reminders.pop(key, None)  # it stands where it is asked for last, for those that are due at one moment
        tables.reminders[key] = ReminderRow(
            tenant=row.tenant,
            lane=row.lane,
            lane_key=row.key,
            channel=row.channel,
            name=draft.name,
            generation=tables.generations[key],
            due_at=now + draft.after,
            payload=draft.payload,
        )


def _pause_after(tables: Tables, turns: LaneRow, settled: LaneRow, pause: PauseDraft, now: datetime) -> None:
    """T10: what this turn and those before it asked for still goes. The lane that is settled is put to rest later."""
    for side in tables.both_families(turns):
        side.paused, side.paused_until, side.pause_keep = True, plus(now, pause.duration), pause.keep_effects
        side.pause_cover = side.last
        if side is not settled and side.phase is not Phase.HELD:
            rest(tables, side, LaneMove.PAUSE, now)
