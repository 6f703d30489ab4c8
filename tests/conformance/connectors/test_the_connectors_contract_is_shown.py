"""Each numbered line of the connector's contract is named by a case."""

import inspect

import pytest

from procession.ports import connector
from tests.conformance.connectors.suite import every_case
from tests.conformance.lines import lines_shown_by, numbered_lines

LINES = numbered_lines(inspect.getsource(connector).replace('"""', ""))


@pytest.mark.parametrize("name", LINES)
def test_each_line_of_the_connectors_contract_is_named_by_a_case(name: str) -> None:
    assert any(name in lines_shown_by(case) for case in every_case().values())


def test_every_case_of_connectors_names_lines_that_exist() -> None:
    assert set(LINES) == {"I1", "I2", "I3", "O1", "O2", "O3"}
    for name, case in every_case().items():
        assert lines_shown_by(case), f"{name} names no line"
        assert set(lines_shown_by(case)) <= set(LINES), name
