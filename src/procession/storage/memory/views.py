"""What an operator sees of the rows: the life of an event, a lane, an effect, in words."""

from datetime import datetime

from procession.core.effect import ENDED, EffectState
from procession.core.event import EventState
from procession.core.lane import Phase, Side
from procession.core.moments import clock_words
from procession.ports.console import AsideView, EffectView, EventView, LaneView, TryView
from procession.storage.memory.outlets import halt_view, outlets_of
from procession.storage.memory.rest import head_events, unplayed
from procession.storage.memory.rows import EffectRow, EventRow, LaneRow, Tables
from procession.storage.words import effect_waits, event_waits


def event_view(tables: Tables, event: EventRow) -> EventView:
    new = event.new
    row = tables.lanes[new.tenant, new.lane, Side.TURNS]
    turn = None if event.turn is None else tables.turns.get((new.tenant, event.turn))
    tries = tuple(turn.log) if turn is not None else ()
    if event.new.id in row.frozen and row.try_open and row.try_at is not None:
        tries += (TryView(number=row.tries, at=row.try_at, how="running", reason=""),)
    # An event that is to be replayed has no turn yet, but what its own turn flushed before is part of its life.
    own = new.id if new.id in row.replays else event.turn
    effects = [effect for effect in tables.effects.values() if effect.turn == own and effect.tenant == new.tenant]
    waits_for = _event_waits(tables, row, event)
    return EventView(
        id=new.id,
        tenant=new.tenant,
        channel=new.channel,
        provider_id=new.provider_id,
        kind=new.kind,
        lane=new.lane,
        lane_key=new.lane_key,
        seq=event.seq,
        state=event.state,
        late=event.late,
        accepted_at=event.accepted_at,
        ended_at=event.ended_at,
        reason=event.reason,
        turn=event.turn,
        tries=tries,
        effects=tuple(effect_view(tables, effect) for effect in sorted(effects, key=lambda effect: effect.oseq)),
        waits_for=waits_for,
        waits_since=event.accepted_at if waits_for else None,
    )


def _event_waits(tables: Tables, row: LaneRow, event: EventRow) -> str:
    if event.state is EventState.HELD:
        return f"its predecessor, until {clock_words(event.held_until)}"
    if event.state is not EventState.WAITING:
        return ""
    order = [waiting.new.id for waiting in unplayed(tables, row)]
    ahead = order.index(event.new.id)
    if event.new.id in {head.new.id for head in head_events(tables, row)}:
        ahead = 0
    return event_waits(
        ahead=ahead,
        phase=row.phase,
        wake_at=row.wake_at,
        worker=row.worker,
        reason=row.parked or "",
        deaths=row.deaths,
        merging=row.merging > 0,
    )


def effect_view(tables: Tables, effect: EffectRow) -> EffectView:
    row = tables.lanes[effect.tenant, effect.draft.lane, Side.SENDS]
    head = tables.head_effect(row)
    gated = head is not None and head.state is EffectState.CONFIRMED
    return EffectView(
        id=effect.draft.id,
        tenant=effect.tenant,
        channel=effect.draft.channel,
        lane=effect.draft.lane,
        oseq=effect.oseq,
        turn=effect.turn,
        key=effect.draft.key,
        action=effect.draft.action,
        state=effect.state,
        attempts=effect.attempts,
        receipt=effect.receipt,
        failed=effect.failed,
        ref=effect.ref,
        reason=effect.reason,
        asked_at=effect.asked_at,
        changed_at=effect.changed_at,
        waits_for=""
        if effect.state in ENDED
        else effect_waits(
            ahead=effect.oseq - row.cursor - 1,
            state=effect.state,
            phase=row.phase,
            wake_at=row.wake_at,
            doubt_until=effect.doubt_until,
            gate=None if not gated or head is None else (head.oseq, head.draft.terms.gate.receipt),
            reason=row.parked or "",
            holds=[halt_view(outlet) for outlet in outlets_of(tables, effect) if outlet.held_from is not None],
            place_at=effect.slot_at,
            pair_at=row.backoff_until,
            merging=row.merging > 0,
        ),
    )


def lane_view(tables: Tables, row: LaneRow) -> LaneView:
    return LaneView(
        tenant=row.tenant,
        lane=row.lane,
        lane_key=row.key,
        channel=row.channel,
        side=row.side,
        phase=row.phase,
        waiting=_waiting(tables, row),
        cursor=row.cursor,
        epoch=row.epoch,
        tries=row.tries,
        deaths=row.deaths,
        reason=row.parked or "",
        wake_at=None if row.phase in (Phase.READY, Phase.HELD, Phase.PARKED) else row.wake_at,
        paused_until=row.paused_until if row.paused else None,
        worker=row.worker,
        oldest_at=_oldest(tables, row),
        merged_into=row.merged_into,
    )


def _waiting(tables: Tables, row: LaneRow) -> int:
    if row.side is Side.TURNS:
        return len(unplayed(tables, row))
    return sum(1 for effect in _unfinished(tables, row))


def _oldest(tables: Tables, row: LaneRow) -> datetime | None:
    if row.side is Side.TURNS:
        return min((event.accepted_at for event in unplayed(tables, row)), default=None)
    return min((effect.asked_at for effect in _unfinished(tables, row)), default=None)


def _unfinished(tables: Tables, row: LaneRow) -> list[EffectRow]:
    places = range(row.cursor + 1, row.last + 1)
    effects = [tables.effects[row.tenant, tables.oplaces[row.tenant, row.lane, place]] for place in places]
    return [effect for effect in effects if effect.state not in ENDED]


def aside_view(tables: Tables, event: EventRow, *, with_payload: bool) -> AsideView:
    new = event.new
    turn = None if event.turn is None else tables.turns.get((new.tenant, event.turn))
    assert event.seq is not None
    assert event.ended_at is not None
    return AsideView(
        tenant=new.tenant,
        id=new.id,
        kind=new.kind,
        lane=new.lane,
        lane_key=new.lane_key,
        seq=event.seq,
        at=event.ended_at,
        tries=len(turn.log) if turn is not None else 0,
        reason=event.reason,
        payload=new.payload if with_payload else None,
    )


def is_shown(row: LaneRow, phase: Phase | None, side: Side | None) -> bool:
    wanted = row.phase is not Phase.IDLE if phase is None else row.phase is phase
    return wanted and side in (None, row.side)
