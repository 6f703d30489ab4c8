"""Where a value of a delivery is found: a JSON pointer (RFC 6901), a header, or a constant."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from procession.core.errors import Misconfigured
from procession.ports.connector import Delivery

_HEADER: Final = "header:"
_CONSTANT: Final = "="
_MISSING: Final = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One of: `/customer/id` (a pointer), `header:x-topic`, `=order` (a constant)."""

    text: str
    path: tuple[str, ...] = ()
    header: str = ""
    constant: str | None = None

    def find(self, element: object, delivery: Delivery) -> object:
        """The value, or None where there is none."""
        if self.constant is not None:
            return self.constant
        if self.header:
            return delivery.header(self.header)
        return value_at(element, self.path)


def place(setting: str, text: object) -> Place:
    """Read a setting; `Misconfigured` teaches what it may be."""
    if not isinstance(text, str) or not text:
        raise Misconfigured(f"{setting} must say where the value is: '/a/json/pointer', 'header:name', or '=constant'")
    if text.startswith(_HEADER):
        return Place(text=text, header=text.removeprefix(_HEADER).strip().lower())
    if text.startswith(_CONSTANT):
        return Place(text=text, constant=text.removeprefix(_CONSTANT))
    if not text.startswith("/"):
        raise Misconfigured(f"{setting} = {text!r}: a JSON pointer begins with '/', a header with 'header:'")
    return Place(text=text, path=tuple(_unescaped(part) for part in text[1:].split("/")))


def value_at(element: object, path: tuple[str, ...]) -> object:
    found: object = element
    for part in path:
        if isinstance(found, dict):
            found = found.get(part, _MISSING)
        elif isinstance(found, list) and part.isdecimal() and int(part) < len(found):
            found = found[int(part)]
        else:
            return None
        if found is _MISSING:
            return None
    return found


def is_said_twice(raw: bytes, path: tuple[str, ...]) -> bool:
    """Whether a name on the path occurs twice in its object: then the signer and we may read different values.

    Parsers differ in which of two equal names wins, so an element that is routed by one of them is routed by nobody.
    """
    if b"\\u" not in raw:
        for name in _quoted(path):
            if raw.count(name) > 1:
                break
        else:
            return False
    doubled: set[str] = set()
    json.loads(raw, object_pairs_hook=_noting(doubled))
    return not doubled.isdisjoint(path)


@lru_cache(maxsize=1024)
def _quoted(path: tuple[str, ...]) -> tuple[bytes, ...]:
    """The names on a path as they stand in a body that escapes nothing. Paths come from settings: there are few."""
    return tuple(json.dumps(part).encode() for part in path)


def _noting(doubled: set[str]) -> Callable[[list[tuple[str, object]]], dict[str, object]]:
    def note(pairs: list[tuple[str, object]]) -> dict[str, object]:
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):
            doubled.update(name for name in names if names.count(name) > 1)
        return dict(pairs)

    return note


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
