"""Sweep and prune: free what died, turn what is due into work, forget what is old (S1 to S7, P1, P2)."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from procession.core.effect import ENDED, DoubtPolicy, EffectState
from procession.core.errors import BadRequest
from procession.core.event import EventState, NewEvent
from procession.core.ids import reminder_event_id
from procession.core.lane import LaneMove, Phase, Side
from procession.core.limits import DEDUP_KEEP_MIN
from procession.ports.store import Pruned, Swept
from procession.storage.memory.accept import accept_event, release_due
from procession.storage.memory.claim import end_try
from procession.storage.memory.doubt import doubt_is_over, give_back
from procession.storage.memory.names import forget_retired
from procession.storage.memory.rest import rest
from procession.storage.memory.rows import EffectRow, LaneRow, ReminderRow, Tables

_ENDED_AS: Final = {
    DoubtPolicy.PARK: "doubts_parked",
    DoubtPolicy.RESEND: "doubts_resent",
    DoubtPolicy.SKIP: "doubts_skipped",
}


def sweep(tables: Tables, rows_max: int, now: datetime) -> Swept:
    done: Counter[str] = Counter()
    tables.doubts_ended.clear()
    _free_leases(tables, rows_max, now, done)
    _release_held(tables, rows_max, now, done)
    _remind(tables, rows_max, now, done)
    _end_doubts(tables, rows_max, now)
    _wake(tables, rows_max, now, done)
    done.update({_ENDED_AS[policy]: count for policy, count in tables.doubts_ended.items()})
    upcoming = min(_moments(tables), default=None)
    return Swept(
        **done,
        more=upcoming is not None and upcoming <= now,
        next_after=None if upcoming is None else max(upcoming - now, timedelta(0)),
    )


def _free_leases(tables: Tables, rows_max: int, now: datetime, done: Counter[str]) -> None:
    expired = [row for row in tables.lanes.values() if row.lease_until is not None and row.lease_until <= now]
    for row in expired[:rows_max]:
        done["leases_freed"] += 1
        if row.side is Side.TURNS:
            _die(tables, row, now)
            done["deaths"] += 1
        else:
            head = tables.head_effect(row)
            if head is not None and head.state is EffectState.ARMED:
                give_back(head, "its sender is gone", now)
                done["doubted"] += _in_doubt(head)
        rest(tables, row, LaneMove.SWEEP, now)


def _in_doubt(effect: EffectRow) -> bool:
    return effect.state is EffectState.DOUBT


def _die(tables: Tables, row: LaneRow, now: datetime) -> None:
    alone = row.try_alone
    end_try(tables, row, "died alone" if alone else "died", "its process ended, or its lease ran out", now)
    row.deaths += 1
    row.deaths_alone += alone


def _release_held(tables: Tables, rows_max: int, now: datetime, done: Counter[str]) -> None:
    lanes = [row for row in tables.lanes.values() if row.side is Side.TURNS]
    for row in lanes:
        if done["released"] < rows_max:
            done["released"] += release_due(tables, row, now)


def _remind(tables: Tables, rows_max: int, now: datetime, done: Counter[str]) -> None:
    due = sorted((row for row in tables.reminders.values() if row.due_at <= now), key=lambda row: row.due_at)
    for reminder in due[:rows_max]:
        del tables.reminders[reminder.tenant, reminder.lane, reminder.name]
        accept_event(tables, _event_of(reminder), now)
        done["reminded"] += 1


def _event_of(reminder: ReminderRow) -> NewEvent:
    generation = str(reminder.generation)
    return NewEvent(
        tenant=reminder.tenant,
        channel=reminder.channel,
        lane=reminder.lane,
        lane_key=reminder.lane_key,
        id=reminder_event_id(reminder.tenant, reminder.lane, reminder.name, reminder.generation),
        provider_id=f"reminder/{reminder.name}/{generation}",
        kind=f"reminder.{reminder.name}",
        payload=reminder.payload,
    )


def _end_doubts(tables: Tables, rows_max: int, now: datetime) -> None:
    due = [
        effect
        for effect in tables.effects.values()
        if effect.state is EffectState.DOUBT and effect.doubt_until is not None and effect.doubt_until <= now
    ]
    for effect in due[:rows_max]:
        row = tables.lanes[effect.tenant, effect.draft.lane, Side.SENDS]
        if row.phase is Phase.HELD or effect.state is not EffectState.DOUBT or effect.doubt_until is None:
            continue  # looking at one before it in its conversation may have ended it
        tables.doubts_ended[doubt_is_over(effect, now)] += 1
        rest(tables, row, LaneMove.RESOLVE, now)


def _wake(tables: Tables, rows_max: int, now: datetime, done: Counter[str]) -> None:
    due = [row for row in tables.lanes.values() if row.wake_at is not None and row.wake_at <= now]
    for row in due[:rows_max]:
        if row.wake_at is None or row.wake_at > now:
            continue  # the end of a lane that was merged into it has woken it
        head = tables.head_effect(row) if row.side is Side.SENDS else None
        # A pause that is over is resumed, by itself: also that of a lane with nothing in it.
        resumed = row.paused or row.phase is Phase.IDLE
        rest(tables, row, LaneMove.RESUME if resumed else LaneMove.SWEEP, now)
        done["woken"] += row.phase is Phase.READY
        done["gates_expired"] += head is not None and head.gate_expired


def _moments(tables: Tables) -> Iterator[datetime]:
    """Everything that will come due."""
    for row in tables.lanes.values():
        yield from (moment for moment in (row.lease_until, row.wake_at) if moment is not None)
    for effect in tables.effects.values():
        held = tables.lanes[effect.tenant, effect.draft.lane, Side.SENDS].phase is Phase.HELD
        if effect.state is EffectState.DOUBT and effect.doubt_until is not None and not held:
            yield effect.doubt_until
    yield from (reminder.due_at for reminder in tables.reminders.values())
    yield from (event.held_until for event in tables.events.values() if event.held_until is not None)


def prune(tables: Tables, keep: timedelta, rows_max: int, now: datetime) -> Pruned:
    if keep < DEDUP_KEEP_MIN:
        raise BadRequest(f"keep must be at least {DEDUP_KEEP_MIN}: providers repeat deliveries for up to seven days")
    horizon = now - keep
    old = [
        key
        for key, event in tables.events.items()
        if event.state in (EventState.DONE, EventState.DROPPED, EventState.SKIPPED)
        and event.ended_at is not None
        and event.ended_at <= horizon
    ]
    for key in old[:rows_max]:
        event = tables.events.pop(key)
        tables.forgotten.update([(event.new.tenant, "accepted"), (event.new.tenant, event.state.value)])
        tables.turns.pop(key, None)
        tables.steps.pop(key, None)
        if event.seq is not None:
            tables.places.pop((event.new.tenant, event.new.lane, event.seq), None)
    ended = [
        key
        for key, effect in tables.effects.items()
        if effect.state in ENDED
        and effect.changed_at <= horizon
        and tables.lanes[effect.tenant, effect.draft.lane, Side.SENDS].cursor >= effect.oseq
        # A turn that may be tried once more finds what it has flushed, and does not send it again.
        and (effect.tenant, effect.turn) not in tables.events
    ]
    for effect_key in ended[:rows_max]:
        effect = tables.effects.pop(effect_key)
        tables.forgotten[effect.tenant, f"effects_{effect.state}"] += 1
        tables.forgotten[effect.tenant, "effects_resent"] += effect.resends
        tables.forgotten[effect.tenant, "gates_expired"] += effect.gate_expired
        tables.oplaces.pop((effect.tenant, effect.draft.lane, effect.oseq), None)
        if effect.ref is not None:
            tables.refs.pop((effect.tenant, effect.draft.channel, effect.ref), None)
    early = [ref for ref, seen in tables.early.items() if max(at for at, _ in seen) <= horizon]
    for ref in early[:rows_max]:
        del tables.early[ref]
    found = (len(old), len(ended), len(early), forget_retired(tables, rows_max, now))
    return Pruned(rows=sum(min(each, rows_max) for each in found), more=max(found) > rows_max)
