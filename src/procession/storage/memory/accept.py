"""Accept: events get their places, sightings find their effects, the rest is quarantined (A1 to A12)."""

from dataclasses import replace
from datetime import datetime

from procession.core.effect import ENDED, EffectMove, EffectState, Receipt, moved
from procession.core.event import (
    Acceptance,
    EventState,
    Intake,
    NewEvent,
    Order,
    Ordering,
    Placement,
    Sighting,
    Stale,
)
from procession.core.lane import LaneMove, Side
from procession.storage.memory.hearing import hear
from procession.storage.memory.names import find_lane
from procession.storage.memory.outlets import confirm_at, show
from procession.storage.memory.rest import climb, place, touch
from procession.storage.memory.rows import EffectRow, EventRow, LaneRow, Tables


def accept(tables: Tables, intake: Intake, now: datetime) -> Acceptance:
    placements = tuple(accept_event(tables, new, now) for new in intake.events)
    for sighting in intake.sightings:
        apply_sighting(tables, sighting, now)
    for body in intake.quarantined:
        tables.quarantine.setdefault(body.id, (now, body))
    return Acceptance(placements=placements)


def accept_event(tables: Tables, new: NewEvent, now: datetime) -> Placement:
    if (new.tenant, new.id) in tables.events:
        tables.duplicates[new.tenant] = tables.duplicates.get(new.tenant, 0) + 1
        return Placement(event=new.id, fresh=False, seq=None)
    where = (new.tenant, new.channel, new.lane, new.lane_key)
    row = find_lane(tables, where, new.aliases, new.retires, Side.TURNS, now)
    there = replace(new, lane=row.lane, lane_key=row.key)
    event = EventRow(new=there, state=EventState.WAITING, accepted_at=now)
    tables.events[new.tenant, new.id] = event
    if new.order is None:
        place(tables, row, event, now)
    else:
        _resequence(tables, row, event, new.order, now)
    if event.seq is not None:
        touch(tables, row, LaneMove.ACCEPT, now)
    hear(tables, row, new, now)
    return Placement(event=new.id, fresh=True, seq=event.seq)


# --- resequencing (A3 to A5) ---


def _resequence(tables: Tables, row: LaneRow, event: EventRow, order: Order, now: datetime) -> None:
    if _is_stale(row, order):
        _place_stale(tables, row, event, order, now)
    elif _may_go(row, order):
        _release(tables, row, event, order, now)
        _release_followers(tables, row, now)
    else:
        event.state, event.held_until = EventState.HELD, now + order.window


def _is_stale(row: LaneRow, order: Order) -> bool:
    if order.by is Ordering.NUMBER:
        expected = _expected(row, order)
        return expected is not None and order.key < expected
    if row.order_last is None:
        return False
    return order.key <= row.order_last if order.by is Ordering.VERSION else order.key < row.order_last


def _may_go(row: LaneRow, order: Order) -> bool:
    if order.by is Ordering.NUMBER:
        return _expected(row, order) in (None, order.key)
    return not order.window


def _expected(row: LaneRow, order: Order) -> int | None:
    return order.first if row.order_last is None else row.order_last + 1


def _place_stale(tables: Tables, row: LaneRow, event: EventRow, order: Order, now: datetime) -> None:
    if order.stale is Stale.DROP:
        event.state, event.ended_at, event.held_until = EventState.DROPPED, now, None
        event.reason = f"stale: {order.by} {order.key} is not newer than {row.order_last}"
    else:
        event.late = True
        place(tables, row, event, now)


def _release(tables: Tables, row: LaneRow, event: EventRow, order: Order, now: datetime) -> None:
    row.order_last = order.key if row.order_last is None else max(row.order_last, order.key)
    place(tables, row, event, now)


def _release_followers(tables: Tables, row: LaneRow, now: datetime) -> None:
    """NUMBER: those that were held for exactly this one."""
    for event, order in held_in_order(tables, row):
        if order.by is not Ordering.NUMBER or order.key != _expected(row, order):
            return
        _release(tables, row, event, order, now)


def held_in_order(tables: Tables, row: LaneRow) -> list[tuple[EventRow, Order]]:
    """The lane's held events in the source's order; equal keys in the order of arrival."""
    held = [
        (event, event.new.order)
        for event in tables.events.values()
        if event.state is EventState.HELD
        and event.new.lane == row.lane
        and event.new.tenant == row.tenant
        and event.new.order is not None
    ]
    return sorted(held, key=lambda pair: pair[1].key)


def release_due(tables: Tables, row: LaneRow, now: datetime) -> int:
    """S6: windows that are over. With a due event go all that are before it in the source's order."""
    held = held_in_order(tables, row)
    due = [index for index, (event, _) in enumerate(held) if event.held_until is not None and event.held_until <= now]
    if not due:
        return 0
    for event, order in held[: due[-1] + 1]:
        if _is_stale(row, order):
            _place_stale(tables, row, event, order, now)
        else:
            _release(tables, row, event, order, now)
    _release_followers(tables, row, now)
    touch(tables, row, LaneMove.ACCEPT, now)
    return due[-1] + 1


# --- sightings (A8) ---


def apply_sighting(tables: Tables, sighting: Sighting, now: datetime) -> None:
    show(tables, sighting)
    effect = _find(tables, sighting)
    if effect is None:
        if sighting.ref is not None and sighting.effect is None:
            key = (sighting.tenant, sighting.channel, sighting.ref)
            tables.early.setdefault(key, []).append((now, sighting))
        return
    see(tables, effect, sighting, now)
    row = tables.lanes.get((effect.tenant, effect.draft.lane, Side.SENDS))
    if row is not None:
        if row.parked_for == effect.draft.id and effect.state is not EffectState.DOUBT:
            row.parked, row.parked_for = None, None
        if row.cursor < effect.oseq:
            touch(tables, row, LaneMove.SIGHT, now)


def see(tables: Tables, effect: EffectRow, sighting: Sighting, now: datetime) -> None:
    """What one sighting does to its effect, wherever its lane stands."""
    if effect.state not in ENDED:
        effect.state = moved(effect.state, EffectMove.SIGHT)
        confirm_at(tables, effect, now)
        effect.doubt_until, effect.not_before = None, None
    climb(effect, max(sighting.receipt, Receipt.ACCEPTED), sighting.failed)
    if sighting.failed and sighting.detail:
        effect.reason = sighting.detail
    effect.changed_at = now
    if sighting.ref is not None and effect.ref is None:
        name_ref(tables, effect, sighting.ref, now)


def name_ref(tables: Tables, effect: EffectRow, ref: str, now: datetime) -> None:
    """The provider's own id of it became known: sightings that came by it earlier find it now (D2)."""
    effect.ref = ref
    key = (effect.tenant, effect.draft.channel, ref)
    tables.refs.setdefault(key, effect.draft.id)
    for _, sighting in tables.early.pop(key, []):
        see(tables, effect, sighting, now)


def _find(tables: Tables, sighting: Sighting) -> EffectRow | None:
    effect_id = sighting.effect
    if effect_id is None and sighting.ref is not None:
        effect_id = tables.refs.get((sighting.tenant, sighting.channel, sighting.ref))
    if effect_id is None:
        return None
    effect = tables.effects.get((sighting.tenant, effect_id))
    return effect if effect is not None and effect.draft.channel == sighting.channel else None
