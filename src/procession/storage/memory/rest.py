"""Where a lane rests, and the counts that fairness keeps: every other file of this store leaves a lane through here."""

from datetime import datetime

from procession.core.effect import ENDED, EffectMove, EffectState, Receipt, RefusedPolicy, Repeatability, moved
from procession.core.event import LANE_MERGED, EventState, NewEvent, merged_payload
from procession.core.ids import WorkerId, merged_event_id
from procession.core.lane import LaneMove, Phase, RestingFacts, Side, check_move, resting
from procession.storage.memory.doubt import doubt_is_over, park_for_doubt
from procession.storage.memory.outlets import hold_ends
from procession.storage.memory.rows import FOREVER, NOBODY, EffectRow, EventRow, LaneRow, Tables


def rest(tables: Tables, row: LaneRow, move: LaneMove, now: datetime) -> None:
    """Put a lane that nobody holds (any more) where its facts say."""
    if row.paused and row.paused_until <= now:
        # Whoever gets here before the sweep does its work: nothing that the pause was to drop is ever READY.
        end_pause(tables, row, now)
    facts = _turn_facts(tables, row) if row.side is Side.TURNS else _send_facts(tables, row, now)
    phase, wake_at = resting(facts, now)
    pause_end = _pause_end(row)
    if pause_end is not None:
        # Also a lane that is parked, or whose head the pause lets pass, has to be looked at when the pause ends.
        wake_at = pause_end if wake_at is None else min(wake_at, pause_end)
    check_move(row.phase, move, phase)
    if move is LaneMove.MERGE and row.phase is phase is Phase.READY:
        # It keeps its place among the ready, as when an event comes.
        row.wake_at = wake_at
        return
    _leave(tables, row)
    row.worker, row.lease_until = NOBODY, None
    row.phase, row.wake_at = phase, wake_at
    if phase is Phase.READY:
        _enter_ready(tables, row, now)
    elif phase is Phase.IDLE and row.closing and not row.merging:
        _end_merge(tables, row, now)


def touch(tables: Tables, row: LaneRow, move: LaneMove, now: datetime) -> None:
    """Look anew at a lane that something was appended to, or that evidence came for; one that is held stays held."""
    if row.phase is Phase.HELD:
        check_move(row.phase, move, Phase.HELD)
    elif row.phase is Phase.READY and move is LaneMove.ACCEPT:
        # It keeps its place among the ready: an event that comes must not put its lane behind the others.
        check_move(row.phase, move, Phase.READY)
    elif row.phase in (Phase.PAUSED, Phase.PARKED) and move is LaneMove.ACCEPT:
        check_move(row.phase, move, row.phase)
    else:
        rest(tables, row, move, now)


def hold(tables: Tables, row: LaneRow, worker: WorkerId, until: datetime, move: LaneMove) -> None:
    """Make the lane the worker's, under a new epoch."""
    check_move(row.phase, move, Phase.HELD)
    _leave(tables, row)
    row.phase, row.worker, row.lease_until, row.wake_at = Phase.HELD, worker, until, None
    row.epoch += 1
    tables.tenant(row.tenant, row.side).held += 1


def end_pause(tables: Tables, row: LaneRow, now: datetime) -> None:
    """S4: what waited through the pause is dropped, unless it was to be kept. The caller puts the lane to rest."""
    keep, cover = row.pause_keep, row.pause_cover
    row.paused, row.paused_until, row.pause_cover, row.pause_keep = False, FOREVER, 0, False
    if row.side is Side.TURNS or keep:
        return
    for effect in tables.effects.values():
        mine = effect.tenant == row.tenant and effect.draft.lane == row.lane
        if mine and effect.state is EffectState.PENDING and not effect.unproven and effect.oseq > cover:
            effect.state, effect.changed_at = moved(effect.state, EffectMove.CANCEL), now
            effect.reason = "dropped at the end of a pause"


def end_pause_if_over(tables: Tables, row: LaneRow, now: datetime) -> None:
    """Before anything is asked for: what is asked for after the end of a pause is not what waited through it."""
    if not row.paused or row.paused_until > now:
        return
    if row.phase is Phase.HELD:
        end_pause(tables, row, now)
    else:
        rest(tables, row, LaneMove.RESUME, now)


