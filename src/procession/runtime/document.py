"""Documents: what a handler wants kept (a state, a step's result, a reminder's content), as strict JSON.

Strict, because what is kept must come back as it was: a tuple comes back as a list, and everything that would come
back as something else without a word (NaN as null, a number as a key, a date as a string) is refused where it is kept,
with the path to it.
"""

import json
import math
from typing import Any, Final, TypeAlias

import msgspec

from procession.core.errors import TurnMisused
from procession.core.limits import DEPTH_MAX

Json: TypeAlias = Any
"""A parsed JSON value. Any on purpose: it is the handler's own, and a handler that had to narrow each level of
`turn.state["visits"] + 1` for its type checker would not be written."""

_INT_MAX: Final = 2**63 - 1
"""Integers of more than 64 bits are read as floats by most of the world."""
_BYTES: Final = b"\x00"
"""Begins a step's value that is bytes; no JSON text begins so."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder()


def encode(value: object, what: str, bytes_max: int) -> bytes:
    """The document as JSON; `what` names it in the text of the error that teaches."""
    _check(value, what, 0)
    try:
        raw = _encoder.encode(value)
    except UnicodeEncodeError:
        raise TurnMisused(f"{what} holds half of a surrogate pair: text that no encoding can keep") from None
    if len(raw) > bytes_max:
        raise TurnMisused(
            f"{what} is {len(raw):,} bytes of JSON; at most {bytes_max:,} are kept. Keep the bulk of it in a store of "
            "your own and its key here."
        )
    return raw


def decode(raw: bytes) -> Json:
    """What `encode` kept."""
    return _decoder.decode(raw)


def encode_step(value: object, what: str, bytes_max: int) -> bytes:
    """A step's result: a document, or bytes."""
    if isinstance(value, bytes | bytearray | memoryview):
        if len(value) >= bytes_max:
            raise TurnMisused(f"{what} is {len(value):,} bytes; at most {bytes_max:,} are kept")
        return _BYTES + bytes(value)
    return encode(value, what, bytes_max)


def decode_step(raw: bytes) -> Json:
    return raw[1:] if raw.startswith(_BYTES) else _decoder.decode(raw)


def read(raw: bytes) -> Json:
    """Somebody else's JSON, as leniently as Python reads it; ValueError if it is none."""
    try:
        return _decoder.decode(raw)
    except msgspec.DecodeError:
        # Lone surrogates, NaN: not JSON by the book, and providers send it.
        return json.loads(raw)


def _check(value: object, path: str, depth: int) -> None:
    match value:
        case None | bool() | str():
            return
        case int() | float():
            _check_number(value, path)
        case dict() | list() | tuple():
            if depth == DEPTH_MAX:
                raise TurnMisused(f"{path} is nested deeper than {DEPTH_MAX}; is something in it a part of itself?")
            for key, part in value.items() if isinstance(value, dict) else enumerate(value):
                if isinstance(value, dict) and not isinstance(key, str):
                    raise TurnMisused(f"{path} has the key {key!r}; JSON has strings only, write {str(key)!r}")
                _check(part, f"{path}[{key!r}]", depth + 1)
        case _:
            raise TurnMisused(
                f"{path} is a {type(value).__name__}, which is not JSON: keep None, booleans, numbers, strings, lists "
                "and dicts of them (a date as `.isoformat()`, an object as a dict)"
            )


def _check_number(value: float, path: str) -> None:
    if isinstance(value, int):
        if not -_INT_MAX - 1 <= value <= _INT_MAX:
            raise TurnMisused(f"{path} is an integer of more than 64 bits; keep it as a string")
    elif not math.isfinite(value):
        raise TurnMisused(f"{path} is {value}, which JSON has no word for; keep None or a string")
