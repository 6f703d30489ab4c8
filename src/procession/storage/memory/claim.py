"""Claim: fair between tenants, within shares, whole turns (C1 to C6). Renew and release (N1, R1, R2)."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from procession.core.effect import Effect, EffectState
from procession.core.event import Event
from procession.core.ids import TenantId
from procession.core.lane import LaneMove, Lease, Phase, Side
from procession.core.turn import HeldEffect, HeldTurn, Step
from procession.ports.console import TryView
from procession.ports.directory import Tenant
from procession.ports.store import Ask
from procession.storage.memory.doubt import give_back
from procession.storage.memory.names import names_of
from procession.storage.memory.rest import head_events, hold, rest
from procession.storage.memory.rows import EffectRow, EventRow, LaneRow, Tables, TurnRow


def claim_turns(tables: Tables, ask: Ask, now: datetime) -> tuple[HeldTurn, ...]:
    taken: list[HeldTurn] = []
    for row in _pick(tables, ask, Side.TURNS, _suspicion(ask)):
        if ask.suspects and row.deaths >= 2 and taken:
            break
        hold(tables, row, ask.worker, now + ask.ttl, LaneMove.CLAIM)
        taken.append(open_turn(tables, row, alone=ask.alone, now=now))
        if ask.suspects and taken[0].deaths >= 2:
            break
    return tuple(taken)


def claim_sends(tables: Tables, ask: Ask, now: datetime) -> tuple[HeldEffect, ...]:
    if tables.sending_paused:
        return ()
    taken: list[HeldEffect] = []
    for row in _pick(tables, ask, Side.SENDS, lambda _row: True):
        hold(tables, row, ask.worker, now + ask.ttl, LaneMove.CLAIM)
        taken.append(held_effect(tables, row))
    return tuple(taken)


def _suspicion(ask: Ask) -> Callable[[LaneRow], bool]:
    return lambda row: (row.deaths > 0) is ask.suspects


def _pick(tables: Tables, ask: Ask, side: Side, wanted: Callable[[LaneRow], bool]) -> list[LaneRow]:
    """Which lanes a claim takes: always from the tenant that is furthest behind in virtual time."""
    waiting: dict[TenantId, list[LaneRow]] = {}
    for row in sorted(tables.lanes.values(), key=lambda row: row.ready_pos):
        if row.side is side and row.phase is Phase.READY and wanted(row) and _in_pool(tables, row.tenant, ask):
            waiting.setdefault(row.tenant, []).append(row)
    if ask.suspects:
        for rows in waiting.values():
            rows.sort(key=lambda row: -row.deaths)
        worst = max((rows[0].deaths for rows in waiting.values()), default=0)
        waiting = {tenant: rows for tenant, rows in waiting.items() if rows[0].deaths == worst or worst < 2}
    picked: list[LaneRow] = []
    while waiting and len(picked) < ask.lanes_max:
        tenant = min(waiting, key=lambda tenant: (tables.tenant(tenant, side).vtime, tenant))
        shares, settings = tables.tenant(tenant, side), _settings(tables, tenant)
        taken = sum(1 for row in picked if row.tenant == tenant)
        if side is Side.TURNS and settings.lanes_max is not None and shares.held + taken >= settings.lanes_max:
            del waiting[tenant]
            continue
        picked.append(waiting[tenant].pop(0))
        tables.vclock[side] = max(tables.vclock[side], shares.vtime)
        shares.vtime += 1 / settings.weight
        if not waiting[tenant]:
            del waiting[tenant]
    return picked


def may_keep(tables: Tables, row: LaneRow) -> bool:
    """T11: whether the lane's next turn may be claimed in place; `row` itself is counted as held no more."""
    settings = _settings(tables, row.tenant)
    shares = tables.tenant(row.tenant, row.side)
    return settings.active and (settings.lanes_max is None or shares.held < settings.lanes_max)


def _settings(tables: Tables, tenant: TenantId) -> Tenant:
    return tables.snapshot.tenants.get(tenant) or Tenant(id=tenant)


def _in_pool(tables: Tables, tenant: TenantId, ask: Ask) -> bool:
    settings = _settings(tables, tenant)
    return settings.active and settings.pool in ask.pools


# --- what a claim answers ---


def lease_of(tables: Tables, row: LaneRow) -> Lease:
    return Lease(tenant=row.tenant, lane=row.lane, side=row.side, era=tables.era, epoch=row.epoch, worker=row.worker)


