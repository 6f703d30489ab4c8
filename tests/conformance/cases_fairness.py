"""Fairness: tenants get turns by their weights and shares, however many lanes each has."""

from collections import Counter

import pytest

from procession.core.ids import TenantId
from tests.conformance.acts import accept, ask_for, claim, claim_sends, know, pass_time, settle
from tests.conformance.builders import (
    ACME,
    BOLT,
    MANY,
    OTHER,
    a_tenant,
    an_effect,
    an_event,
    seconds,
    the_event,
)
from tests.conformance.harness import Harness
from tests.conformance.lines import line


async def fill(harness: Harness, tenant: TenantId, lanes: int, events: int = 1, prefix: str = "lane") -> None:
    await accept(
        harness,
        *(an_event(n, lane=f"{prefix}{lane}", tenant=tenant) for lane in range(lanes) for n in range(1, events + 1)),
    )


async def play(harness: Harness, turns: int, at_once: int = 1) -> Counter[TenantId]:
    """Play so many turns and count whose they were."""
    whose: Counter[TenantId] = Counter()
    while whose.total() < turns:
        claimed = await claim(harness, at_once)
        assert claimed
        for turn in claimed:
            whose[turn.lease.tenant] += 1
            await settle(harness, turn)
    return whose


@line("C2")
async def test_tenants_of_one_weight_get_the_same_number_of_turns(harness: Harness) -> None:
    await fill(harness, ACME, lanes=200)
    await fill(harness, BOLT, lanes=40)

    whose = await play(harness, 60)

    assert 25 <= whose[BOLT] <= 35


@line("C2")
async def test_turns_are_shared_in_proportion_to_the_weights(harness: Harness) -> None:
    await know(harness, a_tenant(ACME, weight=1), a_tenant(BOLT, weight=3))
    await fill(harness, ACME, lanes=100)
    await fill(harness, BOLT, lanes=100)

    whose = await play(harness, 80)

    assert 54 <= whose[BOLT] <= 66


@pytest.mark.parametrize("at_once", [8, 32])
@line("C2")
async def test_one_large_claim_is_shared_as_many_small_ones_are(harness: Harness, at_once: int) -> None:
    await fill(harness, ACME, lanes=200)
    await fill(harness, BOLT, lanes=100)

    whose = await play(harness, 96, at_once)

    assert 38 <= whose[BOLT] <= 58


@line("C2")
async def test_many_lanes_give_no_more_than_one_lane_that_is_always_ready(harness: Harness) -> None:
    await fill(harness, ACME, lanes=100)
    await fill(harness, BOLT, lanes=1, events=50)

    whose = await play(harness, 40)

    assert 16 <= whose[BOLT] <= 24


@line("C2")
async def test_a_flood_does_not_hold_up_a_tenant_that_comes_after_it(harness: Harness) -> None:
    await fill(harness, ACME, lanes=500)
    await play(harness, 20)

    await fill(harness, BOLT, lanes=1)

    assert (await play(harness, 4))[BOLT] == 1


@line("C2")
async def test_who_was_idle_has_no_claim_on_what_it_did_not_use(harness: Harness) -> None:
    await fill(harness, BOLT, lanes=1)
    await fill(harness, ACME, lanes=200)
    await play(harness, 100)

    await fill(harness, BOLT, lanes=100, prefix="late")

    assert 12 <= (await play(harness, 30))[BOLT] <= 18


@line("C2")
async def test_within_a_tenant_the_longest_ready_lane_comes_first(harness: Harness) -> None:
    for lane in ("c", "a", "b"):
        await accept(harness, an_event(1, lane=lane), an_event(2, lane=lane))
        harness.clock.advance(seconds(1))
    order = []

    for _ in range(6):
        (turn,) = await claim(harness, 1)
        order.append(turn.lane_key)
        harness.clock.advance(seconds(1))
        await settle(harness, turn)

    assert order == ["c", "a", "b", "c", "a", "b"]


@line("C2")
async def test_sends_are_shared_between_tenants_too(harness: Harness) -> None:
    for tenant, conversations in ((ACME, 90), (BOLT, 20)):
        event = an_event(tenant=tenant)
        effects = (
            an_effect(f"{n}", of=the_event(tenant=tenant), tenant=tenant, lane=f"lane{n}") for n in range(conversations)
        )
        await ask_for(harness, *effects, event=event)

    sends = [send for _ in range(30) for send in await claim_sends(harness, 1)]

    assert 12 <= sum(send.lease.tenant == BOLT for send in sends) <= 18


@line("C3")
async def test_no_more_lanes_of_a_tenant_are_held_than_its_share(harness: Harness) -> None:
    await know(harness, a_tenant(ACME, lanes_max=2), a_tenant(BOLT))
    await fill(harness, ACME, lanes=5)
    await fill(harness, BOLT, lanes=5)

    whose = Counter(turn.lease.tenant for turn in await claim(harness))

    assert whose == {ACME: 2, BOLT: 5}


@line("C3")
async def test_a_share_counts_over_all_workers_and_frees_up(harness: Harness) -> None:
    await know(harness, a_tenant(ACME, lanes_max=2), a_tenant(BOLT))
    await fill(harness, ACME, lanes=5)
    first, second = await claim(harness)

    full = await claim(harness, worker=OTHER)
    await settle(harness, first)
    freed = await claim(harness, worker=OTHER)
    await harness.store.release([second.lease])

    assert (full, len(freed)) == ((), 1)
    assert len(await claim(harness)) == 1


@line("C3", "S1")
async def test_a_share_frees_up_when_its_worker_has_died(harness: Harness) -> None:
    await know(harness, a_tenant(ACME, lanes_max=2), a_tenant(BOLT))
    await fill(harness, ACME, lanes=5)
    await claim(harness)

    await pass_time(harness, seconds(10))

    assert len(await claim(harness)) == 2


@line("C3")
async def test_one_lane_at_a_time_plays_a_whole_tenant_one_turn_after_the_other(harness: Harness) -> None:
    await know(harness, a_tenant(ACME, lanes_max=1), a_tenant(BOLT))
    await fill(harness, ACME, lanes=4)
    played = 0

    while turns := await claim(harness):
        (turn,) = turns
        played += 1
        await settle(harness, turn)

    assert played == 4


@line("C3", "C6")
async def test_a_tenant_at_its_share_costs_the_others_nothing(harness: Harness) -> None:
    await know(harness, a_tenant(ACME, lanes_max=1), a_tenant(BOLT))
    await fill(harness, ACME, lanes=MANY)
    await fill(harness, BOLT, lanes=3)
    await claim(harness, 1)
    await claim(harness, 1)

    rest = await claim(harness, 3)

    assert [turn.lease.tenant for turn in rest][:2] == [BOLT, BOLT]


@line("C3")
async def test_a_share_does_not_count_for_sends(harness: Harness) -> None:
    await know(harness, a_tenant(ACME, lanes_max=1), a_tenant(BOLT))
    await ask_for(harness, *(an_effect(f"{n}", lane=f"lane{n}") for n in range(3)))

    assert len(await claim_sends(harness)) == 3


@line("T11", "C3")
async def test_a_lane_is_not_kept_beyond_its_tenants_share(harness: Harness) -> None:
    await fill(harness, ACME, lanes=2, events=2)
    first, _ = await claim(harness)
    await know(harness, a_tenant(ACME, lanes_max=1), a_tenant(BOLT))

    settled = await settle(harness, first, keep_for=seconds(10))

    assert settled.next is None
