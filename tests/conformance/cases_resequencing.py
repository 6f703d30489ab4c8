"""Resequencing: a source's own order, kept within a window, deduplicated and durable."""

import pytest

from procession.core.event import EventState, Order, Stale
from procession.core.lane import Phase
from tests.conformance.acts import (
    accept,
    claim,
    claim_one,
    event_seen,
    pass_time,
    phase_of,
    providers_ids,
    settle,
    sweep,
)
from tests.conformance.builders import an_event, moment, number, seconds, the_event, version
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line


async def played(harness: Harness) -> list[tuple[str, bool]]:
    """What can be played now, in order, with what says that it is late."""
    order = []
    while turns := await claim(harness):
        for turn in turns:
            order += [(event.provider_id, event.late) for event in turn.events]
            await settle(harness, turn)
    return order


async def seqs(harness: Harness, *numbers: int) -> list[int | None]:
    return [(await event_seen(harness, the_event(n))).seq for n in numbers]


@line("A3")
async def test_an_expected_number_takes_its_seq(harness: Harness) -> None:
    places = await accept(harness, an_event(1, order=number(1)), an_event(2, order=number(2)))

    assert [place.seq for place in places] == [1, 2]


@line("A1", "A3")
async def test_a_repeat_within_one_delivery_of_an_event_with_an_order_changes_nothing(harness: Harness) -> None:
    first, repeat, plain = await accept(
        harness, an_event(1, order=number(1)), an_event(1, order=number(1)), an_event(1)
    )

    assert [place.fresh for place in (first, repeat, plain)] == [True, False, False]
    assert (await harness.console.counts()).accepted == 1
    assert await played(harness) == [("ann-1", False)]


@line("A3")
async def test_an_early_number_is_held_without_seq(harness: Harness) -> None:
    (place,) = await accept(harness, an_event(3, order=number(3)))

    view = await event_seen(harness, the_event(3))
    assert (place.fresh, place.seq) == (True, None)
    assert (view.state, view.seq) == (EventState.HELD, None)
    assert await claim(harness) == ()


@line("A3")
async def test_the_missing_number_releases_those_that_follow_it_without_gap(harness: Harness) -> None:
    await accept(harness, *(an_event(n, order=number(n)) for n in (5, 3, 2)))

    (place,) = await accept(harness, an_event(1, order=number(1)))

    assert place.seq == 1
    assert await seqs(harness, 2, 3, 5) == [2, 3, None]
    assert await played(harness) == [("ann-1", False), ("ann-2", False), ("ann-3", False)]


@line("A3")
async def test_numbers_in_disorder_within_one_intake_are_put_in_order(harness: Harness) -> None:
    await accept(harness, *(an_event(n, order=number(n)) for n in (3, 1, 2)))

    assert await seqs(harness, 1, 2, 3) == [1, 2, 3]


@line("A3")
async def test_without_a_first_number_a_lane_begins_with_what_it_sees(harness: Harness) -> None:
    places = await accept(harness, an_event(7, order=number(7, first=None)), an_event(9, order=number(9, first=None)))

    assert [place.seq for place in places] == [1, None]
    assert await played(harness) == [("ann-7", False)]


@line("A3")
async def test_a_number_that_has_passed_takes_the_next_seq_and_is_late(harness: Harness) -> None:
    await accept(harness, an_event(4, order=number(4, first=None)), an_event(5, order=number(5, first=None)))

    (place,) = await accept(harness, an_event(3, order=number(3, first=None)))

    assert place.seq == 3
    assert (await event_seen(harness, the_event(3))).late
    assert await played(harness) == [("ann-4", False), ("ann-5", False), ("ann-3", True)]


@line("A3")
async def test_the_newest_number_again_under_another_id_has_passed(harness: Harness) -> None:
    await accept(harness, an_event(1, order=number(1)))

    (place,) = await accept(harness, an_event(2, order=number(1)))

    assert place.seq == 2
    assert await played(harness) == [("ann-1", False), ("ann-2", True)]


@line("A3")
async def test_a_late_number_does_not_change_what_is_expected(harness: Harness) -> None:
    await accept(harness, an_event(4, order=number(4, first=None)))
    await accept(harness, an_event(2, order=number(2, first=None)))

    (place,) = await accept(harness, an_event(5, order=number(5, first=None)))

    assert place.seq == 3


@pytest.mark.parametrize(
    ("newest", "stale"),
    [
        (number(4, first=None), number(3, first=None, stale=Stale.DROP)),
        (version(4), version(3, stale=Stale.DROP)),
        (version(4), version(4, stale=Stale.DROP)),
        (moment(4), moment(3, stale=Stale.DROP)),
        (version(4), version(3, stale=Stale.DROP, window=10)),
        (moment(4), moment(3, stale=Stale.DROP, window=10)),
    ],
)
@line("A3", "A4", "A5", "A1")
async def test_what_is_stale_may_be_dropped_and_is_still_known(harness: Harness, newest: Order, stale: Order) -> None:
    await accept(harness, an_event(4, order=newest))

    (place,) = await accept(harness, an_event(3, order=stale))
    (again,) = await accept(harness, an_event(3, order=stale))

    assert (place.fresh, place.seq, again.fresh) == (True, None, False)
    assert (await event_seen(harness, the_event(3))).state is EventState.DROPPED
    assert (await harness.console.counts()).dropped == 1
    assert await played(harness) == [("ann-4", False)]


@line("A3", "A2")
async def test_events_with_and_without_order_share_their_lanes_seqs(harness: Harness) -> None:
    places = await accept(
        harness,
        an_event(1, order=number(1)),
        an_event(8),
        an_event(3, order=number(3)),
        an_event(9),
        an_event(2, order=number(2)),
    )

    assert [place.seq for place in places if place.event != the_event(3)] == [1, 2, 3, 4]
    assert await seqs(harness, 3) == [5]


