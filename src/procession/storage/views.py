"""What operators see, read from one snapshot."""

from typing import Any

from procession.core.effect import ENDED, EffectState, Receipt
from procession.core.event import EventState
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, TenantId, event_id
from procession.core.lane import Phase, Side
from procession.core.moments import NO_END, clock_words
from procession.ports.console import (
    Counts,
    EffectView,
    EventView,
    HaltView,
    LaneView,
    TryView,
)
from procession.storage.event_row import EventRow
from procession.storage.instants import FOREVER, moment, moment_or_none
from procession.storage.rows import Rows
from procession.storage.words import effect_waits, event_waits


def tenant_no(rows: Rows, tenant: TenantId | None) -> int | None:
    """The tenant's number; -1, which nothing has, for one that the store does not know."""
    if tenant is None:
        return None
    row = rows.execute("console.tenant", (tenant,)).fetchone()
    return -1 if row is None else int(row[0])


def counts(rows: Rows, tenant: TenantId | None) -> Counts:
    asked_for = {"tenant": tenant_no(rows, tenant)}
    tally = rows.execute("console.tally", asked_for).fetchone()
    accepted, duplicates, dropped, placed, done, set_aside, replayed, skipped, lanes = tally[:9]
    asked, confirmed, refused, cancelled, effects_skipped, resent, gates_expired = tally[9:]
    held, doubts, parked, paused, armed, quarantined = rows.execute("console.standing", asked_for).fetchone()
    return Counts(
        accepted=accepted,
        waiting=placed + replayed - done - set_aside - skipped,
        held=held,
        done=done,
        set_aside=set_aside - replayed,
        dropped=dropped,
        quarantined=quarantined,
        lanes=lanes,
        lanes_parked=parked,
        lanes_paused=paused,
        effects_pending=asked - confirmed - refused - cancelled - effects_skipped - doubts - armed,
        effects_confirmed=confirmed,
        effects_refused=refused,
        effects_in_doubt=doubts,
        effects_resent=resent,
        effects_skipped=effects_skipped,
        gates_expired=gates_expired,
        duplicates=duplicates,
    )


# --- events ---


def why(rows: Rows, what: str, tenant: TenantId | None) -> tuple[EventView, ...]:
    """By event, provider's id, effect, or provider's reference; each found by a key, never by a scan of events. A turn
    is called by its first event, which is what is shown for it.
    """
    wanted: dict[tuple[int, str], None] = {}
    places = rows.execute("console.places", {"tenant": tenant}).fetchall()
    for no, name, channel in places:
        wanted[no, what] = None
        wanted[no, event_id(TenantId(name), ChannelName(channel), what)] = None
        for turn in rows.execute("console.turns_of_ref", (no, channel, what)):
            wanted[no, turn[0]] = None
    for no, turn in rows.execute("console.turns_of_effect", {"id": what, "tenant": tenant}).fetchall():
        wanted[no, turn] = None
    views = (event_view(rows, no, event) for no, event in wanted)
    return tuple(view for view in views if view is not None)


def event_view(rows: Rows, tenant: int, event: str) -> EventView | None:
    found = rows.execute("console.event", (tenant, event)).fetchone()
    if found is None:
        return None
    row = EventRow.of(found)
    state = row.shown_state
    turn, ended_at = _turn_of(rows, row, state)
    waits_for = _event_waits(rows, row, state)
    return EventView(
        id=EventId(row.id),
        tenant=TenantId(row.tenant_name),
        channel=ChannelName(row.channel),
        provider_id=row.provider_id,
        kind=row.kind,
        lane=LaneId(row.lane_name),
        lane_key=row.lane_key,
        seq=row.seq,
        state=state,
        late=bool(row.late),
        accepted_at=moment(row.accepted_at),
        ended_at=moment_or_none(ended_at),
        reason=row.reason or "",
        turn=None if turn is None else EventId(turn),
        tries=_tries(rows, row, turn),
        effects=_effects(rows, row, turn),
        waits_for=waits_for,
        waits_since=moment(row.accepted_at) if waits_for else None,
    )


def _effects(rows: Rows, row: EventRow, turn: str | None) -> tuple[EffectView, ...]:
    # An event that is to be replayed has no turn yet, but what its own turn flushed before is part of its life.
    own = row.id if row.state == "replaying" and turn is None else turn
    return () if own is None else effects_of(rows, row.tenant, own)


