"""The SQL of this store: files in `sql/`, one a group of statements, each statement under its name.

Parameters are `$1`, or `:name`, which becomes a number here: then a statement is given a mapping.
"""

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

_STATEMENT: Final = re.compile(r"^-- :(\w+)\n", re.MULTILINE)
_PARAMETER: Final = re.compile(r"(?<![:\w]):([a-z_]+)\b")
_REMARK: Final = re.compile(r"^--.*\n", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    text: str
    names: tuple[str, ...]
    """Of its parameters, in the order of their numbers; empty: they have none."""


def every_statement() -> dict[str, Statement]:
    """All of them, by group and name: `accept.event`."""
    found = {}
    for file in sorted(files(__package__).joinpath("sql").iterdir(), key=lambda each: each.name):
        group = file.name.removesuffix(".sql")
        _, *parts = _STATEMENT.split(file.read_text(encoding="utf-8"))
        for name, body in zip(parts[::2], parts[1::2], strict=True):
            assert f"{group}.{name}" not in found, f"two statements are called {group}.{name}"
            found[f"{group}.{name}"] = _statement(body)
    return found


def _statement(body: str) -> Statement:
    names: dict[str, int] = {}

    def number(parameter: re.Match[str]) -> str:
        return f"${names.setdefault(parameter[1], len(names) + 1)}"

    text = _PARAMETER.sub(number, _REMARK.sub("", body).strip().removesuffix(";"))
    return Statement(text=text, names=tuple(names))
