"""Many engines on one Postgres: order, once and shares hold between them, and nobody waits for ever."""

import asyncio
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest

from procession.app.system import SystemChance, SystemClock
from procession.core.ids import EventId, TenantId, WorkerId
from procession.core.lane import Side
from procession.core.turn import Advance, Began, HeldEffect, HeldTurn, Settlement
from procession.core.verdict import Confirmed, Fate
from procession.ports.store import Ask
from procession.storage.postgres.store import PostgresStore
from procession.testing.postgres import ThrowawayServer
from tests.conformance.builders import ACME, BOLT, a_snapshot, a_tenant, an_effect, an_event, an_intake, the_lane
from tests.throwaway import emptied, postgres_server

__all__ = ["postgres_server"]

ENGINES = 4
LANES = 12
EVENTS = 360
TTL = timedelta(seconds=30)


@pytest.fixture
def url(postgres_server: ThrowawayServer) -> str:
    emptied(postgres_server.url)
    return postgres_server.url


async def opened(url: str, count: int) -> list[PostgresStore]:
    """Stores of their own, as processes have them: each with its connections and its memory."""
    return [
        await asyncio.to_thread(PostgresStore.open, url, clock=SystemClock(), chance=SystemChance())
        for _ in range(count)
    ]


async def closed(stores: list[PostgresStore]) -> None:
    for store in stores:
        await store.close()


def the_tenant(lane: int) -> TenantId:
    return ACME if lane % 2 else BOLT


def an_ask(worker: int, lanes_max: int = 5) -> Ask:
    return Ask(worker=WorkerId(f"engine-{worker}"), lanes_max=lanes_max, ttl=TTL)


async def deliver(store: PostgresStore, drawn: Random, events: list[tuple[int, int]]) -> None:
    """Each as its own delivery or a few together, in any order of lanes, and some twice."""
    waiting = list(events)
    drawn.shuffle(waiting)
    while waiting:
        together = [waiting.pop() for _ in range(min(len(waiting), drawn.randint(1, 5)))]
        several = [an_event(n, lane=f"lane{lane}", tenant=the_tenant(lane)) for n, lane in together]
        await asyncio.gather(*(store.accept(an_intake(*several)) for _ in range(drawn.randint(1, 2))))


