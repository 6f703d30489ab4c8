"""Windows: the events of a burst are collected into one turn, durably."""

from procession.core.event import NewEvent
from procession.core.lane import Phase
from procession.core.turn import Delay, HeldTurn
from tests.conformance.acts import accept, claim, claim_one, lane_seen, pass_time, phase_of, providers_ids, settle
from tests.conformance.builders import TTL, a_window, an_event, seconds
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line


async def a_burst(harness: Harness, *events: NewEvent) -> HeldTurn:
    """They come, and their window passes."""
    await accept(harness, *events)
    await pass_time(harness, seconds(60))
    return await claim_one(harness)


@line("A6")
async def test_an_event_with_a_window_waits_until_nothing_came_for_the_quiet_time(harness: Harness) -> None:
    await accept(harness, an_event(1, window=a_window(quiet=2)))
    early = await claim(harness)
    assert (await lane_seen(harness)).phase is Phase.WAITING

    await pass_time(harness, seconds(2))

    assert early == ()
    assert providers_ids(await claim_one(harness)) == ["ann-1"]


@line("A6")
async def test_a_newer_event_begins_the_quiet_time_anew(harness: Harness) -> None:
    await accept(harness, an_event(1, window=a_window(quiet=2)))
    await pass_time(harness, seconds(1.5))
    await accept(harness, an_event(2, window=a_window(quiet=2)))

    await pass_time(harness, seconds(1.5))
    early = await claim(harness)
    await pass_time(harness, seconds(0.5))

    assert early == ()
    assert providers_ids(await claim_one(harness)) == ["ann-1", "ann-2"]


@line("A6")
async def test_a_window_ends_at_its_longest_wait_after_the_head(harness: Harness) -> None:
    window = a_window(quiet=2, wait_max=3)
    await accept(harness, an_event(1, window=window))
    await pass_time(harness, seconds(1.5))
    await accept(harness, an_event(2, window=window))
    await pass_time(harness, seconds(1))
    await accept(harness, an_event(3, window=window))
    early = await claim(harness)

    await pass_time(harness, seconds(0.5))

    assert early == ()
    assert providers_ids(await claim_one(harness)) == ["ann-1", "ann-2", "ann-3"]


@line("A6")
async def test_a_window_ends_at_once_when_enough_events_wait(harness: Harness) -> None:
    await accept(harness, an_event(1, window=a_window(events_max=3)), an_event(2, window=a_window(events_max=3)))
    early = await claim(harness)

    await accept(harness, an_event(3, window=a_window(events_max=3)))

    assert early == ()
    assert providers_ids(await claim_one(harness)) == ["ann-1", "ann-2", "ann-3"]


@line("A6")
async def test_a_flushing_event_ends_the_window_at_once(harness: Harness) -> None:
    await accept(harness, an_event(1, window=a_window()))
    early = await claim(harness)

    await accept(harness, an_event(2, window=a_window(flushes=True)))

    assert early == ()
    assert providers_ids(await claim_one(harness)) == ["ann-1", "ann-2"]


@line("C4")
async def test_a_turn_without_window_is_one_event(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2, window=a_window()), an_event(3, window=a_window()))

    assert providers_ids(await claim_one(harness)) == ["ann-1"]


@line("C4")
async def test_a_collecting_turn_ends_before_the_first_event_without_window(harness: Harness) -> None:
    turn = await a_burst(
        harness,
        an_event(1, window=a_window()),
        an_event(2, window=a_window()),
        an_event(3),
        an_event(4, window=a_window()),
    )

    assert providers_ids(turn) == ["ann-1", "ann-2"]


@line("C4")
async def test_a_collecting_turn_holds_no_more_than_its_most_events(harness: Harness) -> None:
    turn = await a_burst(harness, *(an_event(n, window=a_window(events_max=3)) for n in range(1, 6)))

    assert providers_ids(turn) == ["ann-1", "ann-2", "ann-3"]
    assert turn.id == turn.events[0].id


@line("C4")
async def test_a_turn_is_frozen_by_its_first_claim(harness: Harness) -> None:
    turn = await a_burst(harness, an_event(1, window=a_window()), an_event(2, window=a_window()))
    await accept(harness, an_event(3, window=a_window()))

    await harness.store.release([turn.lease])
    second = await claim_one(harness)
    await settle(harness, second, Delay(after=seconds(1), reason="busy"))
    await pass_time(harness, seconds(1))
    third = await claim_one(harness)
    await pass_time(harness, TTL)
    fourth = await claim_one(harness, suspects=True)

    assert [providers_ids(each) for each in (turn, second, third, fourth)] == [["ann-1", "ann-2"]] * 4


@line("A6", "T2")
async def test_what_comes_during_a_collecting_turn_has_a_window_of_its_own(harness: Harness) -> None:
    turn = await a_burst(harness, an_event(1, window=a_window(quiet=2)))
    await accept(harness, an_event(2, window=a_window(quiet=2)))

    await settle(harness, turn)
    early = (await phase_of(harness), await claim(harness))
    await pass_time(harness, seconds(2))

    assert early == (Phase.WAITING, ())
    assert providers_ids(await claim_one(harness)) == ["ann-2"]


@line("A6")
async def test_a_window_that_passed_while_the_lane_was_held_does_not_begin_anew(harness: Harness) -> None:
    turn = await a_burst(harness, an_event(1, window=a_window(quiet=2)))
    await accept(harness, an_event(2, window=a_window(quiet=2)))
    harness.clock.advance(seconds(3))

    await settle(harness, turn)

    assert providers_ids(await claim_one(harness)) == ["ann-2"]


@line("A6", "C4")
async def test_an_event_without_window_behind_a_collecting_head_does_not_join_it(harness: Harness) -> None:
    await accept(harness, an_event(1, window=a_window(quiet=2)), an_event(2))

    await pass_time(harness, seconds(2))

    assert providers_ids(await claim_one(harness)) == ["ann-1"]


@line("A6", "A1")
async def test_a_redelivery_does_not_prolong_a_window(harness: Harness) -> None:
    await accept(harness, an_event(1, window=a_window(quiet=2)))
    await pass_time(harness, seconds(1))
    await accept(harness, an_event(1, window=a_window(quiet=2)))

    await pass_time(harness, seconds(1))

    assert providers_ids(await claim_one(harness)) == ["ann-1"]


@line("A6", "S3")
async def test_a_sweep_says_when_a_window_ends(harness: Harness) -> None:
    await accept(harness, an_event(1, window=a_window(quiet=2)))

    swept = await harness.store.sweep(10)

    assert swept.next_after == seconds(2)


@line("A6", "S3", "G2", needs=(Guarantee.DURABLE,))
async def test_a_window_survives_a_restart(harness: Harness) -> None:
    await accept(harness, an_event(1, window=a_window(quiet=2)), an_event(2, window=a_window(quiet=2)))

    await harness.reopen()
    early = await claim(harness)
    await pass_time(harness, seconds(2))

    assert early == ()
    assert providers_ids(await claim_one(harness)) == ["ann-1", "ann-2"]
