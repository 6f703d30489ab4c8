"""Each numbered line of the store's contract is named by a case of the conformance suite."""

import inspect

import pytest

from procession.ports import console, directory, store, vault
from tests.conformance.lines import lines_shown_by, numbered_lines
from tests.conformance.suite import every_case


def contract() -> list[str]:
    return [name for module in (store, console, directory, vault) for name in numbered_lines(inspect.getsource(module))]


@pytest.mark.parametrize("name", contract())
def test_each_line_of_the_contract_is_named_by_a_case(name: str) -> None:
    assert any(name in lines_shown_by(case) for case in every_case().values())


def test_every_case_names_lines_that_exist() -> None:
    for name, case in every_case().items():
        assert set(lines_shown_by(case)) <= set(contract()), name
        assert lines_shown_by(case), f"{name} names no line"


def test_a_numbered_line_is_found_at_any_depth_and_a_cross_reference_is_not() -> None:
    text = "G1. One.\n    T11. Eleven.\n    is as in A3's lower. C1, C2 on the SENDS side.\n"

    assert numbered_lines(text) == ("G1", "T11")


def test_the_contract_has_all_its_lines() -> None:
    """A contract that is reworded so that its lines are not found would make the others pass."""
    assert len(contract()) > 60