def fenced(tables: Tables, lease: Lease) -> LaneRow | None:
    """G6: the row, if it is held under exactly this lease."""
    row = tables.lanes.get((lease.tenant, lease.lane, lease.side))
    if row is None or row.phase is not Phase.HELD or lease.era != tables.era or lease.epoch != row.epoch:
        return None
    return row


def open_turn(tables: Tables, row: LaneRow, *, alone: bool, now: datetime) -> HeldTurn:
    """Freeze the head's events, count the try, and hand the turn out."""
    events = head_events(tables, row)
    if not row.frozen:
        row.frozen = tuple(event.new.id for event in events)
        row.replays = [event for event in row.replays if event not in row.frozen]
        tables.turns.setdefault((row.tenant, row.frozen[0]), TurnRow(events=row.frozen, first_try_at=now))
    for event in events:
        event.turn = row.frozen[0]
    row.tries += 1
    row.try_open, row.try_alone, row.try_at, row.backoff_until = True, alone, now, None
    return held_turn(tables, row)


def held_turn(tables: Tables, row: LaneRow) -> HeldTurn:
    turn, heir = row.frozen[0], tables.heir(row)
    steps = tables.steps.get((row.tenant, turn), {})
    return HeldTurn(
        lease=lease_of(tables, row),
        lane_key=row.key,
        events=tuple(event_of(tables.events[row.tenant, event]) for event in row.frozen),
        state=row.state,
        steps=tuple(
            Step(name=name, occurrence=occurrence, value=value) for (name, occurrence), value in sorted(steps.items())
        ),
        tries=row.tries,
        deaths=row.deaths,
        deaths_alone=row.deaths_alone,
        first_try_at=tables.turns[row.tenant, turn].first_try_at,
        aliases=names_of(tables, heir),
        heard_at=heir.heard_at,
    )


def event_of(row: EventRow) -> Event:
    assert row.seq is not None
    new = row.new
    return Event(
        tenant=new.tenant,
        channel=new.channel,
        lane=new.lane,
        lane_key=new.lane_key,
        id=new.id,
        provider_id=new.provider_id,
        kind=new.kind,
        payload=new.payload,
        seq=row.seq,
        accepted_at=row.accepted_at,
        occurred_at=new.occurred_at,
        late=row.late,
    )


def held_effect(tables: Tables, row: LaneRow) -> HeldEffect:
    head = tables.head_effect(row)
    assert head is not None
    return HeldEffect(lease=lease_of(tables, row), effect=effect_of(head))


def effect_of(row: EffectRow) -> Effect:
    draft = row.draft
    return Effect(
        tenant=row.tenant,
        id=draft.id,
        channel=draft.channel,
        lane=draft.lane,
        lane_key=draft.lane_key,
        oseq=row.oseq,
        turn=row.turn,
        key=draft.key,
        action=draft.action,
        payload=draft.payload,
        terms=draft.terms,
        state=row.state,
        attempts=row.attempts,
        tries=row.tries,
        asked_at=row.asked_at,
        receipt=row.receipt,
        failed=row.failed,
        ref=row.ref,
        reason=row.reason,
        resends=row.resends,
    )


# --- renew, release ---


def renew(tables: Tables, leases: Sequence[Lease], ttl: timedelta, now: datetime) -> tuple[Lease, ...]:
    lost: list[Lease] = []
    for lease in leases:
        row = fenced(tables, lease)
        if row is None:
            lost.append(lease)
        else:
            row.lease_until = now + ttl
    return tuple(lost)


def release(tables: Tables, leases: Sequence[Lease], *, uncount: bool, now: datetime) -> None:
    for lease in leases:
        row = fenced(tables, lease)
        if row is None:
            continue
        if row.side is Side.TURNS:
            end_try(tables, row, "released", "given back" if uncount else "stopped", now)
            if uncount:
                row.tries -= 1
        else:
            head = tables.head_effect(row)
            if head is not None and head.state is EffectState.ARMED:
                give_back(head, "released while armed", now)
        rest(tables, row, LaneMove.RELEASE, now)


def end_try(tables: Tables, row: LaneRow, how: str, reason: str, now: datetime) -> None:
    """The open try of the lane's turn is over; what was tried is kept for whoever asks."""
    log = tables.turns[row.tenant, row.frozen[0]].log
    log.append(TryView(number=row.tries, at=row.try_at or now, how=how, reason=reason))
    row.try_open, row.try_alone, row.try_at = False, False, None
