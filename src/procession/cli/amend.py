"""What `tenant`, `endpoint` and `channel` share: words of a command line become a part of a declaration."""

import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import click

from procession.cli import session, show
from procession.core.errors import BadRequest, Misconfigured

if TYPE_CHECKING:
    from procession.app.plan import Amendment, Listing, Plan
    from procession.ports.directory import Change

F = TypeVar("F", bound=Callable[..., object])
_PAIR: Final = re.compile(r"(?P<name>[a-z][a-z0-9_]*)=(?P<value>.*)", re.DOTALL)
_NUMBER: Final = re.compile(r"-?\d{1,15}(\.\d{1,9})?")
PAIRS: Final = (
    "Settings are written NAME=VALUE. A secret is never written out: NAME=env:VARIABLE, NAME=file:PATH or NAME=stdin: "
    "say where it is, and it is sealed at once."
)


def pairs(words: Sequence[str]) -> dict[str, object]:
    """NAME=VALUE, as a declaration's table would have them. A name that comes twice is a list."""
    table: dict[str, object] = {}
    for word in words:
        found = _PAIR.fullmatch(word)
        if found is None:
            # What it is is not repeated: it may be a secret.
            raise BadRequest("a setting is written NAME=VALUE, with a name of lower-case letters, digits and '_'")
        name, value = found["name"], value_of(found["value"])
        if name in table:
            before = table[name]
            table[name] = [*before, value] if isinstance(before, list) else [before, value]
        else:
            table[name] = value
    return table


def value_of(text: str) -> object:
    """A number, a truth, a reference to a secret, or text (in quotes, if it would look like one of the others)."""
    how, colon, place = text.partition(":")
    if text == "stdin":
        return {"stdin": True}
    if colon and how in ("env", "file"):
        return {how: place}
    if text in ("true", "false"):
        return text == "true"
    if _NUMBER.fullmatch(text):
        return float(text) if "." in text else int(text)
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def listing(*, imagines: bool = False) -> "Listing":
    return session.at_desk(lambda desk: desk.listing(), imagines=imagines)


def listing_or_none() -> "Listing":
    """An empty one, if there is no store yet."""
    return listing(imagines=True)


def put(kind: str, table: Mapping[str, object], found: "Listing | None" = None, *, makes: bool = False) -> None:
    """Have one table of a declaration take effect; `found` is what there is."""
    from procession.app.plan import Amendment

    _amend(Amendment(plan=_plan_of(kind, table, found)), makes=makes)


def remove(what: str) -> None:
    from procession.app.plan import Amendment

    _amend(Amendment(removed=(what,)))


def check_there(what: str, *, there: bool, wanted: bool) -> None:
    if there and not wanted:
        raise Misconfigured(f"{what} is there already: `set` changes it")
    if wanted and not there:
        raise Misconfigured(f"there is no {what}: `add` makes it")


def settings_argument(function: F) -> F:
    return click.argument("settings", nargs=-1, metavar="[NAME=VALUE]...")(function)


def _plan_of(kind: str, table: Mapping[str, object], found: "Listing | None") -> "Plan":
    from procession.app.declared import Sources, read_document

    def stdin() -> bytes:
        return sys.stdin.buffer.read()

    known = {} if found is None else {own.name: own.connector for own in found.endpoints}
    # A declaration has lists where settings have tuples.
    row = {name: list(value) if isinstance(value, tuple) else value for name, value in table.items()}
    return read_document({kind: [row]}, Sources(folder=Path(), environment=os.environ, stdin=stdin), known)


def _amend(wanted: "Amendment", *, makes: bool = False) -> None:
    changes = session.at_desk(lambda desk: desk.amend(wanted, actor=session.actor()), makes=makes)
    show.answer({"changes": changes}, lambda: _tell(changes))


def _tell(changes: "tuple[Change, ...]") -> None:
    for change in changes:
        show.say(show.text(f"{change.sign} {change.what}{f': {change.detail}' if change.detail else ''}"))
    if not changes:
        show.say("nothing to change")
