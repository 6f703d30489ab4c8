"""Retry arithmetic: bounded, growing, and never an overflow."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from procession.core.retry import Retry

retries = st.builds(
    Retry,
    tries_max=st.integers(1, 100),
    base=st.timedeltas(timedelta(milliseconds=1), timedelta(minutes=1)),
    factor=st.floats(1, 10),
    cap=st.timedeltas(timedelta(seconds=1), timedelta(days=1)),
)
draws = st.floats(0, 1, exclude_max=True)
tries = st.integers(0, 10**9)


@given(retry=retries, count=tries, draw=draws)
def test_a_wait_lies_between_half_and_all_of_the_cap_or_what_it_has_grown_to(
    retry: Retry, count: int, draw: float
) -> None:
    wait = retry.after(count, draw)

    assert timedelta(0) < wait <= retry.cap
    assert wait >= min(retry.base, retry.cap) / 2 - timedelta(microseconds=1)


@given(retry=retries, count=st.integers(1, 200), draw=draws)
def test_waits_do_not_shrink_with_the_tries(retry: Retry, count: int, draw: float) -> None:
    assert retry.after(count, draw) <= retry.after(count + 1, draw)


@given(retry=retries, count=tries, low=draws, high=draws)
def test_jitter_spreads_a_wait_over_its_upper_half(retry: Retry, count: int, low: float, high: float) -> None:
    low, high = sorted((low, high))

    assert retry.after(count, low) <= retry.after(count, high) <= 2 * retry.after(count, 0) + timedelta(microseconds=1)


@given(retry=retries, count=st.integers(0, 200))
def test_tries_are_used_up_once_and_stay_so(retry: Retry, count: int) -> None:
    assert retry.used_up(count) == (count >= retry.tries_max)
    assert not retry.used_up(count) or retry.used_up(count + 1)
