"""The whole suite, for a store's own test file: `globals().update(every_case())`."""

import importlib
from pathlib import Path
from types import ModuleType

_PREFIX = "cases_"


def case_modules() -> tuple[ModuleType, ...]:
    folder = Path(__file__).parent
    return tuple(
        importlib.import_module(f"{__package__}.{file.stem}") for file in sorted(folder.glob(f"{_PREFIX}*.py"))
    )


def every_case() -> dict[str, object]:
    """Each case under its name. Two of one name would hide one another: that is refused."""
    cases: dict[str, object] = {}
    for module in case_modules():
        for name, case in vars(module).items():
            if name.startswith("test_") and getattr(case, "__module__", "") == module.__name__:
                assert name not in cases, f"two cases are called {name}"
                cases[name] = case
    return cases
