"""Counters, by name and tenant."""

from collections import Counter


class Counters:
    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, amount: int, tenant: str) -> None:
        self._counts[name, tenant] += amount

    def total(self, name: str) -> int:
        return sum(count for (own, _), count in self._counts.items() if own == name)

    def all(self) -> dict[str, int]:
        """Totals over the tenants, by name."""
        totals: Counter[str] = Counter()
        for (name, _), count in self._counts.items():
            totals[name] += count
        return dict(sorted(totals.items()))
