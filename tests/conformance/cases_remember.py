"""remember: steps of a running turn, and effects that go before it ends."""

from procession.core.event import EventState
from procession.core.lane import Phase, Side
from procession.core.turn import Delay, SetAside
from procession.core.verdict import Confirmed, Fate
from tests.conformance.acts import (
    a_running_turn,
    begin,
    claim_one,
    claim_send,
    claim_sends,
    event_seen,
    pass_time,
    phase_of,
    record,
    settle,
)
from tests.conformance.builders import (
    ACME,
    BOLT,
    OPERATOR,
    TTL,
    a_step,
    an_effect,
    an_event,
    seconds,
    the_effect,
    the_event,
    the_lane,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture


@line("M1")
async def test_steps_are_kept_for_the_next_try(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    steps = [a_step("ask", b"\x00"), a_step("ask", b"", occurrence=1), a_step("call", b"c")]

    fate = await harness.store.remember(turn.lease, turn.id, steps)
    await pass_time(harness, TTL)

    again = await claim_one(harness, suspects=True)
    assert fate is Fate.KEPT
    assert sorted(again.steps, key=lambda step: (step.name, step.occurrence)) == steps


@line("M1", "G4")
async def test_the_first_value_of_a_steps_place_wins(harness: Harness) -> None:
    turn = await a_running_turn(harness)

    await harness.store.remember(turn.lease, turn.id, [a_step("ask", b"first")])
    fate = await harness.store.remember(turn.lease, turn.id, [a_step("ask", b"second"), a_step("more")])
    await harness.store.release([turn.lease])

    assert fate is Fate.KEPT
    assert {step.name: step.value for step in (await claim_one(harness)).steps} == {"ask": b"first", "more": b"42"}


@line("M1", "G7")
async def test_steps_belong_to_their_turn(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, [a_step()])
    await settle(harness, turn)

    assert (await a_running_turn(harness, an_event(2))).steps == ()
    assert (await a_running_turn(harness, an_event(1, tenant=BOLT))).steps == ()


@line("M1")
async def test_a_step_leaves_the_turn_running(harness: Harness) -> None:
    turn = await a_running_turn(harness)

    await harness.store.remember(turn.lease, turn.id, [a_step()])

    assert await phase_of(harness) is Phase.HELD
    assert (await settle(harness, turn)).fate is Fate.KEPT


@line("M2")
async def test_a_flushed_effect_goes_while_its_turn_still_runs(harness: Harness) -> None:
    turn = await a_running_turn(harness)

    await harness.store.remember(turn.lease, turn.id, flush=[an_effect("one moment"), an_effect("please")])

    order = []
    for _ in range(2):
        send = await claim_send(harness)
        order.append((send.effect.key, send.effect.oseq))
        await record(harness, send, await begin(harness, send), Confirmed())
    assert order == [("one moment", 1), ("please", 2)]
    assert await phase_of(harness) is Phase.HELD


@line("M2", "G4")
async def test_a_repeated_flush_adds_nothing(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, [a_step()], [an_effect()])
    before = await picture(harness)

    fate = await harness.store.remember(turn.lease, turn.id, [a_step()], [an_effect(payload=b"other")])

    assert fate is Fate.KEPT
    assert await picture(harness) == before
    assert (await claim_send(harness)).effect.payload == b"hello"


@line("M2", "T2")
async def test_a_flushed_effect_stays_whatever_becomes_of_its_turn(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, flush=[an_effect()])

    await settle(harness, turn, SetAside(reason="bad"))

    assert (await claim_send(harness)).effect.id == the_effect()


@line("M2", "T3")
async def test_a_second_try_flushes_nothing_twice(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, flush=[an_effect()])
    send = await claim_send(harness)
    await record(harness, send, await begin(harness, send), Confirmed())
    await settle(harness, turn, Delay(after=seconds(1), reason="busy"))
    await pass_time(harness, seconds(1))

    again = await claim_one(harness)
    await harness.store.remember(again.lease, again.id, flush=[an_effect()])

    assert await claim_sends(harness) == ()
    assert await phase_of(harness, side=Side.SENDS) is Phase.IDLE


@line("M1", "M2", "G6")
async def test_a_step_for_another_turn_than_the_open_one_is_lost(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    before = await picture(harness)

    fate = await harness.store.remember(turn.lease, the_event(2), [a_step()], [an_effect()])

    assert fate is Fate.LOST
    assert await picture(harness) == before


@line("M1", "G2", needs=(Guarantee.DURABLE,))
async def test_steps_survive_a_restart(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, [a_step()])

    await harness.reopen()
    await pass_time(harness, TTL)

    assert (await claim_one(harness, suspects=True)).steps == (a_step(),)


@line("M1", "T6")
async def test_steps_of_an_event_that_was_given_up_are_not_in_the_way(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, [a_step()])
    await settle(harness, turn, SetAside(reason="bad"))

    await harness.console.aside_drop(ACME, the_event(), actor=OPERATOR)

    assert (await event_seen(harness, the_event())).state is EventState.SKIPPED
    assert the_lane() == turn.lease.lane
