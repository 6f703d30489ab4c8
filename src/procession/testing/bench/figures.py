"""Figures: what a load was answered, percentiles, medians of rounds, ratios."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

Figures = dict[str, float]


class Answers:
    """What one load was answered, while it goes on."""

    def __init__(self) -> None:
        self.began = 0.0
        self.ended = 0.0
        """Moments of the machine's monotonic clock, which all its processes share."""
        self.lost = 0
        self.refused = 0
        self._took: list[float] = []

    def add(self, took: float, *, good: bool) -> None:
        if good:
            self._took.append(took)
        else:
            self.refused += 1

    def told(self) -> Figures:
        good = len(self._took)
        return {
            "good": good,
            "refused": self.refused,
            "lost": self.lost,
            "began": self.began,
            "ended": self.ended,
            "per_second": good / max(self.ended - self.began, 1e-9),
            "p50_ms": percentile(self._took, 0.50) * 1000,
            "p99_ms": percentile(self._took, 0.99) * 1000,
        }


def percentile(values: Sequence[float], share: float) -> float:
    """By rank, of what was measured: no interpolation. Zero, if nothing was."""
    ordered = sorted(values)
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


def medians(rounds: Sequence[Mapping[str, Figures]]) -> dict[str, Figures]:
    """Figure by figure, over the rounds."""
    first = rounds[0]
    return {
        measure: {name: rounded(median(each[measure][name] for each in rounds)) for name in figures}
        for measure, figures in first.items()
    }


def rounded(value: float) -> float:
    """As many digits as mean something."""
    return float(round(value)) if abs(value) >= 100 else round(value, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """One measure's rate against another's, in the same rounds."""

    name: str
    of: str
    to: str
    figure: str = "per_second"

    def over(self, rounds: Sequence[Mapping[str, Figures]]) -> float:
        """The median of each round's own ratio: rounds differ more from one another than measures within one."""
        return rounded(median(each[self.of][self.figure] / max(each[self.to][self.figure], 1e-9) for each in rounds))