def place(tables: Tables, row: LaneRow, event: EventRow, now: datetime) -> None:
    """The next seq of the lane."""
    row.last += 1
    event.seq, event.placed_at, event.held_until, event.state = row.last, now, None, EventState.WAITING
    tables.places[row.tenant, row.lane, row.last] = event.new.id


def tell_state(tables: Tables, row: LaneRow, now: datetime) -> None:
    """X4: an event brings a merged lane's state to the lane that goes on."""
    if row.state is None:
        return
    event_id = merged_event_id(row.tenant, row.lane)
    heir = tables.heir(row)
    new = NewEvent(
        tenant=row.tenant,
        channel=heir.channel,
        lane=heir.lane,
        lane_key=heir.key,
        id=event_id,
        provider_id=f"merged/{row.lane}",
        kind=LANE_MERGED,
        payload=merged_payload(row.key, row.state),
    )
    row.state = None
    event = tables.events[row.tenant, event_id] = EventRow(new=new, state=EventState.WAITING, accepted_at=now)
    place(tables, heir, event, now)
    touch(tables, heir, LaneMove.ACCEPT, now)


def _end_merge(tables: Tables, row: LaneRow, now: datetime) -> None:
    """X3: what it had open has ended, and the lane that goes on need not wait for it any more."""
    assert row.merged_into is not None
    row.closing = False
    if row.side is Side.TURNS:
        tell_state(tables, row, now)
    heir = tables.lanes[row.tenant, row.merged_into, row.side]
    heir.merging -= 1
    heir.burst = max(heir.burst, row.burst, key=lambda burst: burst.since)
    if row.parked is not None and (heir.parked is None or heir.parked_for is not None):
        # A doubt is looked at again when the lane is resumed; what an operator has to look at is known only here.
        heir.parked, heir.parked_for = row.parked, None
    row.parked = None
    row.paused, row.paused_until, row.pause_cover, row.pause_keep = False, FOREVER, 0, False
    row.wake_at = None
    if heir.phase is not Phase.HELD:
        rest(tables, heir, LaneMove.MERGE, now)


def _leave(tables: Tables, row: LaneRow) -> None:
    shares = tables.tenant(row.tenant, row.side)
    if row.phase is Phase.READY:
        shares.ready -= 1
    elif row.phase is Phase.HELD:
        shares.held -= 1


def _enter_ready(tables: Tables, row: LaneRow, now: datetime) -> None:
    shares = tables.tenant(row.tenant, row.side)
    if shares.ready == 0:
        # Whoever was idle starts at the present of virtual time: it has no claim on what it did not use (C2).
        shares.vtime = max(shares.vtime, tables.vclock[row.side])
    shares.ready += 1
    tables.ready_pos += 1
    row.ready_pos, row.ready_since = tables.ready_pos, now


# --- turns ---


def head_events(tables: Tables, row: LaneRow) -> tuple[EventRow, ...]:
    """The events of the turn that the lane's head is, were it claimed now."""
    if row.frozen:
        return tuple(tables.events[row.tenant, event] for event in row.frozen)
    if row.replays:
        return (tables.events[row.tenant, row.replays[0]],)
    run: list[EventRow] = []
    events_max = 1
    while len(run) < events_max:
        event = tables.places.get((row.tenant, row.lane, row.cursor + len(run) + 1))
        if event is None:
            break
        found = tables.events[row.tenant, event]
        if run and found.new.window is None:
            break
        run.append(found)
        if len(run) == 1 and found.new.window is not None:
            events_max = max(1, found.new.window.events_max)
    return tuple(run)


def _turn_facts(tables: Tables, row: LaneRow) -> RestingFacts:
    has_work = bool(row.frozen or row.replays or row.last > row.cursor)
    wake_at = row.backoff_until
    if wake_at is None and has_work and not row.frozen and not row.replays:
        wake_at = _window_end(head_events(tables, row))
    return RestingFacts(
        has_work=has_work,
        parked=row.parked is not None,
        pause_applies=row.paused,
        paused_until=_pause_end(row),
        wake_at=wake_at,
        merging=row.merging > 0,
    )


