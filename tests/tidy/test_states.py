"""The page of states is what the tables say."""

from pathlib import Path

from procession.testing.states import page

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "states.md"


def test_the_page_of_states_is_made_from_the_tables() -> None:
    assert PAGE.read_text() == page(), "run: python -m procession.testing.states > docs/reference/states.md"
