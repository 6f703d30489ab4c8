"""Small values with defaults, so that a case names only what it is about."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, TypedDict, Unpack

from procession.core.effect import DoubtPolicy, EffectDraft, Gate, Receipt, RefusedPolicy, Repeatability, Terms
from procession.core.event import Intake, NewEvent, Order, Ordering, Quarantined, Sighting, Stale, Window
from procession.core.ids import (
    ChannelName,
    EffectId,
    EndpointName,
    EventId,
    LaneId,
    TenantId,
    WorkerId,
    effect_id,
    event_id,
    lane_id,
    quarantine_id,
)
from procession.core.lane import PauseDraft
from procession.core.turn import Advance, HeldTurn, Outcome, ReminderDraft, Settlement, SqlWork, Step
from procession.ports.directory import Channel, Endpoint, Snapshot, Tenant
from procession.ports.store import Ask

ACME: Final = TenantId("acme")
BOLT: Final = TenantId("bolt")
MAIN: Final = ChannelName("main")
HOOKS: Final = EndpointName("hooks")
ONE: Final = WorkerId("worker-one")
OTHER: Final = WorkerId("worker-other")
OPERATOR: Final = "olive"
TTL: Final = timedelta(seconds=10)
TICK: Final = timedelta(milliseconds=1)
MANY: Final = 1000


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def the_lane(key: str = "ann", tenant: TenantId = ACME, channel: ChannelName = MAIN) -> LaneId:
    return lane_id(tenant, channel, key)


def the_event(n: int = 1, lane: str = "ann", tenant: TenantId = ACME, channel: ChannelName = MAIN) -> EventId:
    return event_id(tenant, channel, f"{lane}-{n}")


def an_event(
    n: int = 1,
    *,
    lane: str = "ann",
    tenant: TenantId = ACME,
    channel: ChannelName = MAIN,
    kind: str = "note",
    payload: bytes | None = None,
    order: Order | None = None,
    window: Window | None = None,
    occurred_at: datetime | None = None,
    aliases: tuple[str, ...] = (),
    retires: tuple[str, ...] = (),
    hears: bool = False,
    pause: PauseDraft | None = None,
) -> NewEvent:
    """The n-th thing that the source says about a lane; the same n is the same event."""
    return NewEvent(
        tenant=tenant,
        channel=channel,
        lane=the_lane(lane, tenant, channel),
        lane_key=lane,
        id=the_event(n, lane, tenant, channel),
        provider_id=f"{lane}-{n}",
        kind=kind,
        payload=b'{"n":%d}' % n if payload is None else payload,
        occurred_at=occurred_at,
        order=order,
        window=window,
        aliases=aliases,
        retires=retires,
        hears=hears,
        pause=pause,
    )


def an_intake(
    *events: NewEvent, sightings: tuple[Sighting, ...] = (), quarantined: tuple[Quarantined, ...] = ()
) -> Intake:
    return Intake(endpoint=HOOKS, events=events, sightings=sightings, quarantined=quarantined)


def number(key: int, *, window: float = 10, stale: Stale = Stale.LATE, first: int | None = 1) -> Order:
    return Order(by=Ordering.NUMBER, key=key, window=seconds(window), stale=stale, first=first)


def version(key: int, *, window: float = 0, stale: Stale = Stale.LATE) -> Order:
    return Order(by=Ordering.VERSION, key=key, window=seconds(window), stale=stale)


def moment(key: int, *, window: float = 0, stale: Stale = Stale.LATE) -> Order:
    return Order(by=Ordering.TIME, key=key, window=seconds(window), stale=stale)


def a_window(*, quiet: float = 2, wait_max: float = 10, events_max: int = 10, flushes: bool = False) -> Window:
    return Window(quiet=seconds(quiet), wait_max=seconds(wait_max), events_max=events_max, flushes=flushes)


def some_terms(
    *,
    repeatability: Repeatability = Repeatability.UNSAFE,
    gate: Receipt = Receipt.ACCEPTED,
    gate_wait: float = 5,
    gap: float = 0,
    unshown: float | None = None,
    doubt: DoubtPolicy = DoubtPolicy.PARK,
    doubt_wait: float = 60,
    resends_max: int = 3,
    on_refused: RefusedPolicy = RefusedPolicy.CONTINUE,
    tries_max: int = 20,
    answer_within: timedelta = timedelta(hours=24),
    window: timedelta | None = None,
) -> Terms:
    return Terms(
        repeatability=repeatability,
        gate=Gate(
            receipt=gate,
            wait_max=seconds(gate_wait),
            gap=seconds(gap),
            unshown=None if unshown is None else seconds(unshown),
        ),
        doubt=doubt,
        doubt_wait=seconds(doubt_wait),
        resends_max=resends_max,
        on_refused=on_refused,
        tries_max=tries_max,
        answer_within=answer_within,
        window=window,
    )


def the_effect(key: str = "0", *, of: EventId | None = None, tenant: TenantId = ACME) -> EffectId:
    return effect_id(tenant, the_event(tenant=tenant) if of is None else of, key)


def an_effect(
    key: str = "0",
    *,
    of: EventId | None = None,
    lane: str = "ann",
    tenant: TenantId = ACME,
    channel: ChannelName = MAIN,
    payload: bytes = b"hello",
    terms: Terms | None = None,
    about_at: datetime | None = None,
    aliases: tuple[str, ...] = (),
) -> EffectDraft:
    """What a turn (that of the first event, unless another is named) asks for under a key."""
    return EffectDraft(
        id=the_effect(key, of=of, tenant=tenant),
        key=key,
        channel=channel,
        lane=the_lane(lane, tenant, channel),
        lane_key=lane,
        action="http",
        payload=payload,
        terms=some_terms() if terms is None else terms,
        about_at=about_at,
        aliases=aliases,
    )


def a_sighting(
    *,
    effect: EffectId | None = None,
    ref: str | None = None,
    receipt: Receipt = Receipt.SENT,
    failed: bool = False,
    tenant: TenantId = ACME,
    channel: ChannelName = MAIN,
) -> Sighting:
    return Sighting(tenant=tenant, channel=channel, receipt=receipt, effect=effect, ref=ref, failed=failed)


def a_quarantined(body: bytes = b"{", reason: str = "not JSON") -> Quarantined:
    return Quarantined(
        id=quarantine_id(HOOKS, body), endpoint=HOOKS, reason=reason, body=body, headers=(("content-type", "x"),)
    )


def a_step(name: str = "ask", value: bytes = b"42", occurrence: int = 0) -> Step:
    return Step(name=name, occurrence=occurrence, value=value)


class AskWords(TypedDict, total=False):
    """What a claim may say beside how many lanes it wants."""

    worker: WorkerId
    ttl: timedelta
    pools: frozenset[str]
    suspects: bool
    alone: bool


def an_ask(lanes_max: int = MANY, **words: Unpack[AskWords]) -> Ask:
    return replace(Ask(lanes_max=lanes_max, worker=ONE, ttl=TTL), **words)


class SettlementWords(TypedDict, total=False):
    """What a settlement may say beside its outcome."""

    state: bytes | None
    effects: tuple[EffectDraft, ...]
    cancel_effects: tuple[EffectId, ...]
    reminders: tuple[ReminderDraft, ...]
    cancel_reminders: tuple[str, ...]
    pause: PauseDraft | None
    sql: tuple[SqlWork, ...]
    keep_for: timedelta | None


def a_settlement(turn: HeldTurn, outcome: Outcome | None = None, **words: Unpack[SettlementWords]) -> Settlement:
    return Settlement(lease=turn.lease, turn=turn.id, outcome=Advance() if outcome is None else outcome, **words)


def a_tenant(
    name: TenantId, *, weight: int = 1, lanes_max: int | None = None, pool: str = "", active: bool = True
) -> Tenant:
    return Tenant(id=name, weight=weight, lanes_max=lanes_max, pool=pool, active=active)


def a_snapshot(*tenants: Tenant) -> Snapshot:
    """These tenants, each with one channel on the one endpoint."""
    return Snapshot(
        tenants={tenant.id: tenant for tenant in tenants},
        endpoints={HOOKS: Endpoint(name=HOOKS, connector="plain")},
        channels={
            (tenant.id, MAIN): Channel(
                tenant=tenant.id, name=MAIN, endpoint=HOOKS, connector="plain", account=str(tenant.id)
            )
            for tenant in tenants
        },
    )
