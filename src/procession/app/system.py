"""The only place that reads the time or draws random numbers."""

import os
import random
import time
from datetime import UTC, datetime


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class SystemChance:
    """Jitter from a generator that the system seeds; tokens from the system itself."""

    def __init__(self) -> None:
        self._random = random.Random(os.urandom(16))  # noqa: S311 (for jitter only)

    def uniform(self, low: float, high: float) -> float:
        return self._random.uniform(low, high)

    def token(self, size: int) -> bytes:
        return os.urandom(size)
