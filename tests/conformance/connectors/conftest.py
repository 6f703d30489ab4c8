from pathlib import Path

import pytest

# Cases are no test modules of their own, so pytest has to be told to explain their asserts.
pytest.register_assert_rewrite(*(f"{__package__}.{file.stem}" for file in Path(__file__).parent.glob("cases_*.py")))
