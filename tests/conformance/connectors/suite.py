"""The whole suite, for a connector's own test file: `globals().update(every_case())`."""

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

_PREFIX = "cases_"
C = TypeVar("C", bound=Callable[..., object])


def shows(*names: str) -> Callable[[C], C]:
    """Mark a case with the lines of `ports/connector.py` that it shows."""

    def marked(case: C) -> C:
        found: C = pytest.mark.line(*names)(case)
        return found

    return marked


def every_case() -> dict[str, object]:
    """Each case under its name. Two of one name would hide one another: that is refused."""
    cases: dict[str, object] = {}
    for file in sorted(Path(__file__).parent.glob(f"{_PREFIX}*.py")):
        module = importlib.import_module(f"{__package__}.{file.stem}")
        for name, case in vars(module).items():
            if name.startswith("test_") and getattr(case, "__module__", "") == module.__name__:
                assert name not in cases, f"two cases are called {name}"
                cases[name] = case
    return cases
