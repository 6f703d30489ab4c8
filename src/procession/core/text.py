"""A long text in parts, for receivers that take only short ones."""

import unicodedata
from typing import Final

_ENDS: Final = ("\n\n", "\n", ". ", "! ", "? ", "; ", ", ", " ")
"""Where a text is best cut: the more telling place first."""
_JOINER: Final = "\u200d"
_TIES: Final = "\ufe0e\ufe0f\u20e3"
"""What belongs to the character before it, beside marks that combine."""
_BACK_MAX: Final = 16
"""So many characters are gone back to the beginning of one that is made of several."""


def split_text(text: str, at: int = 4096) -> list[str]:
    """Parts of at most `at` characters, cut after a paragraph, a line, a sentence or a word.

    Blanks where it is cut are left out; no part is empty. (4096: what one WhatsApp text may hold.)
    """
    if at < 1:
        raise ValueError(f"at={at}: a part has one character or more")
    parts: list[str] = []
    rest = text.strip()
    while len(rest) > at:
        cut = _cut(rest, at)
        parts.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [part for part in (*parts, rest) if part]


def _cut(text: str, at: int) -> int:
    for end in _ENDS:
        # In the first half it would leave too little: then a lesser place is better.
        found = text.rfind(end, at // 2, at + 1)
        if found > 0:
            return min(found + len(end.rstrip()), at)
    return _between_characters(text, at)


def _between_characters(text: str, at: int) -> int:
    """Not inside of an emoji or an accented letter, as long as that costs little."""
    for cut in range(at, max(at - _BACK_MAX, 0), -1):
        if not _is_tied(text[cut]) and text[cut - 1] != _JOINER:
            return cut
    return at


def _is_tied(character: str) -> bool:
    return unicodedata.combining(character) != 0 or character == _JOINER or character in _TIES or _is_skin(character)


def _is_skin(character: str) -> bool:
    return "\U0001f3fb" <= character <= "\U0001f3ff"