def _turn_of(rows: Rows, row: EventRow, state: EventState) -> tuple[str | None, int | None]:
    """The event's turn, once it was claimed; and when the event ended."""
    if row.in_open_turn:
        return row.lane_turn, None
    if state is EventState.DONE:
        found = rows.execute("console.turn_of_seq", (row.tenant, row.lane, row.seq, row.seq)).fetchone()
        return (None, None) if found is None else found
    return (None, None) if row.state == "replaying" else (row.turn, row.ended_at)


def _tries(rows: Rows, row: EventRow, turn: str | None) -> tuple[TryView, ...]:
    if turn is None:
        return ()
    tries = [
        TryView(number=number, at=moment(at), how=how, reason=reason)
        for number, at, how, reason in rows.execute("console.tries", (row.tenant, turn))
    ]
    if row.in_open_turn and row.try_open and row.try_at is not None:
        tries.append(TryView(number=row.tries, at=moment(row.try_at), how="running", reason=""))
    return tuple(tries)


def _event_waits(rows: Rows, row: EventRow, state: EventState) -> str:
    if state is EventState.HELD:
        return f"its predecessor, until {clock_words(moment_or_none(row.held_until))}"
    if state is not EventState.WAITING:
        return ""
    return event_waits(
        ahead=_ahead(rows, row),
        phase=Phase(row.phase),
        wake_at=moment_or_none(row.due_at),
        worker=row.worker,
        reason=row.parked or "",
        deaths=row.deaths,
        merging=row.merging > 0,
    )


def _ahead(rows: Rows, row: EventRow) -> int:
    """How many of its lane are played before it: the open turn, then replays, then the others in order."""
    if row.in_open_turn or row.seq is None:
        return 0
    own = row.seq if row.state == "replaying" else FOREVER
    before = {"tenant": row.tenant, "lane": row.lane, "seq": own, "open": row.aside_seq}
    (replays,) = rows.execute("console.replays_before", before).fetchone()
    ahead = row.open_events + int(replays)
    if row.state == "replaying":
        return ahead
    if ahead == 0 and row.seq in _head_run(rows, row):
        return 0
    passed = 0 if row.aside_seq is not None else row.open_events
    return ahead + row.seq - row.cursor - 1 - passed


def _head_run(rows: Rows, row: EventRow) -> range:
    """The seqs that would be claimed together, were the lane claimed now."""
    size = 0
    events_max = 1
    for _, quiet, own_max in rows.execute("console.windows_at_head", (row.tenant, row.lane, row.cursor)):
        if size and quiet is None:
            break
        if size == 0 and own_max is not None:
            events_max = max(1, own_max)
        size += 1
        if size >= events_max:
            break
    return range(row.cursor + 1, row.cursor + 1 + size)


# --- effects ---


def effects_of(rows: Rows, tenant: int, turn: str) -> tuple[EffectView, ...]:
    ids = rows.execute("console.effects_of_turn", (tenant, turn)).fetchall()
    return tuple(effect_view(rows, tenant, effect) for (effect,) in ids)


def effect_view(rows: Rows, tenant: int, effect: str) -> EffectView:
    row = rows.execute("console.effect", (tenant, effect)).fetchone()
    (
        *_named,
        asked_at,
        changed_at,
        doubt_until,
        slot_at,
        cursor,
        phase,
        due_at,
        parked,
        pair_at,
        merging,
        head_oseq,
        head_state,
        head_gate,
    ) = row
    state = EffectState(row[8])
    gate = (head_oseq, Receipt(head_gate)) if head_state == EffectState.CONFIRMED else None
    waits_for = effect_waits(
        ahead=row[4] - cursor - 1,
        state=state,
        phase=Phase(phase),
        wake_at=moment_or_none(due_at),
        doubt_until=moment_or_none(doubt_until),
        gate=gate,
        reason=parked or "",
        holds=_holds(rows, tenant, row[2]) if state is EffectState.PENDING and phase == Phase.WAITING else (),
        place_at=moment_or_none(slot_at),
        pair_at=moment_or_none(pair_at),
        merging=merging > 0,
    )
    return EffectView(
        id=EffectId(row[0]),
        tenant=TenantId(row[1]),
        channel=ChannelName(row[2]),
        lane=LaneId(row[3]),
        oseq=row[4],
        turn=EventId(row[5]),
        key=row[6],
        action=row[7],
        state=state,
        attempts=row[9],
        receipt=Receipt(row[10]),
        failed=bool(row[11]),
        ref=row[12],
        reason=row[13],
        asked_at=moment(asked_at),
        changed_at=moment(changed_at),
        waits_for="" if state in ENDED else waits_for,
    )


