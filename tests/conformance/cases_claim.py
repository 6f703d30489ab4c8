"""claim: whole turns of ready lanes, each lane to one worker, the try counted before the handler starts."""

import asyncio
from time import perf_counter

from procession.core.lane import Phase, Side
from procession.core.turn import Delay, HeldTurn
from procession.core.verdict import Fate
from tests.conformance.acts import (
    a_running_turn,
    accept,
    ask_for,
    claim,
    claim_one,
    claim_send,
    claim_sends,
    know,
    lane_seen,
    pass_time,
    phase_of,
    providers_ids,
    settle,
)
from tests.conformance.builders import (
    ACME,
    BOLT,
    ONE,
    OTHER,
    TICK,
    TTL,
    a_step,
    a_tenant,
    a_window,
    an_effect,
    an_event,
    seconds,
    the_lane,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line


async def let_die(harness: Harness, turn: HeldTurn) -> None:
    """Its worker dies: the lease runs out, and the sweeper comes by."""
    assert turn is not None
    await pass_time(harness, TTL)


@line("C1")
async def test_a_claim_takes_one_turn_of_each_ready_lane(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2), an_event(1, lane="bob"))

    turns = await claim(harness)

    assert sorted(providers_ids(turn) for turn in turns) == [["ann-1"], ["bob-1"]]


@line("C1")
async def test_a_claim_takes_no_more_lanes_than_it_asks_for(harness: Harness) -> None:
    await accept(harness, *(an_event(1, lane=lane) for lane in "abcde"))

    first, second, third = [await claim(harness, 2) for _ in range(3)]

    assert [len(first), len(second), len(third)] == [2, 2, 1]
    assert len({turn.lease.lane for turn in first + second + third}) == 5


@line("C1")
async def test_a_claimed_lane_is_held_by_its_worker(harness: Harness) -> None:
    turn = await a_running_turn(harness, worker=OTHER)

    view = await lane_seen(harness)
    assert (turn.lease.tenant, turn.lease.lane, turn.lease.side) == (ACME, the_lane(), Side.TURNS)
    assert (turn.lease.worker, turn.lane_key) == (OTHER, "ann")
    assert (view.phase, view.worker, view.epoch) == (Phase.HELD, OTHER, turn.lease.epoch)


@line("C1")
async def test_a_held_lane_is_not_claimed_again(harness: Harness) -> None:
    await a_running_turn(harness)

    assert await claim(harness, worker=OTHER) == ()


@line("C1")
async def test_each_claim_raises_the_epoch(harness: Harness) -> None:
    epochs = []
    turn = await a_running_turn(harness)

    for _ in range(3):
        epochs.append(turn.lease.epoch)
        await harness.store.release([turn.lease])
        turn = await claim_one(harness)

    assert epochs == sorted(set(epochs))
    assert turn.lease.epoch > epochs[-1]


@line("C1", "S1")
async def test_a_lane_is_held_until_its_lease_has_run_out(harness: Harness) -> None:
    await a_running_turn(harness)

    await pass_time(harness, TTL - TICK)
    early = (*await claim(harness), *await claim(harness, suspects=True))
    await pass_time(harness, TICK)

    assert early == ()
    assert providers_ids(await claim_one(harness, suspects=True)) == ["ann-1"]


@line("C1", "G1")
async def test_concurrent_claims_share_the_lanes_among_them(harness: Harness) -> None:
    await accept(harness, *(an_event(1, lane=f"l{n}") for n in range(30)))

    claims = await asyncio.gather(*(claim(harness, 4, worker=worker) for worker in (ONE, OTHER) * 5))

    lanes = [turn.lease.lane for turns in claims for turn in turns]
    assert len(lanes) == len(set(lanes)) == 30


@line("C1")
async def test_a_claim_of_nothing_is_answered_with_nothing(harness: Harness) -> None:
    assert await claim(harness) == ()
    assert await claim_sends(harness) == ()


