"""Time and chance that a test holds in its own hands."""

from datetime import UTC, datetime, timedelta
from random import Random

START = datetime(2030, 1, 7, 9, 0, tzinfo=UTC)


class ManualClock:
    """Stands still until it is moved. Wall time may be set back; monotonic time never is."""

    def __init__(self, start: datetime = START) -> None:
        self._wall = start
        self._monotonic = 0.0

    def now(self) -> datetime:
        return self._wall

    def monotonic(self) -> float:
        return self._monotonic

    def advance(self, by: timedelta) -> None:
        assert by >= timedelta(0)
        self._wall += by
        self._monotonic += by.total_seconds()

    def set_back(self, by: timedelta) -> None:
        """What an operator, or a time server, does to the wall clock."""
        self._wall -= by


class SeededChance:
    """The same draws in every run."""

    def __init__(self, seed: int = 1) -> None:
        self._random = Random(seed)

    def uniform(self, low: float, high: float) -> float:
        return low + (high - low) * self._random.random()

    def token(self, size: int) -> bytes:
        return self._random.randbytes(size)
