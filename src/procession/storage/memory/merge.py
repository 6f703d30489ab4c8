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
        for each in (*tables.family(row), *tables.family(heir)):
            if each.paused and each.paused_until <= now:
                end_pause(tables, each, now)
        row.merged_into, row.closing = heir.lane, True
        heir.merging += 1
    for (tenant, _, _), name in tables.names.items():
        if (tenant, name.lane) == (turns.tenant, turns.lane):
            name.lane = into.lane
    passes = any(each.paused and each.pause_cover > each.cursor for each in sides[1])
    _move_turns(tables, turns, into, now)
    _move_sends(tables, *sides[1])
    _move_reminders(tables, turns, into)
    for row, heir in sides:
        _share_pause(tables, row, heir, passes)
        for each in tables.family(heir):
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
    heir.order_last = max((last for last in (heir.order_last, row.order_last) if last is not None), default=None)
    heir.heard_at = max((heard for heard in (heir.heard_at, row.heard_at) if heard is not None), default=None)


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


def _share_pause(tables: Tables, row: LaneRow, heir: LaneRow, passes: bool) -> None:
    """X5. `passes`: there are effects that pass it, and so what is before them passes too."""
    paused = [each for each in (row, heir) if each.paused]
    until = max((each.paused_until for each in paused), default=None)
    if until is not None:
        keep = any(each.pause_keep for each in paused)
        for each in tables.family(heir):
            if not each.paused and each is not heir:
                each.pause_cover = each.last if passes else each.cursor
            each.paused, each.paused_until, each.pause_keep = True, until, keep


def _move_reminders(tables: Tables, row: LaneRow, heir: LaneRow) -> None:
    there = {name for tenant, lane, name in tables.reminders if (tenant, lane) == (heir.tenant, heir.lane)}
    # All of them anew: their order is the order in which they were asked for, and stays.
    known, tables.reminders = tables.reminders, {}
    for key, reminder in known.items():
        if key[:2] != (row.tenant, row.lane):
            tables.reminders[key] = reminder
        elif reminder.name not in there:
            moved = (heir.tenant, heir.lane, reminder.name)
            tables.generations[moved] = generation = tables.generations.get(moved, 0) + 1
            tables.reminders[moved] = replace(reminder, lane=heir.lane, lane_key=heir.key, generation=generation)
