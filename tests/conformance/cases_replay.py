"""Replays: a set-aside event is played once more, in its place before what waits."""

import pytest

from procession.core.event import EventState
from procession.core.lane import Phase
from procession.core.turn import Delay, Park, SetAside
from procession.core.verdict import Confirmed, Fate
from tests.conformance.acts import (
    accept,
    begin,
    claim,
    claim_one,
    claim_send,
    claim_sends,
    event_seen,
    pass_time,
    phase_of,
    providers_ids,
    record,
    settle,
)
from tests.conformance.builders import (
    ACME,
    BOLT,
    OPERATOR,
    TTL,
    a_step,
    a_window,
    an_effect,
    an_event,
    seconds,
    the_event,
    the_lane,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture


async def set_aside(harness: Harness, *numbers: int, then_done: int = 0) -> None:
    """These events of the lane are set aside, in order; so many more are done after them."""
    for n in numbers:
        await accept(harness, an_event(n))
        await settle(harness, await claim_one(harness), SetAside(reason="bad"))
    for n in range(then_done):
        await accept(harness, an_event(100 + n))
        await settle(harness, await claim_one(harness))


async def replay(harness: Harness, n: int) -> bool:
    return await harness.console.replay(ACME, the_event(n), actor=OPERATOR)


async def played(harness: Harness) -> list[str]:
    order = []
    while turns := await claim(harness):
        for turn in turns:
            order += providers_ids(turn)
            await settle(harness, turn)
    return order


@line("K1", "T6")
async def test_a_replayed_event_is_played_before_what_waits_and_keeps_its_seq(harness: Harness) -> None:
    await set_aside(harness, 1, then_done=1)
    await accept(harness, an_event(7), an_event(8))

    replayed = await replay(harness, 1)

    turn = await claim_one(harness)
    assert replayed
    assert (providers_ids(turn), turn.events[0].seq) == (["ann-1"], 1)
    await settle(harness, turn)
    assert (await event_seen(harness, the_event(1))).state is EventState.DONE
    assert await played(harness) == ["ann-7", "ann-8"]


@line("G8")
async def test_a_replay_makes_an_idle_lane_ready(harness: Harness) -> None:
    await set_aside(harness, 1)
    idle = await phase_of(harness)

    await replay(harness, 1)

    assert (idle, await phase_of(harness)) == (Phase.IDLE, Phase.READY)


@line("T2")
async def test_replayed_events_are_played_in_the_order_of_their_seqs(harness: Harness) -> None:
    await set_aside(harness, 1, 2, 3)
    await accept(harness, an_event(4))

    for n in (3, 1, 2):
        await replay(harness, n)

    assert await played(harness) == ["ann-1", "ann-2", "ann-3", "ann-4"]


@line("T2", "A2")
async def test_the_lane_goes_on_where_it_was_after_a_replay(harness: Harness) -> None:
    await set_aside(harness, 1, then_done=2)
    await replay(harness, 1)
    await settle(harness, await claim_one(harness), state=b"s")

    (place,) = await accept(harness, an_event(7))

    assert place.seq == 4
    assert await played(harness) == ["ann-7"]
    assert (await harness.console.counts(ACME)).done == 4


@line("C1")
async def test_a_replay_waits_for_the_turn_that_runs(harness: Harness) -> None:
    await set_aside(harness, 1)
    await accept(harness, an_event(7), an_event(8))
    running = await claim_one(harness)

    await replay(harness, 1)

    assert await claim(harness) == ()
    assert (await settle(harness, running)).fate is Fate.KEPT
    assert await played(harness) == ["ann-1", "ann-8"]


@line("T11")
async def test_a_kept_lane_plays_the_replay_next(harness: Harness) -> None:
    await set_aside(harness, 1)
    await accept(harness, an_event(7), an_event(8))
    running = await claim_one(harness)
    await replay(harness, 1)

    settled = await settle(harness, running, keep_for=TTL)

    assert settled.next is not None
    assert providers_ids(settled.next) == ["ann-1"]


@line("C4")
async def test_a_replay_does_not_come_between_a_delayed_turn_and_its_next_try(harness: Harness) -> None:
    """What a turn holds is frozen by its first claim, and its place too: the replay comes behind it."""
    await set_aside(harness, 1)
    await accept(harness, an_event(7))
    await settle(harness, await claim_one(harness), Delay(after=seconds(5), reason="busy"))

    await replay(harness, 1)
    await pass_time(harness, seconds(5))

    assert sorted(await played(harness)) == ["ann-1", "ann-7"]


@line("C4", "T6")
async def test_an_event_of_a_collected_turn_is_replayed_as_its_own_turn(harness: Harness) -> None:
    await accept(harness, *(an_event(n, window=a_window(events_max=3)) for n in (1, 2, 3)))
    await settle(harness, await claim_one(harness), SetAside(reason="bad"))

    await replay(harness, 2)
    await replay(harness, 1)

    first = await claim_one(harness)
    assert (first.id, providers_ids(first)) == (the_event(1), ["ann-1"])
    await settle(harness, first)
    second = await claim_one(harness)
    assert (second.id, providers_ids(second)) == (the_event(2), ["ann-2"])


@line("T6")
async def test_a_replay_may_be_set_aside_again(harness: Harness) -> None:
    await set_aside(harness, 1)
    await replay(harness, 1)

    await settle(harness, await claim_one(harness), SetAside(reason="still bad"))

    (aside,) = await harness.console.asides(ACME)
    assert (aside.id, aside.seq, aside.reason) == (the_event(1), 1, "still bad")
    assert await claim(harness) == ()
    assert await replay(harness, 1)


@line("T5")
async def test_a_replay_may_be_parked_and_resumed(harness: Harness) -> None:
    await set_aside(harness, 1, then_done=1)
    await replay(harness, 1)
    await settle(harness, await claim_one(harness), Park(reason="ask"))

    await harness.console.resume(ACME, the_lane(), actor=OPERATOR)

    assert await played(harness) == ["ann-1"]


@line("M1", "T6", "T7")
async def test_remembered_steps_hold_in_a_replay(harness: Harness) -> None:
    await accept(harness, an_event())
    turn = await claim_one(harness)
    await harness.store.remember(turn.lease, turn.id, [a_step()])
    await settle(harness, turn, SetAside(reason="bad"))
    await replay(harness, 1)

    assert (await claim_one(harness)).steps == (a_step(),)


@line("M2", "T3")
async def test_effects_that_were_flushed_are_not_repeated_by_a_replay(harness: Harness) -> None:
    await accept(harness, an_event())
    turn = await claim_one(harness)
    await harness.store.remember(turn.lease, turn.id, flush=[an_effect("0")])
    send = await claim_send(harness)
    await record(harness, send, await begin(harness, send), Confirmed())
    await settle(harness, turn, SetAside(reason="bad"))
    await replay(harness, 1)

    again = await claim_one(harness)
    await settle(harness, again, effects=(an_effect("0"), an_effect("1")))

    assert (await claim_send(harness)).effect.key == "1"


@line("K4")
async def test_a_replay_that_is_repeated_changes_nothing_and_says_so(harness: Harness) -> None:
    await set_aside(harness, 1)
    await replay(harness, 1)
    before = await picture(harness)

    again = await replay(harness, 1)

    assert not again
    assert await picture(harness) == before


@pytest.mark.parametrize("tenant_name", [BOLT])
@line("G7")
async def test_another_tenants_event_is_not_replayed(harness: Harness, tenant_name: str) -> None:
    await set_aside(harness, 1)

    replayed = await harness.console.replay(BOLT, the_event(1), actor=OPERATOR)

    assert not replayed
    assert (await event_seen(harness, the_event(1))).state is EventState.SET_ASIDE
    assert await claim(harness) == ()


@line("S1")
async def test_a_replay_survives_the_death_of_its_worker(harness: Harness) -> None:
    await set_aside(harness, 1, then_done=1)
    await accept(harness, an_event(7))
    await replay(harness, 1)
    await claim_one(harness)

    await pass_time(harness, TTL)

    again = await claim_one(harness, suspects=True)
    assert (providers_ids(again), again.deaths) == (["ann-1"], 1)
    await settle(harness, again)
    assert await played(harness) == ["ann-7"]


@line("G2", needs=(Guarantee.DURABLE,))
async def test_a_replay_survives_a_restart(harness: Harness) -> None:
    await set_aside(harness, 1, then_done=1)
    await replay(harness, 1)

    await harness.reopen()

    assert providers_ids(await claim_one(harness)) == ["ann-1"]
    assert await claim_sends(harness) == ()
