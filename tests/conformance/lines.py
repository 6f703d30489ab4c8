"""How a case says which lines of the contract it shows."""

import functools
import re
from collections.abc import Callable, Coroutine

import pytest

from tests.conformance.acts import know
from tests.conformance.builders import ACME, BOLT, a_tenant
from tests.conformance.harness import Guarantee, Harness

Case = Callable[..., Coroutine[object, object, None]]

_NUMBERED = re.compile(r"^ *([A-Z]\d{1,2})\. ", re.MULTILINE)


def line(*names: str, needs: tuple[Guarantee, ...] = ()) -> Callable[[Case], Case]:
    """Mark a case with the lines that it shows, and let it find its store open, with two tenants known."""

    def marked(case: Case) -> Case:
        @functools.wraps(case)
        async def opened(harness: Harness, **given: object) -> None:
            harness.need(*needs)
            async with harness:
                await know(harness, a_tenant(ACME), a_tenant(BOLT))
                await case(harness, **given)

        return pytest.mark.line(*names)(opened)

    return marked


def lines_shown_by(case: object) -> tuple[str, ...]:
    marks: list[pytest.Mark] = getattr(case, "pytestmark", [])
    return tuple(name for mark in marks if mark.name == "line" for name in mark.args)


def numbered_lines(text: str) -> tuple[str, ...]:
    """The names of the numbered lines of a contract's text."""
    return tuple(_NUMBERED.findall(text))
