"""Percentiles by rank, medians figure by figure, and ratios that are made within a round before they are compared."""

from procession.testing.bench.figures import Answers, Ratio, medians, percentile


def test_a_percentile_is_one_of_the_measured_values() -> None:
    assert percentile([5.0, 1.0, 3.0, 2.0, 4.0], 0.5) == 3.0
    assert percentile([1.0, 2.0], 0.99) == 2.0


def test_of_nothing_the_percentile_is_zero() -> None:
    assert percentile([], 0.99) == 0.0


def test_a_median_is_taken_over_the_rounds_for_each_figure() -> None:
    rounds = [{"m": {"a": value, "b": 10 - value}} for value in (1.0, 9.0, 2.0)]

    assert medians(rounds) == {"m": {"a": 2.0, "b": 8.0}}


def test_a_ratio_compares_within_a_round_so_that_a_slow_round_does_not_bend_it() -> None:
    # The second round ran on a machine ten times as slow.
    rounds = [{"x": {"per_second": each * 2}, "y": {"per_second": each}} for each in (1000.0, 100.0, 900.0)]

    assert Ratio(name="x / y", of="x", to="y").over(rounds) == 2.0


def test_refusals_are_no_good_answers() -> None:
    answers = Answers()
    answers.began, answers.ended = 10.0, 12.0
    for _ in range(4):
        answers.add(0.001, good=True)
    answers.add(0.5, good=False)

    told = answers.told()

    assert (told["good"], told["refused"], told["per_second"]) == (4, 1, 2.0)
    assert told["p99_ms"] == 1.0
