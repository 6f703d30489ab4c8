"""What goes wrong between a node and its store, call by call."""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from procession.testing.simulation.chance import SeededChance


class Mishap(Enum):
    NONE = "the call is made and answered"
    AWAY = "it does not get there"
    FULL = "it fails since the disk is full"
    UNKNOWN_LOST = "it is not made, and nobody knows"
    UNKNOWN_KEPT = "it is made, and nobody knows"
    UNKNOWN_YET = "it is made later, when the caller has gone on"
    BROKEN = "the store fails in a way that ends the process; the call is made or not"
    CRASH = "it is made, and the node dies before it hears of it"
    PAUSE = "it is made, and the node stands still before it hears of it"
    PARTED = "the node dies, and it is made long after"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallFault:
    """How one call goes: its mishap, and the seconds before and after it is made."""

    mishap: Mishap
    before: float
    after: float


_SHARES: Final = (
    (0.010, Mishap.AWAY),
    (0.005, Mishap.FULL),
    (0.008, Mishap.UNKNOWN_LOST),
    (0.010, Mishap.UNKNOWN_KEPT),
    (0.006, Mishap.UNKNOWN_YET),
    (0.0004, Mishap.BROKEN),
)
# Where a death, or standing still, between the write and its answer matters most.
_NARROW: Final = {"begin": 0.014, "record": 0.006, "settle": 0.006, "remember": 0.008, "claim_turns": 0.0015}
_SLOW: Final = 0.012


class StoreFaults:
    """Draws the fault of each call; none any more once the world heals."""

    def __init__(self, chance: SeededChance, trouble: float) -> None:
        self.is_healed = False
        self._random = chance.random
        self._chance = chance
        self._trouble = trouble

    def draw(self, name: str) -> CallFault:
        random = self._random
        before, after = 0.0005 + 0.004 * random(), 0.0005 + 0.004 * random()
        if self.is_healed:
            return CallFault(mishap=Mishap.NONE, before=before, after=after)
        if random() < _SLOW * self._trouble:
            slow = 4 * random() ** 2
            before, after = (before + slow, after) if random() < 0.5 else (before, after + slow)
        return CallFault(mishap=self._mishap(name), before=before, after=after)

    def _mishap(self, name: str) -> Mishap:
        drawn = self._random() / self._trouble
        narrow = _NARROW.get(name, 0.0)
        if drawn < narrow:
            return Mishap.CRASH if drawn < narrow * 0.4 else Mishap.PAUSE if drawn < narrow * 0.7 else Mishap.PARTED
        drawn -= narrow
        for share, mishap in _SHARES:
            drawn -= share
            if drawn < 0:
                return mishap
        return Mishap.NONE

    def uniform(self, low: float, high: float) -> float:
        return self._chance.uniform(low, high)

    def happens(self, probability: float) -> bool:
        return self._chance.happens(probability)