async def test_seqs_have_no_gap_whoever_accepts(url: str) -> None:
    stores = await opened(url, ENGINES)
    events = [(n, lane) for lane in range(LANES) for n in range(EVENTS // LANES)]

    # Every event by every engine.
    await asyncio.gather(*(deliver(store, Random(at), events) for at, store in enumerate(stores)))

    for tenant in (ACME, BOLT):
        counts = await stores[0].console.counts(tenant)
        assert (counts.accepted, counts.waiting) == (EVENTS // 2, EVENTS // 2)
    for lane in range(LANES):
        _, seen = await stores[0].console.lane(the_tenant(lane), the_lane(f"lane{lane}", the_tenant(lane)))
        assert [event.seq for event in seen] == list(range(1, EVENTS // LANES + 1))
    await closed(stores)


async def test_people_who_are_named_have_no_gap_either_whoever_accepts(url: str) -> None:
    stores = await opened(url, ENGINES)
    for person in range(LANES):
        first = an_event(EVENTS, lane=f"phone{person}", tenant=the_tenant(person), aliases=(f"phone{person}",))
        await stores[0].accept(an_intake(replace(first, id=EventId(f"first-{person}"))))
    # None of these names its own lane: only a name leads there, so nobody can lock it beforehand.
    several = [
        an_event(n, lane=f"user{person}", tenant=the_tenant(person), aliases=(f"user{person}", f"phone{person}"))
        for person in range(LANES)
        for n in range(person * 8, person * 8 + 8)
    ]

    async def deliver_all(store: PostgresStore) -> None:
        for new in several:
            await store.accept(an_intake(new))

    await asyncio.gather(*map(deliver_all, stores))

    for person in range(LANES):
        tenant = the_tenant(person)
        _, seen = await stores[0].console.lane(tenant, the_lane(f"phone{person}", tenant))
        assert [event.seq for event in seen] == list(range(1, 10))
    await closed(stores)


async def play(store: PostgresStore, worker: int, played: list[tuple[TenantId, str, int]], until: int) -> None:
    while len(played) < until:
        turns = await store.claim_turns(an_ask(worker))
        await asyncio.gather(*(settle(store, turn, played) for turn in turns))


async def settle(store: PostgresStore, turn: HeldTurn, played: list[tuple[TenantId, str, int]]) -> None:
    kept: HeldTurn | None = turn
    while kept is not None:
        event = kept.events[0]
        reply = an_effect(of=event.id, lane=event.lane_key, tenant=event.tenant)
        settlement = Settlement(
            lease=kept.lease, turn=event.id, outcome=Advance(), effects=(reply,), state=b"%d" % event.seq, keep_for=TTL
        )
        settled = await store.settle(settlement)
        assert settled.fate is Fate.KEPT
        played.append((event.tenant, event.lane, event.seq))
        kept = settled.next


async def send(store: PostgresStore, worker: int, sent: list[tuple[TenantId, str, int]], until: int) -> None:
    while len(sent) < until:
        held = await store.claim_sends(an_ask(worker))
        for each in held:
            next_one: HeldEffect | None = each
            while next_one is not None:
                effect = next_one.effect
                begun = await store.begin(next_one.lease, effect.id, effect.attempts + 1)
                assert isinstance(begun, Began)
                sent.append((effect.tenant, effect.lane, effect.oseq))
                verdict = Confirmed(ref=f"ref-{effect.id}")
                recorded = await store.record(next_one.lease, effect.id, begun.attempt, verdict, TTL)
                assert recorded.fate is Fate.KEPT
                next_one = recorded.next


async def test_each_turn_and_each_send_happens_once_and_in_order_whoever_plays(url: str) -> None:
    stores = await opened(url, ENGINES)
    events = [(n, lane) for lane in range(LANES) for n in range(EVENTS // LANES)]
    played: list[tuple[TenantId, str, int]] = []
    sent: list[tuple[TenantId, str, int]] = []

    async with asyncio.timeout(90), asyncio.TaskGroup() as group:
        for at, store in enumerate(stores):
            mine = [event for number, event in enumerate(events) if number % ENGINES == at]
            group.create_task(deliver(store, Random(at), mine))
            group.create_task(play(store, at, played, EVENTS))
            group.create_task(send(store, at, sent, EVENTS))

    for done in (played, sent):
        assert max(Counter(done).values()) == 1
        by_lane: dict[tuple[TenantId, str], list[int]] = {}
        for tenant, lane, seq in done:
            by_lane.setdefault((tenant, lane), []).append(seq)
        assert len(by_lane) == LANES
        assert all(seqs == list(range(1, EVENTS // LANES + 1)) for seqs in by_lane.values())
    counts = await stores[0].console.counts()
    assert (counts.done, counts.effects_confirmed, counts.waiting) == (EVENTS, EVENTS, 0)
    await closed(stores)


async def test_no_deadlock_was_met(url: str, postgres_server: ThrowawayServer) -> None:
    stores = await opened(url, ENGINES)
    before = postgres_server.logged().count("deadlock detected")

    for round_number in range(5):
        each_lane = [an_event(round_number, lane=f"lane{lane}", tenant=the_tenant(lane)) for lane in range(LANES)]
        orders = [Random(at).sample(each_lane, LANES) for at in range(ENGINES * 4)]
        accepts = [stores[at % ENGINES].accept(an_intake(*order)) for at, order in enumerate(orders)]
        await asyncio.gather(*accepts, *(store.sweep(100) for store in stores))

    assert postgres_server.logged().count("deadlock detected") == before
    await closed(stores)


async def test_a_tenants_share_holds_over_all_engines(url: str) -> None:
    stores = await opened(url, ENGINES)
    await stores[0].directory.change(a_snapshot(a_tenant(ACME, lanes_max=3), a_tenant(BOLT)), actor="olive")
    await stores[0].accept(an_intake(*(an_event(1, lane=f"lane{lane}") for lane in range(20))))

    claims = await asyncio.gather(*(store.claim_turns(an_ask(at, 10)) for at, store in enumerate(stores * 3)))

    assert sum(len(claim) for claim in claims) == 3
    lanes = await stores[1].console.lanes(ACME, side=Side.TURNS, limit=100)
    assert sum(lane.phase == "held" for lane in lanes) == 3
    await closed(stores)


async def test_a_subject_whose_names_come_to_several_engines_at_once_is_one_lane(url: str) -> None:
    stores = await opened(url, ENGINES)

    for person in range(10):
        names = [(f"+4{person}",), (f"+4{person}", f"bsid{person}"), (f"bsid{person}",)]
        events = [an_event(at, lane=f"{person}-{at}", aliases=names[at % len(names)]) for at in range(len(stores) * 2)]
        await asyncio.gather(*(stores[at % ENGINES].accept(an_intake(event)) for at, event in enumerate(events)))
        both = an_event(99, lane=f"{person}-99", aliases=names[1])
        await stores[0].accept(an_intake(both))

        lanes = {view.lane for event in (*events, both) for view in await stores[0].console.why(event.id)}
        assert len(lanes) == 1
    await closed(stores)
