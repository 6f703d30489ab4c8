"""Chance that is no chance: one seed decides a whole simulated world."""

import hashlib
import math
from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class SeededChance:
    """A root seed and, below it, any number of named streams that do not disturb one another.

    What is drawn from `of("network")` stays the same when somebody draws once more from `of("clock")`: so a world can
    be changed in one place, and an old seed still tells the same story everywhere else. Only `Random.random` and
    `Random.getrandbits` are used, since only their sequences are promised to be the same in every Python.
    """

    __slots__ = ("_path", "_random", "bits", "random")

    def __init__(self, seed: int, path: str = "") -> None:
        self._path = path or f"{seed}"
        self._random = Random(int.from_bytes(_digest(self._path, 32)))  # noqa: S311 - repeatable on purpose
        self.random = self._random.random
        self.bits = self._random.getrandbits

    def of(self, name: str) -> "SeededChance":
        """The stream of that name, from its beginning: keep it, do not ask for it at each draw."""
        return SeededChance(0, f"{self._path}/{name}")

    def fraction(self, name: str) -> float:
        """A number in [0, 1) that hangs on the seed and the name only, however often and when it is asked."""
        return (int.from_bytes(_digest(f"{self._path}?{name}", 8)) >> 11) / 2**53

    def uniform(self, low: float, high: float) -> float:
        drawn = low + (high - low) * self.random()
        return drawn if drawn < high or low == high else math.nextafter(high, low)

    def token(self, size: int) -> bytes:
        return self.bits(8 * size).to_bytes(size) if size else b""

    def below(self, bound: int) -> int:
        """A whole number in [0, bound)."""
        return int(self.random() * bound)

    def happens(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, among: Sequence[T]) -> T:
        return among[self.below(len(among))]

    def shuffled(self, among: Sequence[T]) -> list[T]:
        left = list(among)
        for last in range(len(left) - 1, 0, -1):
            other = self.below(last + 1)
            left[last], left[other] = left[other], left[last]
        return left


def _digest(text: str, size: int) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=size).digest()
