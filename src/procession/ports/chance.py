"""Chance, as the engine's own code draws it."""

from typing import Protocol


class Chance(Protocol):
    def uniform(self, low: float, high: float) -> float:
        """A number in [low, high)."""
        ...

    def token(self, size: int) -> bytes:
        """Bytes that nobody can guess."""
        ...
