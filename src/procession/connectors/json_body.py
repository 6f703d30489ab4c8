"""A signed body, read as JSON without trusting it: bounded before it is parsed, strict while it is.

The parser is strict by itself: NaN, numbers out of range, half surrogate pairs, bad UTF-8 and a byte order mark are all
refused. What it does not bound is nesting, on which it would recurse, and how many elements it builds.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import msgspec

from procession.core.limits import DEPTH_MAX, ELEMENTS_MAX

_STRINGS: Final = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_BRACKETS: Final = re.compile(rb"[\[\]{}]")
_VALUES_AN_ELEMENT: Final = 64
"""Commas that one element of a delivery may account for, on the average."""
_ANY: Final = msgspec.json.Decoder()
_PARTS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_FIELDS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True, kw_only=True)
class NotJson:
    """Why a body was not read."""

    reason: str


def read_json(body: bytes) -> object | NotJson:
    """The parsed body, or why not. Never raises, whatever the bytes."""
    reason = too_much(body)
    if reason is not None:
        return NotJson(reason=reason)
    try:
        parsed: object = _ANY.decode(body)
    except (ValueError, RecursionError) as error:
        return NotJson(reason=words_of(error))
    return parsed


def too_much(body: bytes) -> str | None:
    """What exceeds a bound, by a look at the bytes that costs next to nothing for an ordinary body."""
    if body.count(b"[") + body.count(b"{") > DEPTH_MAX and depth_of(body) > DEPTH_MAX:
        return f"nested deeper than {DEPTH_MAX}"
    if body.count(b",") > ELEMENTS_MAX * _VALUES_AN_ELEMENT:
        return "more values than any delivery has"
    return None


def depth_of(body: bytes) -> int:
    """How deep brackets nest outside of strings; looks no further once it is too deep. No recursion, no parse."""
    depth = deepest = 0
    for bracket in _BRACKETS.finditer(_STRINGS.sub(b"", body)):
        depth += 1 if bracket.group() in b"[{" else -1
        deepest = max(deepest, depth)
        if deepest > DEPTH_MAX:
            break
    return deepest


def parts_at(body: bytes, path: Sequence[str]) -> tuple[bytes, ...] | NotJson:
    """The elements of the list that lies at `path`, each byte for byte as it was sent."""
    raw: bytes | msgspec.Raw = body
    try:
        for name in path:
            fields = _FIELDS.decode(raw)
            if name not in fields:
                return NotJson(reason=f"nothing at /{'/'.join(path)}")
            raw = fields[name]
        return tuple(bytes(part) for part in _PARTS.decode(raw))
    except (ValueError, RecursionError) as error:
        return NotJson(reason=f"no list at /{'/'.join(path)}: {words_of(error)}")


def words_of(error: Exception) -> str:
    """The parser's text names positions and types, never content; that of a decode error would quote it."""
    return "not UTF-8" if isinstance(error, UnicodeDecodeError) else f"not JSON: {error}"
