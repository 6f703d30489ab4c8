"""The fence: whoever lost the lane changes nothing, whatever it still believes."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from procession.core.effect import EffectState
from procession.core.event import EventState
from procession.core.ids import LaneId
from procession.core.lane import Lease, Phase, Side
from procession.core.turn import HeldEffect, HeldTurn, NotBegun
from procession.core.verdict import Confirmed, Deferred, Fate
from tests.conformance.acts import (
    a_running_turn,
    a_send,
    accept,
    an_armed_send,
    ask_for,
    begin,
    claim_one,
    claim_send,
    claim_sends,
    effect_seen,
    event_seen,
    pass_time,
    phase_of,
    record,
    settle,
)
from tests.conformance.builders import (
    BOLT,
    ONE,
    OTHER,
    TTL,
    a_settlement,
    a_step,
    an_effect,
    an_event,
    the_effect,
    the_event,
    the_lane,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture

Forge = Callable[[Lease], Lease]

FORGED: dict[str, Forge] = {
    "another tenant": lambda lease: replace(lease, tenant=BOLT),
    "another lane": lambda lease: replace(lease, lane=the_lane("bob")),
    "the other side": lambda lease: replace(lease, side=Side.SENDS if lease.side is Side.TURNS else Side.TURNS),
    "another era": lambda lease: replace(lease, era=lease.era + 1),
    "an older epoch": lambda lease: replace(lease, epoch=lease.epoch - 1),
    "a newer epoch": lambda lease: replace(lease, epoch=lease.epoch + 1),
    "an unknown lane": lambda lease: replace(lease, lane=LaneId("nowhere")),
}
forged = pytest.mark.parametrize("forge", FORGED.values(), ids=FORGED.keys())


async def and_nothing_changed(harness: Harness, writing: Callable[[], Awaitable[object]]) -> object:
    """The answer of a write that has to leave everything as it is."""
    before = await picture(harness)
    answer = await writing()
    assert await picture(harness) == before
    return answer


async def a_turn_among_others(harness: Harness) -> HeldTurn:
    """Lanes that are held beside it, so that a lease with a wrong word names something that exists and is held."""
    for beside in (an_event(lane="bob"), replace(an_event(tenant=BOLT), lane=the_lane())):
        for _ in range(3):
            other = await a_running_turn(harness, beside)
            await harness.store.release([other.lease])
        await claim_one(harness)
    return await a_running_turn(harness)


# --- a lease that is not exactly the one held ---


@forged
@line("G6", "T1")
async def test_a_settlement_under_a_lease_that_is_not_held_is_lost(harness: Harness, forge: Forge) -> None:
    turn = await a_turn_among_others(harness)
    settlement = replace(a_settlement(turn, state=b"lost", effects=(an_effect(),)), lease=forge(turn.lease))

    settled = await and_nothing_changed(harness, lambda: harness.store.settle(settlement))

    assert settled == type(await harness.store.settle(settlement))(fate=Fate.LOST)
    assert (await settle(harness, turn)).fate is Fate.KEPT


@forged
@line("G6", "M1", "M2")
async def test_a_step_under_a_lease_that_is_not_held_is_lost(harness: Harness, forge: Forge) -> None:
    turn = await a_turn_among_others(harness)

    fate = await and_nothing_changed(
        harness, lambda: harness.store.remember(forge(turn.lease), turn.id, [a_step()], [an_effect()])
    )

    await harness.store.release([turn.lease])
    assert fate is Fate.LOST
    assert (await claim_one(harness)).steps == ()


@forged
@line("G6", "N1")
async def test_a_renewal_under_a_lease_that_is_not_held_is_lost(harness: Harness, forge: Forge) -> None:
    turn = await a_turn_among_others(harness)
    lease = forge(turn.lease)

    lost = await harness.store.renew([lease], TTL * 10)

    assert lost == (lease,)
    assert (await pass_time(harness, TTL)).deaths == 3


@forged
@line("G6", "R1")
async def test_a_release_under_a_lease_that_is_not_held_is_passed_over(harness: Harness, forge: Forge) -> None:
    turn = await a_turn_among_others(harness)

    await and_nothing_changed(harness, lambda: harness.store.release([forge(turn.lease)]))

    assert await phase_of(harness) is Phase.HELD


@forged
@line("G6", "B1")
async def test_a_begin_under_a_lease_that_is_not_held_is_lost(harness: Harness, forge: Forge) -> None:
    send = await a_send(harness)
    await a_running_turn(harness, an_event(2))

    answer = await and_nothing_changed(
        harness, lambda: harness.store.begin(forge(send.lease), send.effect.id, send.effect.attempts + 1)
    )

    assert isinstance(answer, NotBegun)
    assert answer.fate is Fate.LOST


@forged
@line("G6", "D1")
async def test_a_verdict_under_a_lease_that_is_not_held_is_lost(harness: Harness, forge: Forge) -> None:
    send, attempt = await an_armed_send(harness)
    await a_running_turn(harness, an_event(2))

    recorded = await and_nothing_changed(
        harness,
        lambda: harness.store.record(forge(send.lease), send.effect.id, attempt, Confirmed(ref="r"), None),
    )

    assert recorded == type(await record(harness, send, attempt, Confirmed(ref="r")))(fate=Fate.LOST)
    assert (await effect_seen(harness, the_effect())).state is EffectState.CONFIRMED


@line("G6", "B1", "D1")
async def test_a_lease_is_no_right_over_another_lanes_effect(harness: Harness) -> None:
    await ask_for(harness, an_effect("a"), an_effect("b", lane="bob"))
    sends = {send.effect.key: send for send in await claim_sends(harness)}

    answer = await harness.store.begin(sends["a"].lease, the_effect("b"), 1)

    assert isinstance(answer, NotBegun)
    assert (await effect_seen(harness, the_effect("b"))).state is EffectState.PENDING
    assert await begin(harness, sends["b"]) == 1


# --- a handler that sleeps past its lease ---


async def a_turn_that_was_overtaken(harness: Harness) -> tuple[HeldTurn, HeldTurn]:
    """A handler sleeps past its lease: the lane is swept, and another worker has claimed it."""
    late = await a_running_turn(harness, worker=ONE)
    await pass_time(harness, TTL)
    return late, await claim_one(harness, worker=OTHER, suspects=True)


async def a_send_that_was_overtaken(harness: Harness) -> tuple[HeldEffect, HeldEffect]:
    """The same for a sender that had not begun yet."""
    late = await a_send(harness)
    await pass_time(harness, TTL)
    return late, await claim_send(harness, worker=OTHER)


@line("G6", "T1", "C1")
async def test_a_handler_that_sleeps_past_its_lease_cannot_settle(harness: Harness) -> None:
    late, now = await a_turn_that_was_overtaken(harness)
    settlement = a_settlement(late, state=b"late", effects=(an_effect(),), keep_for=TTL)

    settled = await and_nothing_changed(harness, lambda: harness.store.settle(settlement))

    assert getattr(settled, "fate", None) is Fate.LOST
    assert (await event_seen(harness, the_event())).state is EventState.WAITING
    assert (await settle(harness, now)).fate is Fate.KEPT
    assert (await a_running_turn(harness, an_event(2))).state is None
    assert await claim_sends(harness) == ()


@line("G6", "M1")
async def test_a_handler_that_sleeps_past_its_lease_cannot_remember_a_step(harness: Harness) -> None:
    late, now = await a_turn_that_was_overtaken(harness)

    fate = await and_nothing_changed(
        harness, lambda: harness.store.remember(late.lease, late.id, [a_step("ask", b"late")])
    )

    assert fate is Fate.LOST
    await harness.store.release([now.lease])
    assert (await claim_one(harness, suspects=True)).steps == ()


@line("G6", "M2")
async def test_a_handler_that_sleeps_past_its_lease_cannot_flush_a_send(harness: Harness) -> None:
    late, _ = await a_turn_that_was_overtaken(harness)

    fate = await and_nothing_changed(harness, lambda: harness.store.remember(late.lease, late.id, flush=[an_effect()]))

    assert fate is Fate.LOST
    assert await claim_sends(harness) == ()


@line("G6", "B1")
async def test_a_sender_that_sleeps_past_its_lease_cannot_begin(harness: Harness) -> None:
    late, now = await a_send_that_was_overtaken(harness)

    answer = await and_nothing_changed(harness, lambda: harness.store.begin(late.lease, late.effect.id, 1))

    assert isinstance(answer, NotBegun)
    assert answer.fate is Fate.LOST
    assert await begin(harness, now) == 1


@line("G6", "B1")
async def test_a_sender_that_sleeps_past_its_lease_does_not_share_the_others_attempt(harness: Harness) -> None:
    """Both believe in attempt 1: only the one whose epoch holds may write its first byte."""
    late, now = await a_send_that_was_overtaken(harness)
    await begin(harness, now)

    answer = await and_nothing_changed(harness, lambda: harness.store.begin(late.lease, late.effect.id, 1))

    assert isinstance(answer, NotBegun)
    assert answer.fate is Fate.LOST


@line("G6", "D1")
async def test_a_sender_that_sleeps_past_its_lease_cannot_record(harness: Harness) -> None:
    late, now = await a_send_that_was_overtaken(harness)
    attempt = await begin(harness, now)

    recorded = await and_nothing_changed(
        harness, lambda: record(harness, late, attempt, Deferred(after=TTL, reason="late"))
    )

    assert getattr(recorded, "fate", None) is Fate.LOST
    assert (await record(harness, now, attempt, Confirmed())).fate is Fate.KEPT


@line("G6", "N1")
async def test_a_handler_that_sleeps_past_its_lease_cannot_renew_it(harness: Harness) -> None:
    late, now = await a_turn_that_was_overtaken(harness)

    lost = await and_nothing_changed(harness, lambda: harness.store.renew([late.lease], TTL * 10))

    assert lost == (late.lease,)
    assert (await pass_time(harness, TTL)).leases_freed == 1
    assert (await settle(harness, now)).fate is Fate.LOST


@line("G6", "R1")
async def test_a_handler_that_sleeps_past_its_lease_cannot_release_it(harness: Harness) -> None:
    late, now = await a_turn_that_was_overtaken(harness)

    await and_nothing_changed(harness, lambda: harness.store.release([late.lease], uncount=False))

    assert await phase_of(harness) is Phase.HELD
    assert (await settle(harness, now)).fate is Fate.KEPT


@line("G6", "R2")
async def test_a_sender_that_sleeps_past_its_lease_cannot_release_it(harness: Harness) -> None:
    late, now = await a_send_that_was_overtaken(harness)
    attempt = await begin(harness, now)

    await and_nothing_changed(harness, lambda: harness.store.release([late.lease]))

    assert (await record(harness, now, attempt, Confirmed())).fate is Fate.KEPT


@line("G6", "S1", "T1")
async def test_a_swept_lease_is_lost_also_while_nobody_else_has_claimed_the_lane(harness: Harness) -> None:
    late = await a_running_turn(harness)
    await pass_time(harness, TTL)

    settled = await and_nothing_changed(harness, lambda: harness.store.settle(a_settlement(late)))

    assert getattr(settled, "fate", None) is Fate.LOST


@line("G6", "N1")
async def test_a_lease_that_ran_out_and_that_nobody_noticed_still_settles(harness: Harness) -> None:
    """Only the epoch decides: nobody else has held the lane, so what was done under it is whole."""
    turn = await a_running_turn(harness)
    harness.clock.advance(TTL * 5)

    assert (await settle(harness, turn)).fate is Fate.KEPT


@line("G6", "T1")
async def test_a_released_turn_cannot_be_settled(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.release([turn.lease])

    settled = await and_nothing_changed(harness, lambda: harness.store.settle(a_settlement(turn)))

    assert getattr(settled, "fate", None) is Fate.LOST


@line("G6", "T1")
async def test_one_worker_is_fenced_against_its_own_older_lease(harness: Harness) -> None:
    """A worker's name says nothing: the same worker claims the lane again after it slept."""
    late = await a_running_turn(harness, worker=ONE)
    await pass_time(harness, TTL)
    await claim_one(harness, worker=ONE, suspects=True)

    assert (await settle(harness, late)).fate is Fate.LOST


