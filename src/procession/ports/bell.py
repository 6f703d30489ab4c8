"""A bell wakes a stage that waits. It is a hint: whoever hears it looks into the store, and polling is the truth."""

from datetime import timedelta
from enum import StrEnum
from typing import Protocol


class Ring(StrEnum):
    """Whom a bell is for."""

    TURNS = "turns"
    SENDS = "sends"
    UPKEEP = "upkeep"
    DIRECTORY = "directory"


class Bell(Protocol):
    def ring(self, ring: Ring) -> None:
        """Wake whoever hears this ring; rings that nobody waits for are remembered once. Never blocks, never fails."""
        ...

    async def hear(self, ring: Ring, at_most: timedelta) -> bool:
        """Wait for the ring, at most so long. True: it rang (also if it did before this call and nobody had heard
        it).
        """
        ...
