"""Instants and durations as the file has them: whole microseconds, instants counted from 1970."""

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

FOREVER: Final = 253_402_300_799_999_999
"""The last microsecond of the year 9999: what comes later is never."""


def micros(duration: timedelta) -> int:
    """At most for ever, so that every duration fits into a column."""
    return min((duration.days * 86_400 + duration.seconds) * 1_000_000 + duration.microseconds, FOREVER)


def duration(count: int) -> timedelta:
    return timedelta(microseconds=count)


def instant(moment: datetime) -> int:
    return micros(moment - _EPOCH)


def moment(count: int) -> datetime:
    return _EPOCH + timedelta(microseconds=count)


def moment_or_none(count: int | None) -> datetime | None:
    return None if count is None else _EPOCH + timedelta(microseconds=count)


def after(now: int, wait: timedelta) -> int:
    """`now` and so much, at most for ever."""
    return min(now + micros(wait), FOREVER)
