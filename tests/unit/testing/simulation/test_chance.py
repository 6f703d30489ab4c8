"""One seed, many streams."""

from procession.ports.chance import Chance
from procession.testing.simulation.chance import SeededChance


def drawn(chance: SeededChance) -> list[object]:
    return [chance.uniform(2, 3), chance.token(5), chance.below(10), chance.shuffled(range(5)), chance.happens(0.5)]


def test_it_is_a_chance_to_the_engine() -> None:
    chance: Chance = SeededChance(1)

    assert 2 <= chance.uniform(2, 3) < 3
    assert len(chance.token(16)) == 16
    assert chance.token(0) == b""


def test_the_same_seed_draws_the_same() -> None:
    assert drawn(SeededChance(5)) == drawn(SeededChance(5))
    assert drawn(SeededChance(5)) != drawn(SeededChance(6))


def test_what_is_drawn_from_one_stream_does_not_disturb_another() -> None:
    one, other = SeededChance(5), SeededChance(5)
    drawn(other)
    drawn(other.of("clock"))

    assert drawn(one.of("network")) == drawn(other.of("network"))
    assert drawn(one.of("network")) != drawn(one.of("clock"))
    assert drawn(one.of("network").of("a")) != drawn(one.of("network").of("b"))


def test_a_seed_draws_the_same_in_every_python() -> None:
    chance = SeededChance(2026)

    assert chance.random() == 0.9754526721450562
    assert chance.token(4).hex() == "d0f829b2"
    assert chance.of("network").below(1_000_000) == 726_266
    assert chance.fraction("site") == 0.8891610369074022


def test_a_fraction_hangs_on_the_name_alone() -> None:
    chance = SeededChance(5)
    first = chance.fraction("a")
    drawn(chance)

    assert chance.fraction("a") == first
    assert 0 <= first < 1
    assert len({chance.fraction(str(name)) for name in range(1000)}) == 1000


def test_picks_come_from_what_is_there() -> None:
    chance = SeededChance(5)

    assert {chance.pick("abc") for _ in range(100)} == set("abc")
    assert sorted(chance.shuffled("abc")) == ["a", "b", "c"]