@line("G1", "G6")
async def test_of_two_that_settle_at_once_only_the_holder_is_kept(harness: Harness) -> None:
    await accept(harness, an_event(2))
    late, now = await a_turn_that_was_overtaken_of_two(harness)

    answers = await asyncio.gather(
        *(harness.store.settle(a_settlement(turn, state=state)) for turn, state in ((late, b"late"), (now, b"now")))
    )

    assert [answer.fate for answer in answers] == [Fate.LOST, Fate.KEPT]
    assert (await claim_one(harness)).state == b"now"


async def a_turn_that_was_overtaken_of_two(harness: Harness) -> tuple[HeldTurn, HeldTurn]:
    await accept(harness, an_event(1))
    late = await claim_one(harness)
    await pass_time(harness, TTL)
    return late, await claim_one(harness, worker=OTHER, suspects=True)


@line("G6", "G2", needs=(Guarantee.DURABLE,))
async def test_a_lease_of_before_a_restart_is_lost_once_another_holds_the_lane(harness: Harness) -> None:
    late = await a_running_turn(harness)
    await harness.reopen()
    await pass_time(harness, TTL)
    now = await claim_one(harness, worker=OTHER, suspects=True)

    assert (await settle(harness, late)).fate is Fate.LOST
    assert now.lease.epoch > late.lease.epoch
    assert (await settle(harness, now)).fate is Fate.KEPT
