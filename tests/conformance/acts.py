"""What cases do, in words: each act is one call of a store, or a few that always go together."""

from datetime import timedelta
from typing import Unpack

from procession.core.effect import EffectDraft
from procession.core.event import NewEvent, Placement, Quarantined, Sighting
from procession.core.ids import EffectId, EventId, TenantId
from procession.core.lane import Phase, Side
from procession.core.turn import Began, HeldEffect, HeldTurn, Outcome, Recorded, Settled
from procession.core.verdict import Uncertain, Verdict
from procession.ports.console import EffectView, EventView, LaneView
from procession.ports.directory import Tenant
from procession.ports.store import Swept
from tests.conformance.builders import (
    ACME,
    MANY,
    OPERATOR,
    AskWords,
    SettlementWords,
    a_settlement,
    a_snapshot,
    an_ask,
    an_effect,
    an_event,
    an_intake,
    the_lane,
)
from tests.conformance.harness import Harness

# --- what the engine does ---


async def accept(
    harness: Harness,
    *events: NewEvent,
    sightings: tuple[Sighting, ...] = (),
    quarantined: tuple[Quarantined, ...] = (),
) -> tuple[Placement, ...]:
    acceptance = await harness.store.accept(an_intake(*events, sightings=sightings, quarantined=quarantined))
    return acceptance.placements


async def see(harness: Harness, *sightings: Sighting) -> None:
    await accept(harness, sightings=sightings)


async def claim(harness: Harness, lanes_max: int = MANY, **words: Unpack[AskWords]) -> tuple[HeldTurn, ...]:
    return await harness.store.claim_turns(an_ask(lanes_max, **words))


async def claim_one(harness: Harness, **words: Unpack[AskWords]) -> HeldTurn:
    """The one turn that there is to claim."""
    (turn,) = await claim(harness, **words)
    return turn


async def claim_sends(harness: Harness, lanes_max: int = MANY, **words: Unpack[AskWords]) -> tuple[HeldEffect, ...]:
    return await harness.store.claim_sends(an_ask(lanes_max, **words))


async def claim_send(harness: Harness, **words: Unpack[AskWords]) -> HeldEffect:
    """The one effect that there is to claim."""
    (send,) = await claim_sends(harness, **words)
    return send


async def settle(
    harness: Harness, turn: HeldTurn, outcome: Outcome | None = None, **words: Unpack[SettlementWords]
) -> Settled:
    return await harness.store.settle(a_settlement(turn, outcome, **words))


async def begin(harness: Harness, send: HeldEffect) -> int:
    """Arm it; it must be possible."""
    answer = await harness.store.begin(send.lease, send.effect.id, send.effect.attempts + 1)
    assert isinstance(answer, Began), answer
    return answer.attempt


async def record(
    harness: Harness, send: HeldEffect, attempt: int, verdict: Verdict, ttl: timedelta | None = None
) -> Recorded:
    return await harness.store.record(send.lease, send.effect.id, attempt, verdict, ttl)


async def sweep(harness: Harness) -> Swept:
    """One sweep that is large enough for all that is due."""
    swept = await harness.store.sweep(MANY)
    assert not swept.more
    return swept


async def pass_time(harness: Harness, by: timedelta) -> Swept:
    """Let time pass, and the sweeper come by."""
    harness.clock.advance(by)
    return await sweep(harness)


# --- what several cases start from ---


async def a_running_turn(harness: Harness, event: NewEvent | None = None, **words: Unpack[AskWords]) -> HeldTurn:
    await accept(harness, an_event() if event is None else event)
    return await claim_one(harness, **words)


async def ask_for(harness: Harness, *effects: EffectDraft, event: NewEvent | None = None) -> None:
    """Have a turn ask for effects."""
    turn = await a_running_turn(harness, event)
    await settle(harness, turn, effects=effects)


async def a_send(harness: Harness, *effects: EffectDraft) -> HeldEffect:
    """The first of some effects (one, unless others are given), claimed."""
    await ask_for(harness, *(effects or (an_effect(),)))
    return await claim_send(harness)


async def an_armed_send(harness: Harness, *effects: EffectDraft) -> tuple[HeldEffect, int]:
    send = await a_send(harness, *effects)
    return send, await begin(harness, send)


async def a_doubt(harness: Harness, *effects: EffectDraft) -> HeldEffect:
    """An effect (not KEYED) whose try had no clear answer."""
    send, attempt = await an_armed_send(harness, *effects)
    await record(harness, send, attempt, Uncertain(reason="the line broke"))
    return send


async def know(harness: Harness, *tenants: Tenant) -> None:
    """Make these the tenants, each with one channel."""
    await harness.directory.change(a_snapshot(*tenants), actor=OPERATOR)


# --- what can be seen ---


async def event_seen(harness: Harness, event: EventId, tenant: TenantId = ACME) -> EventView:
    (view,) = await harness.console.why(event, tenant)
    return view


async def effect_seen(harness: Harness, effect: EffectId, tenant: TenantId = ACME) -> EffectView:
    views = await harness.console.why(effect, tenant)
    (view,) = (found for event in views for found in event.effects if found.id == effect)
    return view


async def lane_seen(
    harness: Harness, lane: str = "ann", *, side: Side = Side.TURNS, tenant: TenantId = ACME
) -> LaneView:
    sides, _ = await harness.console.lane(tenant, the_lane(lane, tenant))
    (view,) = (found for found in sides if found.side is side)
    return view


async def phase_of(harness: Harness, lane: str = "ann", *, side: Side = Side.TURNS, tenant: TenantId = ACME) -> Phase:
    return (await lane_seen(harness, lane, side=side, tenant=tenant)).phase


def providers_ids(turn: HeldTurn) -> list[str]:
    return [event.provider_id for event in turn.events]
