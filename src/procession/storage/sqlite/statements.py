"""The SQL of this store: files in `sql/`, one a group of statements, each statement under its name.

Each text ends with a mark of ours. The driver keeps compiled statements by their text, and a statement of a handler
(`turn.sql`) is judged when it is compiled: with the mark, none of its texts meets one of ours by chance.
COMMIT and ROLLBACK are not run as texts at all, so that no text for them is ever kept.
"""

import re
from importlib.resources import files
from typing import Final

_MARK: Final = "\n-- procession"
_NAME: Final = re.compile(r"^-- :(\w+)\n", re.MULTILINE)


def statements(group: str) -> dict[str, str]:
    """The statements of `sql/<group>.sql`, by name."""
    text = files(__package__).joinpath("sql", f"{group}.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    names, bodies = parts[::2], parts[1::2]
    assert len(set(names)) == len(names), f"two statements of one name in {group}.sql"
    return {name: body.strip().removesuffix(";") + _MARK for name, body in zip(names, bodies, strict=True)}


def every_statement() -> dict[str, str]:
    """All of them, by group and name: `accept.event`."""
    groups = sorted(file.name.removesuffix(".sql") for file in files(__package__).joinpath("sql").iterdir())
    return {f"{group}.{name}": text for group in groups for name, text in statements(group).items()}


def own(statement: str) -> str:
    """A statement of ours that stands in no file: those that only begin and end transactions."""
    return statement + _MARK
