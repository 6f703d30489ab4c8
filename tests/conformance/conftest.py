from pathlib import Path

import pytest

# Cases are no test modules of their own, so pytest has to be told to explain their asserts.
pytest.register_assert_rewrite(*(f"{__package__}.{file.stem}" for file in Path(__file__).parent.glob("cases_*.py")))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "line(*names): the numbered lines of the contract that a case shows")
