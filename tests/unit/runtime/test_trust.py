"""Trust ends before the lease can, is extended by renewals only, and a lost lease is never trusted again."""

from datetime import timedelta

import pytest

from procession.runtime.trust import Trust
from procession.testing.stand_ins import ManualClock

TTL = timedelta(seconds=9)


def moved(clock: ManualClock, seconds: float) -> ManualClock:
    clock.move(timedelta(seconds=seconds))
    return clock


def test_trust_is_counted_from_before_the_claim_was_sent() -> None:
    clock = ManualClock()
    since = clock.monotonic()
    trust = Trust(moved(clock, 5.9), TTL, since)

    assert trust.holds()
    moved(clock, 0.2)
    assert not trust.holds()
    assert trust.remaining() == timedelta(0)


def test_a_renewal_counts_from_before_it_was_sent() -> None:
    clock = ManualClock()
    trust = Trust(clock, TTL, clock.monotonic())
    since = moved(clock, 3).monotonic()
    moved(clock, 2)

    trust.renewed(TTL, since)

    assert trust.remaining() == timedelta(seconds=4)
    assert trust.age() == timedelta(seconds=2)


def test_renewals_that_are_answered_in_another_order_do_not_shorten_trust() -> None:
    clock = ManualClock()
    trust = Trust(clock, TTL, 0)

    trust.renewed(TTL, 3)
    trust.renewed(TTL, 1)

    assert trust.until == pytest.approx(9)


def test_a_renewal_gives_trust_back_that_had_lapsed() -> None:
    clock = ManualClock()
    trust = Trust(clock, TTL, 0)
    moved(clock, 8)
    assert not trust.holds()

    trust.renewed(TTL, 7)

    assert trust.holds()


def test_a_lost_lease_is_never_trusted_again() -> None:
    clock = ManualClock()
    trust = Trust(clock, TTL, 0)

    trust.lose()
    trust.renewed(TTL, 1)

    assert not trust.holds()
    assert trust.remaining() == timedelta(0)
