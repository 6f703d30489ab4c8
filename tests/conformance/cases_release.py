"""release and renew: what moves only leases."""

from procession.core.effect import EffectState, Repeatability
from procession.core.lane import Phase, Side
from procession.core.verdict import Fate, Uncertain
from tests.conformance.acts import (
    a_doubt,
    a_running_turn,
    a_send,
    accept,
    an_armed_send,
    begin,
    claim,
    claim_one,
    claim_send,
    claim_sends,
    effect_seen,
    lane_seen,
    pass_time,
    phase_of,
    providers_ids,
    record,
    settle,
)
from tests.conformance.builders import OTHER, TICK, TTL, an_effect, an_event, seconds, some_terms, the_effect
from tests.conformance.harness import Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture


@line("R1", "G8")
async def test_a_released_lane_is_ready_again_and_its_try_is_taken_back(harness: Harness) -> None:
    turn = await a_running_turn(harness)

    await harness.store.release([turn.lease])

    assert (await lane_seen(harness)).phase is Phase.READY
    again = await claim_one(harness, worker=OTHER)
    assert (again.id, again.tries, again.deaths) == (turn.id, 1, 0)


@line("R1")
async def test_a_try_may_be_released_and_still_count(harness: Harness) -> None:
    turn = await a_running_turn(harness)

    await harness.store.release([turn.lease], uncount=False)

    again = await claim_one(harness)
    assert (again.tries, again.deaths) == (2, 0)


@line("R1", "G4")
async def test_releasing_again_changes_nothing(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.release([turn.lease])
    before = await picture(harness)

    await harness.store.release([turn.lease])

    assert await picture(harness) == before


@line("R1", "G6")
async def test_lost_leases_are_passed_over_and_the_others_released(harness: Harness) -> None:
    await accept(harness, an_event(lane="ann"), an_event(lane="bob"))
    lost, good = await claim(harness)
    await settle(harness, lost)
    await accept(harness, an_event(2, lane=lost.lane_key))
    again = await claim_one(harness)

    await harness.store.release([lost.lease, good.lease])

    assert await phase_of(harness, again.lane_key) is Phase.HELD
    assert await phase_of(harness, good.lane_key) is Phase.READY


@line("R1", "A6")
async def test_a_released_lane_is_older_than_one_that_became_ready_meanwhile(harness: Harness) -> None:
    turn = await a_running_turn(harness)

    await harness.store.release([turn.lease])
    await accept(harness, an_event(2))

    assert providers_ids(await claim_one(harness)) == ["ann-1"]


@line("R2")
async def test_a_released_pending_effect_stays_pending(harness: Harness) -> None:
    send = await a_send(harness)

    await harness.store.release([send.lease])

    again = await claim_send(harness, worker=OTHER)
    assert (again.effect.state, again.effect.attempts) == (EffectState.PENDING, 0)


@line("R2")
async def test_a_released_doubt_stays_in_doubt(harness: Harness) -> None:
    await a_doubt(harness, an_effect(terms=some_terms(repeatability=Repeatability.PROBED)))
    await pass_time(harness, seconds(1))
    probe = await claim_send(harness)

    await harness.store.release([probe.lease])

    assert probe.effect.state is EffectState.DOUBT
    assert (await effect_seen(harness, the_effect())).state is EffectState.DOUBT
    assert (await claim_send(harness)).effect.state is EffectState.DOUBT


@line("R2", "S2")
async def test_a_released_armed_effect_is_in_doubt(harness: Harness) -> None:
    send, _ = await an_armed_send(harness)

    await harness.store.release([send.lease])

    assert (await effect_seen(harness, the_effect())).state is EffectState.DOUBT
    assert await claim_sends(harness) == ()


@line("R2", "S2")
async def test_a_released_armed_keyed_effect_may_be_sent_again(harness: Harness) -> None:
    send, _ = await an_armed_send(harness, an_effect(terms=some_terms(repeatability=Repeatability.KEYED)))

    await harness.store.release([send.lease])

    again = await claim_send(harness)
    assert (again.effect.state, again.effect.attempts) == (EffectState.PENDING, 1)
    assert await begin(harness, again) == 2


@line("N1")
async def test_a_renewed_lease_runs_on_from_now(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    harness.clock.advance(TTL - TICK)

    lost = await harness.store.renew([turn.lease], TTL)
    swept = await pass_time(harness, TTL - TICK)

    assert lost == ()
    assert swept.deaths == 0
    assert (await settle(harness, turn)).fate is Fate.KEPT


@line("N1")
async def test_a_renewed_lease_runs_out_in_the_end(harness: Harness) -> None:
    turn = await a_running_turn(harness)

    await harness.store.renew([turn.lease], seconds(3))

    assert (await pass_time(harness, seconds(3))).deaths == 1


@line("N1")
async def test_a_lease_that_ran_out_unnoticed_can_be_renewed(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    harness.clock.advance(TTL * 3)

    lost = await harness.store.renew([turn.lease], TTL)
    swept = await pass_time(harness, TTL - TICK)

    assert (lost, swept.deaths) == ((), 0)
    assert (await settle(harness, turn)).fate is Fate.KEPT


@line("N1", "G6")
async def test_renew_answers_the_leases_that_are_lost(harness: Harness) -> None:
    await accept(harness, an_event(lane="ann"), an_event(lane="bob"))
    first, second = await claim(harness)
    await settle(harness, first)

    lost = await harness.store.renew([first.lease, second.lease], TTL)

    assert lost == (first.lease,)


@line("N1")
async def test_both_sides_can_be_renewed_together(harness: Harness) -> None:
    send = await a_send(harness)
    turn = await a_running_turn(harness, an_event(2))
    harness.clock.advance(TTL - TICK)

    lost = await harness.store.renew([send.lease, turn.lease], TTL)
    swept = await pass_time(harness, TTL - TICK)

    assert (lost, swept.leases_freed) == ((), 0)
    assert await phase_of(harness, side=Side.SENDS) is Phase.HELD
    assert (await record(harness, send, await begin(harness, send), Uncertain(reason="?"))).fate is Fate.KEPT
