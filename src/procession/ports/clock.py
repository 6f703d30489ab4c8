"""Time, as the engine's own code reads it."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Two clocks: one to show, one to count with."""

    def now(self) -> datetime:
        """UTC wall time: for what is shown and for comparing with the timestamps of others. It may jump."""
        ...

    def monotonic(self) -> float:
        """Seconds that only go forward: for deadlines and trust. It says nothing about another process."""
        ...
