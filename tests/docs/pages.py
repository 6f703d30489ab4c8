"""Finds the code in the pages for people, so that it can be run."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
GUIDES: Final = "docs/guides"
_FENCE: Final = re.compile(r"^```(?P<language>\w+)(?: (?P<title>\S+))?\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    page: str
    language: str
    title: str
    """What stands behind the language: a file's name, or how it is to be run."""
    text: str


def page(path: str) -> str:
    return (ROOT / path).read_text("utf-8")


def blocks(path: str, *languages: str) -> list[Block]:
    return [
        Block(page=path, language=found["language"], title=found["title"] or "", text=found["text"])
        for found in _FENCE.finditer(page(path))
        if found["language"] in languages
    ]


def people_pages() -> Iterator[str]:
    """README and guides."""
    yield "README.md"
    yield from (f"{GUIDES}/{path.name}" for path in sorted((ROOT / GUIDES).glob("*.md")))