@line("A4")
async def test_a_newer_version_takes_its_seq_over_a_gap(harness: Harness) -> None:
    places = await accept(harness, an_event(1, order=version(10)), an_event(2, order=version(17)))

    assert [place.seq for place in places] == [1, 2]


@pytest.mark.parametrize("key", [9, 10])
@line("A4")
async def test_a_version_that_is_not_newer_is_late(harness: Harness, key: int) -> None:
    await accept(harness, an_event(1, order=version(10)))

    (place,) = await accept(harness, an_event(2, order=version(key)))

    assert place.seq == 2
    assert await played(harness) == [("ann-1", False), ("ann-2", True)]


@line("A4", "S6")
async def test_versions_with_a_window_are_sorted_within_it(harness: Harness) -> None:
    places = await accept(harness, an_event(2, order=version(20, window=5)), an_event(1, order=version(10, window=5)))
    early = await played(harness)

    swept = await pass_time(harness, seconds(5))

    assert [place.seq for place in places] == [None, None]
    assert (early, swept.released) == ([], 2)
    assert await played(harness) == [("ann-1", False), ("ann-2", False)]


@line("A5")
async def test_a_moment_that_is_not_older_takes_its_seq(harness: Harness) -> None:
    places = await accept(harness, an_event(1, order=moment(100)), an_event(2, order=moment(100)))

    assert [place.seq for place in places] == [1, 2]
    assert await played(harness) == [("ann-1", False), ("ann-2", False)]


@line("A5")
async def test_a_moment_that_is_older_than_the_newest_is_late(harness: Harness) -> None:
    await accept(harness, an_event(1, order=moment(100)))

    await accept(harness, an_event(2, order=moment(99)))

    assert await played(harness) == [("ann-1", False), ("ann-2", True)]


@line("A5", "S6")
async def test_moments_with_a_window_are_sorted_within_it(harness: Harness) -> None:
    await accept(harness, *(an_event(n, order=moment(n, window=5)) for n in (3, 1, 2)))

    await pass_time(harness, seconds(5))

    assert await played(harness) == [("ann-1", False), ("ann-2", False), ("ann-3", False)]


@line("S6")
async def test_what_is_due_takes_those_before_it_along(harness: Harness) -> None:
    await accept(harness, an_event(2, order=moment(20, window=10)))
    await pass_time(harness, seconds(6))
    await accept(harness, an_event(1, order=moment(10, window=10)), an_event(3, order=moment(30, window=10)))

    swept = await pass_time(harness, seconds(4))

    assert swept.released == 2
    assert await played(harness) == [("ann-1", False), ("ann-2", False)]
    await pass_time(harness, seconds(6))
    assert await played(harness) == [("ann-3", False)]


@line("S6")
async def test_a_number_whose_window_is_over_passes_the_gap(harness: Harness) -> None:
    await accept(harness, an_event(3, order=number(3, window=10)), an_event(4, order=number(4, window=100)))

    swept = await pass_time(harness, seconds(10))

    assert swept.released >= 1
    assert (await seqs(harness, 3))[0] == 1
    assert (await played(harness))[0] == ("ann-3", False)


@line("S6", "A3")
async def test_what_comes_for_a_gap_that_was_passed_is_late(harness: Harness) -> None:
    await accept(harness, an_event(3, order=number(3, window=10)))
    await pass_time(harness, seconds(10))

    places = await accept(harness, an_event(2, order=number(2)), an_event(4, order=number(4)))

    assert [place.seq for place in places] == [2, 3]
    assert await played(harness) == [("ann-3", False), ("ann-2", True), ("ann-4", False)]


@line("S6")
async def test_before_its_window_is_over_nothing_is_released(harness: Harness) -> None:
    await accept(harness, an_event(3, order=number(3, window=10)))

    swept = await pass_time(harness, seconds(9.9))

    assert swept.released == 0
    assert await played(harness) == []


@line("S6", "G8")
async def test_a_release_makes_a_lane_at_rest_ready(harness: Harness) -> None:
    await accept(harness, an_event(3, order=number(3, window=10)))

    await pass_time(harness, seconds(10))

    assert await phase_of(harness) is Phase.READY


@line("S6", "G4")
async def test_a_second_sweep_releases_nothing_more(harness: Harness) -> None:
    await accept(harness, an_event(3, order=number(3, window=10)))
    await pass_time(harness, seconds(10))

    swept = await sweep(harness)

    assert swept.released == 0
    assert await seqs(harness, 3) == [1]


@line("A3", "S6", "G2", needs=(Guarantee.DURABLE,))
async def test_held_events_and_what_is_expected_survive_a_restart(harness: Harness) -> None:
    await accept(harness, an_event(1, order=number(1)), an_event(3, order=number(3)))
    await harness.reopen()

    (again,) = await accept(harness, an_event(3, order=number(3)))
    (place,) = await accept(harness, an_event(2, order=number(2)))

    assert not again.fresh
    assert place.seq == 2
    assert await seqs(harness, 3) == [3]


@line("A3", "A6")
async def test_an_event_that_is_released_into_a_turn_takes_its_place_behind_it(harness: Harness) -> None:
    await accept(harness, an_event(1, order=number(1)), an_event(3, order=number(3)))
    turn = await claim_one(harness)

    await accept(harness, an_event(2, order=number(2)))

    assert providers_ids(turn) == ["ann-1"]
    await settle(harness, turn)
    assert await played(harness) == [("ann-2", False), ("ann-3", False)]
