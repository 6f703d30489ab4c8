"""Names that occur twice in one object: then the signer and we may read different values.

Parsers differ in which of two equal names wins, so that an element which is routed by one of them is routed by nobody.
"""

import json
from collections import Counter
from collections.abc import Callable


def has_doubled(raw: bytes) -> bool:
    """Whether any object of a document, however deep, has a name twice. Nearly never: what is dearer comes after it."""
    found: list[frozenset[str]] = []
    _read(raw, found.append)
    return any(found)


def doubled_at_top(raw: bytes) -> frozenset[str]:
    """The names that the outermost object has twice."""
    found: list[frozenset[str]] = []
    _read(raw, found.append)
    # Objects are finished from the inside out, and a list or a text at the top is no object.
    return found[-1] if found and raw.lstrip().startswith(b"{") else frozenset()


def _read(raw: bytes, note: Callable[[frozenset[str]], None]) -> None:
    def pairs_read(pairs: list[tuple[str, object]]) -> None:
        names = [name for name, _ in pairs]
        alone = set(names)
        if len(alone) == len(names):
            note(frozenset())
        else:
            note(frozenset(name for name, times in Counter(names).items() if times > 1))

    # A number is not looked at, so that none can be too long.
    json.loads(raw, object_pairs_hook=pairs_read, parse_int=str, parse_float=str)
