"""Merge: two lanes turn out to be one subject's, and one of them goes on (X1 to X6)."""

from dataclasses import replace
from datetime import datetime

from procession.core.effect import EffectState
from procession.core.event import EventState
from procession.core.lane import LaneMove, Phase, Side
from procession.storage.memory.rest import end_pause, place, rest, tell_state
from procession.storage.memory.rows import EventRow, LaneRow, Tables


def merge(tables: Tables, turns: LaneRow, into: LaneRow, now: datetime) -> None:
    """The lane of `turns` goes on in that of `into`; both are given by their TURNS side."""
    sides = [
        (
            tables.lane(turns.tenant, turns.lane, side, turns.key, turns.channel),
            tables.lane(into.tenant, into.lane, side, into.key, into.channel),
        )
        for side in Side
    ]
    for row, heir in sides:
        for each in (row, heir):
            if each.paused and each.paused_until <= now:
                end_pause(tables, each, now)
        row.merged_into, row.closing = heir.lane, True
        heir.merging += 1
    for name in tables.names.values():
        if name.lane == turns.lane:
            name.lane = into.lane
    _move_turns(tables, turns, into, now)
    _move_sends(tables, *sides[1])
    _move_reminders(tables, turns, into)
    for row, heir in sides:
        _inherit_pause(row, heir)
        if row.parked is not None and not _is_open(tables, row):
            heir.parked, row.parked = heir.parked or row.parked, None
        for each in (row, heir):
            if each.phase is not Phase.HELD:
                rest(tables, each, LaneMove.MERGE, now)


def move_replay(tables: Tables, event: EventRow, heir: LaneRow, now: datetime) -> None:
    """A set-aside event of a merged lane is played once more, where its subject's events are by now."""
    assert event.seq is not None
    del tables.places[event.new.tenant, event.new.lane, event.seq]
    # Alone: as a part of another turn it would not find what its own has flushed.
    event.new = replace(event.new, lane=heir.lane, lane_key=heir.key, window=None)
    event.late = True
    place(tables, heir, event, now)


def _is_open(tables: Tables, row: LaneRow) -> bool:
    return bool(row.frozen) if row.side is Side.TURNS else tables.head_effect(row) is not None


def _move_turns(tables: Tables, row: LaneRow, heir: LaneRow, now: datetime) -> None:
    if not row.frozen:
        tell_state(tables, row, now)
    for event_id in row.replays:
        move_replay(tables, tables.events[row.tenant, event_id], heir, now)
    row.replays = []
    stays = max([row.cursor, *(tables.events[row.tenant, event].seq or 0 for event in row.frozen)])
    for seq in range(stays + 1, row.last + 1):
        event = tables.events[row.tenant, tables.places.pop((row.tenant, row.lane, seq))]
        heir.last += 1
        event.seq = heir.last
        event.new = replace(event.new, lane=heir.lane, lane_key=heir.key)
        tables.places[heir.tenant, heir.lane, heir.last] = event.new.id
    row.last = stays
    for event in tables.events.values():
        if event.state is EventState.HELD and (event.new.tenant, event.new.lane) == (row.tenant, row.lane):
            event.new = replace(event.new, lane=heir.lane, lane_key=heir.key)
    heir.order_last = row.order_last if heir.order_last is None else heir.order_last
    if row.heard_at is not None:
        heir.heard_at = row.heard_at if heir.heard_at is None else max(heir.heard_at, row.heard_at)


def _move_sends(tables: Tables, row: LaneRow, heir: LaneRow) -> None:
    head = tables.head_effect(row)
    begun = head is not None and (head.attempts > 0 or head.state is not EffectState.PENDING)
    stays = row.cursor + 1 if head is not None and (begun or row.phase is Phase.HELD) else row.cursor
    passing = heir.cursor
    for oseq in range(stays + 1, row.last + 1):
        effect = tables.effects[row.tenant, tables.oplaces.pop((row.tenant, row.lane, oseq))]
        heir.last += 1
        effect.oseq = heir.last
        effect.draft = replace(effect.draft, lane=heir.lane, lane_key=heir.key)
        tables.oplaces[heir.tenant, heir.lane, heir.last] = effect.draft.id
        if oseq <= row.pause_cover:
            passing = heir.last
    row.last = stays
    if row.paused and not heir.paused:
        heir.pause_cover = passing
    heir.burst = max(heir.burst, row.burst, key=lambda burst: burst.since)


def _inherit_pause(row: LaneRow, heir: LaneRow) -> None:
    """X5."""
    if row.paused and (not heir.paused or row.paused_until > heir.paused_until):
        heir.pause_keep = row.pause_keep or (heir.paused and heir.pause_keep)
        heir.paused, heir.paused_until = True, row.paused_until


def _move_reminders(tables: Tables, row: LaneRow, heir: LaneRow) -> None:
    for key in [key for key in tables.reminders if key[:2] == (row.tenant, row.lane)]:
        reminder = tables.reminders.pop(key)
        moved = (heir.tenant, heir.lane, reminder.name)
        if moved in tables.reminders:
            continue
        tables.generations[moved] = generation = tables.generations.get(moved, 0) + 1
        tables.reminders[moved] = replace(reminder, lane=heir.lane, lane_key=heir.key, generation=generation)
