"""What a user may choose is read strictly, and said in words where it is wrong."""

import pytest

from procession.core.errors import Misconfigured
from procession.testing.simulation.chance import SeededChance
from procession.testing.whatsapp.faults import SOME, Fate, Faults, read_faults
from procession.testing.whatsapp.shape import Shape, numbers_of, people_of
from procession.testing.whatsapp.target import Target, read_target


def test_faults_are_a_preset_or_shares_or_both() -> None:
    assert read_faults("") == read_faults("none") == Faults()
    assert read_faults("some") == SOME
    assert read_faults("status_lost=0.5, late_s=3") == Faults(status_lost=0.5, late_s=3.0)
    assert read_faults("some,cut_after=0").cut_after == 0.0
    assert read_faults("some,cut_after=0").throttled == SOME.throttled


@pytest.mark.parametrize("said", ["many", "cut_after", "cut_after=x", "cut_after=1.5", "cut_after=-1", "cut_after=nan"])
def test_a_fault_that_cannot_be_is_refused_in_words(said: str) -> None:
    with pytest.raises(Misconfigured, match="fault"):
        read_faults(said)


def test_fates_are_drawn_by_their_shares() -> None:
    chance = SeededChance(1)
    drawn = [Faults(throttled=0.25, cut_after=0.5).drawn(chance) for _ in range(2000)]

    shares = [drawn.count(fate) / 2000 for fate in (Fate.THROTTLED, Fate.CUT_AFTER, Fate.WELL)]
    assert shares == pytest.approx([0.25, 0.5, 0.25], abs=0.05)


@pytest.mark.parametrize("url", ["http://127.0.0.1:8080/hooks/meta", "http://127.9.9.9:8080/hooks/meta"])
def test_a_target_on_this_machine_is_taken(url: str) -> None:
    assert read_target(url).path == "/hooks/meta"
    assert read_target("http://localhost/x") == Target(host="localhost", port=80, path="/x")
    assert read_target("http://[::1]:81/x") == Target(host="::1", port=81, path="/x")


def test_a_target_elsewhere_is_refused_unless_it_is_really_wanted() -> None:
    url = "http://engine.example:8080/hooks/meta"

    with pytest.raises(Misconfigured, match="not this machine"):
        read_target(url)
    assert read_target(url, anywhere=True) == Target(host="engine.example", port=8080, path="/hooks/meta")


@pytest.mark.parametrize("url", ["https://127.0.0.1/x", "127.0.0.1:8080", "http:///x", "http://127.0.0.1:banana/"])
def test_a_target_that_is_no_http_url_is_refused(url: str) -> None:
    with pytest.raises(Misconfigured, match="target"):
        read_target(url)


def test_the_same_seed_makes_the_same_numbers() -> None:
    shape = Shape(numbers=3)

    assert numbers_of(shape, 5) == numbers_of(shape, 5)
    assert {number.id for number in numbers_of(shape, 5)}.isdisjoint(number.id for number in numbers_of(shape, 6))
    assert len({number.token for number in numbers_of(shape, 5)}) == 3


def test_tenants_and_people_may_have_names_and_the_others_are_numbered() -> None:
    shape = Shape(numbers=2, people=2, tenants=("bistro",), names=("ana",))

    numbers = numbers_of(shape, 5)
    people = people_of(shape, numbers, SeededChance(5))

    assert [number.tenant for number in numbers] == ["bistro", "sim-2"]
    assert [person.label for person in people] == ["bistro.ana", "bistro.2", "sim-2.ana", "sim-2.2"]
