"""The convention by which replies are recognised: a text names its person and its number, and a reply names the text.

A person writes `#acme.3:7 are you there?` (the 7th text of somebody who is called acme.3). A bot of two bubbles answers
`1/2 …#acme.3:7…` and `2/2 …#acme.3:7…`: an echo is enough. A bubble that answers several texts at once names them all.
"""

import re
from dataclasses import dataclass
from typing import Final

_NAMED: Final = re.compile(r"#([\w-]+(?:\.[\w-]+)*):(\d+)\b")
_PLACE: Final = re.compile(r"(\d+)/(\d+)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    label: str
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    place: int
    of: int
    answers: tuple[Named, ...]
    """The texts that it names."""


def written(label: str, n: int, words: str) -> str:
    return f"#{label}:{n} {words}"


def bubbles(text: str, count: int) -> list[str]:
    """What a bot of `count` bubbles replies to this."""
    return [f"{place}/{count} {text}" for place in range(1, count + 1)]


def read_reply(body: str) -> Reply | None:
    """None: it names no text, or not which bubble it is."""
    place = _PLACE.match(body)
    answers = tuple(Named(label=label, n=int(n)) for label, n in _NAMED.findall(body))
    if place is None or not answers:
        return None
    return Reply(place=int(place[1]), of=int(place[2]), answers=answers)
