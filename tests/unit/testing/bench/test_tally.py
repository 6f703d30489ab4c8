"""A measure of an engine that stands still ends with an error, and not never."""

import pytest

from procession.testing.bench.tally import STANDS_STILL_S, Counts, Standstill


def at(seconds: float, *, done: int) -> Counts:
    return Counts(at=seconds, placed=10, done=done, confirmed=0)


def test_what_does_not_move_for_too_long_is_an_error() -> None:
    still = Standstill()
    still.look(at(1e6, done=1))

    still.look(at(1e6 + STANDS_STILL_S, done=1))
    with pytest.raises(RuntimeError, match="nothing has moved"):
        still.look(at(1e6 + STANDS_STILL_S + 1, done=1))


def test_whatever_moves_may_take_its_time() -> None:
    still = Standstill()

    for number in range(5):
        still.look(at(1e6 + number * STANDS_STILL_S, done=number))