def halts(rows: Rows, tenant: TenantId | None, now: int) -> tuple[HaltView, ...]:
    held = _holds(rows, tenant_no(rows, tenant), None)
    return tuple(view for view in held if view.until is None or view.until > moment(now))


def _holds(rows: Rows, tenant: int | None, channel: str | None) -> list[HaltView]:
    """Also those that are over; with a channel, its own and its tenant's."""
    return [
        HaltView(
            tenant=TenantId(name),
            channel=ChannelName(own) if own else None,
            since=moment(since),
            until=moment_or_none(until),
            reason=reason,
        )
        for name, own, since, until, reason in rows.execute(
            "console.halts", {"tenant": tenant, "channel": channel}
        ).fetchall()
    ]


def doubts(rows: Rows, tenant: TenantId | None, limit: int) -> tuple[EffectView, ...]:
    asked_for = {"tenant": tenant_no(rows, tenant), "limit": limit}
    found = rows.execute("console.doubts", asked_for).fetchall()
    return tuple(effect_view(rows, no, effect) for no, effect in found)


# --- lanes ---


def lanes(
    rows: Rows, tenant: TenantId | None, phase: Phase | None, side: Side | None, limit: int
) -> tuple[LaneView, ...]:
    asked_for = {"tenant": tenant, "phase": phase, "side": side}
    views = [_lane_view(rows, row) for row in rows.execute("console.lanes", asked_for).fetchall()]
    views.sort(key=lambda view: (view.oldest_at is None, view.oldest_at or moment(0)))
    return tuple(views[:limit])


def lane(rows: Rows, tenant: TenantId, name: str) -> tuple[tuple[LaneView, ...], tuple[EventView, ...]]:
    sides = rows.execute("console.lane", {"tenant": tenant, "lane": name}).fetchall()
    events = [event for side in sides if side[6] == Side.TURNS for event in _unplayed(rows, side)]
    return tuple(_lane_view(rows, side) for side in sides), tuple(events)


def _unplayed(rows: Rows, row: tuple[Any, ...]) -> list[EventView]:
    no, tenant, cursor = row[0], row[1], row[9]
    asked_for = {"tenant": tenant, "lane": no, "cursor": cursor}
    ids = [found[0] for found in rows.execute("console.unplayed", asked_for)]
    views = [view for event in ids if (view := event_view(rows, tenant, event)) is not None]
    # The open turn is first, also where it is of a later seq than a replay that came while it ran.
    return sorted(views, key=lambda view: view.turn is None)


def _lane_view(rows: Rows, row: tuple[Any, ...]) -> LaneView:
    no, tenant, name, lane_name, key, channel, side, phase, next_seq, cursor, epoch, tries, deaths, parked, due_at = (
        row[:15]
    )
    paused, paused_until, worker, merged_into = row[15:]
    if side == Side.TURNS:
        replaying, oldest = rows.execute(
            "console.count_unplayed", {"tenant": tenant, "lane": no, "cursor": cursor}
        ).fetchone()
        waiting = next_seq - 1 - cursor + replaying
    else:
        waiting, oldest = rows.execute("console.count_unfinished", (tenant, no)).fetchone()
    moving = phase in (Phase.READY, Phase.HELD, Phase.PARKED)
    return LaneView(
        tenant=TenantId(name),
        lane=LaneId(lane_name),
        lane_key=key,
        channel=ChannelName(channel),
        side=Side(side),
        phase=Phase(phase),
        waiting=waiting,
        cursor=cursor,
        epoch=epoch,
        tries=tries,
        deaths=deaths,
        reason=parked or "",
        wake_at=None if moving else moment_or_none(due_at),
        paused_until=None if not paused else NO_END if paused_until is None else moment(paused_until),
        worker=worker,
        oldest_at=moment_or_none(oldest),
        merged_into=None if merged_into is None else LaneId(merged_into),
    )


def shown(rows: Rows, tenant: TenantId | None) -> list[tuple[str, str]]:
    """The channels that have shown a status."""
    return rows.execute("console.shown", {"tenant": tenant_no(rows, tenant)}).fetchall()