@line("C1")
async def test_turns_come_one_after_the_other(harness: Harness) -> None:
    await accept(harness, *(an_event(n) for n in range(1, 6)))
    order = []

    for _ in range(5):
        turn = await claim_one(harness)
        assert await claim(harness) == ()
        order += providers_ids(turn)
        await settle(harness, turn)

    assert order == ["ann-1", "ann-2", "ann-3", "ann-4", "ann-5"]


@line("C5")
async def test_each_claim_counts_a_try(harness: Harness) -> None:
    first = await a_running_turn(harness)
    await settle(harness, first, Delay(after=seconds(1), reason="busy"))
    harness.clock.advance(seconds(1))
    await harness.store.sweep(100)

    second = await claim_one(harness)

    assert (first.tries, second.tries) == (1, 2)
    assert second.first_try_at == first.first_try_at
    assert (await lane_seen(harness)).tries == 2


@line("C5", "S1")
async def test_a_try_that_died_is_counted_and_known_as_a_death(harness: Harness) -> None:
    await let_die(harness, await a_running_turn(harness))

    again = await claim_one(harness, suspects=True)

    assert (again.tries, again.deaths, again.deaths_alone) == (2, 1, 0)


@line("C5", "S1")
async def test_a_try_that_died_alone_is_known_as_that(harness: Harness) -> None:
    await let_die(harness, await a_running_turn(harness, alone=True))

    again = await claim_one(harness, suspects=True)

    assert (again.tries, again.deaths, again.deaths_alone) == (2, 1, 1)


@line("C5")
async def test_suspects_are_claimed_only_by_who_asks_for_them(harness: Harness) -> None:
    await let_die(harness, await a_running_turn(harness))
    await accept(harness, an_event(1, lane="bob"))

    innocent = await claim(harness)
    suspect = await claim(harness, suspects=True)

    assert [providers_ids(turn) for turn in innocent] == [["bob-1"]]
    assert [providers_ids(turn) for turn in suspect] == [["ann-1"]]


@line("C5")
async def test_suspects_seen_at_one_death_may_run_together(harness: Harness) -> None:
    await accept(harness, *(an_event(1, lane=lane) for lane in "abc"))
    (turn, *_) = await claim(harness)
    await let_die(harness, turn)

    assert len(await claim(harness, suspects=True)) == 3


@line("C5")
async def test_who_was_seen_at_two_deaths_is_claimed_first_and_alone(harness: Harness) -> None:
    await accept(harness, an_event(1, lane="a"))
    await let_die(harness, await claim_one(harness))
    await accept(harness, *(an_event(1, lane=lane) for lane in "bc"))
    await claim(harness)
    await let_die(harness, await claim_one(harness, suspects=True))

    first = await claim(harness, suspects=True)
    second = await claim(harness, suspects=True)

    assert [(providers_ids(turn), turn.deaths) for turn in first] == [(["a-1"], 2)]
    assert sorted((providers_ids(turn), turn.deaths) for turn in second) == [(["b-1"], 1), (["c-1"], 1)]


@line("C5", "M1")
async def test_a_claim_brings_state_and_remembered_steps(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness), state=b"\x00state")
    turn = await a_running_turn(harness, an_event(2))
    await harness.store.remember(turn.lease, turn.id, [a_step("ask", b"1"), a_step("ask", b"2", occurrence=1)])
    await harness.store.release([turn.lease])

    again = await claim_one(harness)

    assert (turn.state, turn.steps) == (b"\x00state", ())
    assert again.state == b"\x00state"
    assert sorted(again.steps, key=lambda step: step.occurrence) == [
        a_step("ask", b"1"),
        a_step("ask", b"2", occurrence=1),
    ]


@line("C1", "G7")
async def test_only_tenants_of_the_pools_that_are_asked_for_are_claimed(harness: Harness) -> None:
    await know(harness, a_tenant(ACME, pool="big"), a_tenant(BOLT))
    await accept(harness, an_event(), an_event(tenant=BOLT))

    shared = await claim(harness)
    pinned = await claim(harness, pools=frozenset({"big"}))

    assert [turn.lease.tenant for turn in shared] == [BOLT]
    assert [turn.lease.tenant for turn in pinned] == [ACME]


