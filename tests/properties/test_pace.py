"""The arithmetic of pace: never more than the provider allows, and nobody waits for longer than that takes."""

from datetime import timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from procession.core.pace import Burst, Pace, channel_slot, pair_slot

SECOND = 1_000_000
NOW = 1_900_000_000 * SECOND
WHATSAPP = Pace(per_second=80, pair_every=timedelta(seconds=6), pair_burst=45)
EVERY = 6 * SECOND
NEVER_SENT = Burst(since=0, count=0)

waits = st.lists(st.integers(0, 3 * SECOND) | st.sampled_from([0, 1, 12_500, SECOND]), min_size=1, max_size=60)
paces = st.integers(1, 2_000) | st.sampled_from([1, 3, 7, 9, 10, 11, 30, 80, 1_000])


def places_of(pace: Pace, waited: list[int]) -> list[int]:
    """When each goes that asks so long after the one before."""
    now, line, places = NOW, 0, list[int]()
    for wait in waited:
        now += wait
        at, line = channel_slot(pace, line, now)
        assert at >= now
        places.append(at)
    return places


def most_within(span: int, moments: list[int]) -> int:
    """How many lie within any span of this length at the most, its end not counted."""
    ordered = sorted(moments)
    return max(sum(1 for own in ordered[at:] if own < begin + span) for at, begin in enumerate(ordered))


@given(per_second=paces, waited=waits)
@example(per_second=30, waited=[0] * 60)
@example(per_second=1, waited=[0, SECOND, 0])
def test_within_any_second_go_no_more_than_the_pace_and_its_early_share(per_second: int, waited: list[int]) -> None:
    places = places_of(Pace(per_second=per_second), waited)

    assert most_within(SECOND, places) <= per_second + per_second // 10


@given(per_second=paces, crowd=st.integers(1, 200))
def test_a_crowd_waits_no_longer_than_an_even_pace_takes(per_second: int, crowd: int) -> None:
    places = places_of(Pace(per_second=per_second), [0] * crowd)

    assert places == sorted(places)
    assert places[-1] - NOW <= crowd * SECOND / per_second + crowd


def test_after_a_rest_nobody_has_saved_up_more_than_the_early_share() -> None:
    rested = places_of(WHATSAPP, [0, 3600 * SECOND, *[0] * 20])[1:]

    assert sum(1 for at in rested if at == rested[0]) == 9


def test_a_slow_channel_sends_nothing_early() -> None:
    assert places_of(Pace(per_second=2), [0, 0, 0]) == [NOW, NOW + SECOND // 2, NOW + SECOND]


@given(waited=waits)
def test_without_a_bound_everybody_goes_at_once_and_nothing_is_counted(waited: list[int]) -> None:
    now = NOW + sum(waited)

    assert channel_slot(Pace(), 7, now) == (now, 7)
    assert pair_slot(Pace(), Burst(since=3, count=2), now) == (now, Burst(since=3, count=2))


# --- one conversation ---


def sent_at(pace: Pace, waited: list[int]) -> list[int]:
    """A conversation sends each when it may, and asks for the next so long after that."""
    now, owes, moments = NOW, NEVER_SENT, list[int]()
    for wait in waited:
        now, owes = pair_slot(pace, owes, now + wait)
        moments.append(now)
    return moments


@given(waited=waits, burst=st.integers(1, 45))
def test_within_any_span_a_conversation_gets_its_burst_at_the_most(waited: list[int], burst: int) -> None:
    moments = sent_at(Pace(pair_every=timedelta(seconds=6), pair_burst=burst), waited)

    assert most_within(EVERY, moments) <= burst


@given(waited=waits, burst=st.integers(1, 45))
def test_in_the_long_run_a_conversation_gets_one_in_a_span(waited: list[int], burst: int) -> None:
    moments = sent_at(Pace(pair_every=timedelta(seconds=6), pair_burst=burst), waited)

    for count, at in enumerate(moments):
        assert count <= (at - moments[0]) / EVERY + burst


@pytest.mark.parametrize(("count", "silence"), [(1, 6), (2, 12), (20, 120), (44, 264), (45, 270)])
def test_after_a_burst_there_is_silence_for_as_long_as_its_sends_would_have_taken(count: int, silence: int) -> None:
    """Documented: after a burst of 20 about two minutes."""
    *burst, following = sent_at(WHATSAPP, [*[0] * count, EVERY])

    assert set(burst) == {NOW}
    assert following == NOW + silence * SECOND


def test_a_burst_ends_by_itself_at_its_most() -> None:
    moments = sent_at(WHATSAPP, [0] * 46)

    assert (moments[44], moments[45]) == (NOW, NOW + 270 * SECOND)


def test_whoever_has_paid_may_have_a_burst_again() -> None:
    moments = sent_at(WHATSAPP, [*[0] * 20, 120 * SECOND, *[0] * 44])

    assert set(moments[20:]) == {NOW + 120 * SECOND}


def test_without_credit_one_follows_the_other_evenly() -> None:
    moments = sent_at(Pace(pair_every=timedelta(seconds=6)), [0, 0, 0])

    assert moments == [NOW, NOW + EVERY, NOW + 2 * EVERY]