def _pause_end(row: LaneRow) -> datetime | None:
    """None: there is no pause, or an operator has to end it."""
    return row.paused_until if row.paused and row.paused_until < FOREVER else None


def _window_end(run: tuple[EventRow, ...]) -> datetime | None:
    """A6: when the window of the run at the lane's head is over. None: there is no window."""
    window, first = run[0].new.window, run[0].placed_at
    newest = run[-1]
    if window is None or newest.new.window is None or first is None or newest.placed_at is None:
        return None
    if len(run) >= window.events_max or any(event.new.window and event.new.window.flushes for event in run):
        return None
    return min(newest.placed_at + newest.new.window.quiet, first + window.wait_max)


def unplayed(tables: Tables, row: LaneRow) -> list[EventRow]:
    """Every event of the lane that has its place and has not ended, in the order in which they will be played."""
    found = [tables.events[row.tenant, event] for event in (*row.frozen, *row.replays) if event]
    for seq in range(row.cursor + 1, row.last + 1):
        event = tables.places[row.tenant, row.lane, seq]
        if event not in row.frozen:
            found.append(tables.events[row.tenant, event])
    return [event for event in found if event.state is EventState.WAITING]


# --- sends ---


def _send_facts(tables: Tables, row: LaneRow, now: datetime) -> RestingFacts:
    pass_ended(tables, row, now)
    head = tables.head_effect(row)
    return RestingFacts(
        has_work=head is not None,
        parked=row.parked is not None,
        pause_applies=row.paused and (head is None or head.oseq > row.pause_cover),
        paused_until=_pause_end(row),
        wake_at=None if head is None else _send_wake(tables, row, head, now),
        merging=row.merging > 0,
    )


def pass_ended(tables: Tables, row: LaneRow, now: datetime) -> None:
    """Move the cursor over effects that have ended and whose gate is open."""
    while (head := tables.head_effect(row)) is not None:
        if head.state is EffectState.DOUBT and head.doubt_until is not None and head.doubt_until <= now:
            # As with pauses: a doubt that is over is never READY to be probed.
            tables.doubts_ended[doubt_is_over(head, now)] += 1
        if head.state not in ENDED:
            break
        opens_at = gate_opens_at(head, now)
        if opens_at > now:
            break
        if head.state is EffectState.CONFIRMED and not gate_reached(head):
            head.gate_expired = True
        row.cursor += 1
        if head.state is EffectState.REFUSED and head.draft.terms.on_refused is RefusedPolicy.PARK:
            row.parked = row.parked or f"effect {head.draft.id} was refused: {head.reason}"
    if head is not None:
        park_for_doubt(row, head)


def gate_reached(effect: EffectRow) -> bool:
    return effect.failed or effect.receipt >= effect.draft.terms.gate.receipt


def gate_opens_at(effect: EffectRow, now: datetime) -> datetime:
    """When the effect behind this ended one may go. Only a confirmed one has a gate."""
    if effect.state is not EffectState.CONFIRMED or effect.confirmed_at is None:
        return now
    gate = effect.draft.terms.gate
    after = effect.confirmed_at + gate.gap
    wait = gate.wait_max if gate.unshown is None or not effect.unseen else min(gate.wait_max, gate.unshown)
    return after if gate_reached(effect) else max(after, effect.confirmed_at + wait)


def _send_wake(tables: Tables, row: LaneRow, head: EffectRow, now: datetime) -> datetime | None:
    if head.state is EffectState.PENDING:
        waits = (head.not_before, head.slot_at, row.backoff_until, hold_ends(tables, head, now))
        return max((moment for moment in waits if moment is not None), default=None)
    if head.state is EffectState.CONFIRMED:
        return gate_opens_at(head, now)
    if head.state is EffectState.DOUBT:
        if head.draft.terms.repeatability is Repeatability.PROBED and head.not_before is not None:
            return head.not_before
        return head.doubt_until
    return None


def climb(effect: EffectRow, receipt: Receipt, failed: bool) -> None:
    """S11: receipts go up the ladder and never down; failure is a flag beside it."""
    effect.receipt = max(effect.receipt, receipt)
    effect.failed = effect.failed or failed
