"""Moments in words: the same words from every store, and from whoever reads one."""

from datetime import MAXYEAR, UTC, datetime
from typing import Final

NO_END: Final = datetime.max.replace(tzinfo=UTC)
"""Of a pause that only an operator ends."""


def clock_words(moment: datetime | None) -> str:
    if moment is None or moment.year >= MAXYEAR:
        return "an operator"
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