@line("C1")
async def test_nothing_of_an_inactive_tenant_is_claimed_and_nothing_is_lost(harness: Harness) -> None:
    await accept(harness, an_event())
    await know(harness, a_tenant(ACME, active=False), a_tenant(BOLT))

    inactive = await claim(harness)
    await know(harness, a_tenant(ACME), a_tenant(BOLT))

    assert inactive == ()
    assert providers_ids(await claim_one(harness)) == ["ann-1"]


@line("C1")
async def test_a_send_is_claimed_with_all_that_was_asked_for(harness: Harness) -> None:
    draft = an_effect(payload=b"\x00\xffhello")
    await ask_for(harness, draft)

    send = await claim_send(harness, worker=OTHER)

    assert (send.lease.tenant, send.lease.lane, send.lease.side, send.lease.worker) == (
        ACME,
        draft.lane,
        Side.SENDS,
        OTHER,
    )
    effect = send.effect
    assert (effect.id, effect.key, effect.channel, effect.lane, effect.lane_key) == (
        draft.id,
        draft.key,
        draft.channel,
        draft.lane,
        draft.lane_key,
    )
    assert (effect.action, effect.payload, effect.terms) == (draft.action, draft.payload, draft.terms)
    assert (effect.oseq, effect.attempts, effect.tries, effect.asked_at) == (1, 0, 0, harness.clock.now())


@line("C1")
async def test_a_claimed_conversation_is_not_claimed_again(harness: Harness) -> None:
    await ask_for(harness, an_effect("0"), an_effect("1"))
    await claim_send(harness)

    assert await claim_sends(harness, worker=OTHER) == ()
    assert await phase_of(harness, side=Side.SENDS) is Phase.HELD


@line("C1")
async def test_the_two_sides_of_a_lane_are_held_apart(harness: Harness) -> None:
    await ask_for(harness, an_effect())
    await accept(harness, an_event(2))

    turn, send = await claim_one(harness), await claim_send(harness, worker=OTHER)

    assert (turn.lease.lane, turn.lease.side) == (send.lease.lane, Side.TURNS)
    assert (await settle(harness, turn)).fate is Fate.KEPT
    assert await phase_of(harness, side=Side.SENDS) is Phase.HELD


@line("C6", needs=(Guarantee.SCALES,))
async def test_a_claim_costs_the_same_however_much_waits(harness: Harness) -> None:
    """A hundred times the backlog (lanes that are ready, that wait, and one that is deep) is not ten times the cost."""
    await accept(harness, *(an_event(1, lane=f"few{n}") for n in range(20)))
    small = await cost_of_a_claim(harness)

    await accept(harness, *(an_event(1, lane=f"many{n}") for n in range(2000)))
    await accept(
        harness, *(an_event(1, lane=f"window{n}", window=a_window(quiet=60, wait_max=60)) for n in range(2000))
    )
    await accept(harness, *(an_event(n, lane="deep") for n in range(2000)))
    large = await cost_of_a_claim(harness)

    assert large < 10 * small


async def cost_of_a_claim(harness: Harness) -> float:
    """The least of several, since a slow machine only ever adds."""
    costs = []
    for _ in range(10):
        start = perf_counter()
        turns = await claim(harness, 1)
        costs.append(perf_counter() - start)
        await harness.store.release([turn.lease for turn in turns])
    return min(costs)


@line("C6", needs=(Guarantee.SCALES,))
async def test_a_claim_of_sends_costs_the_same_however_much_waits(harness: Harness) -> None:
    async def cost() -> float:
        costs = []
        for _ in range(10):
            start = perf_counter()
            sends = await claim_sends(harness, 1)
            costs.append(perf_counter() - start)
            await harness.store.release([send.lease for send in sends])
        return min(costs)

    turn = await a_running_turn(harness)
    await settle(harness, turn, effects=tuple(an_effect(f"few{n}", lane=f"few{n}") for n in range(20)))
    small = await cost()

    for batch in range(20):
        turn = await a_running_turn(harness, an_event(batch + 2))
        await settle(
            harness, turn, effects=tuple(an_effect(f"{batch}-{n}", lane=f"many{batch}-{n}") for n in range(100))
        )
    large = await cost()

    assert large < 10 * small
