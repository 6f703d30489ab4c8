"""What the engine says of itself. Never a body, never a secret, never a person's number: ids, counts and reasons
only.
"""

from typing import Protocol


class Telemetry(Protocol):
    def count(self, name: str, amount: int = 1, *, tenant: str = "") -> None:
        """Add to a counter. Names are documented in docs/reference/metrics.md."""
        ...

    def note(self, what: str, /, **fields: str | float | bool | None) -> None:
        """One structured log line of ordinary life. Field values are ids, counts, durations and reasons."""
        ...

    def warn(self, what: str, /, **fields: str | float | bool | None) -> None:
        """One structured log line that an operator should see."""
        ...
