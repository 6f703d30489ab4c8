"""How long to wait before the next try."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Exponential backoff with full bounded jitter: between half and all of base * factor^(try - 1), at most `cap`."""

    tries_max: int = 8
    base: timedelta = timedelta(seconds=1)
    factor: float = 2.0
    cap: timedelta = timedelta(minutes=5)

    def after(self, tries: int, draw: float) -> timedelta:
        """The wait after `tries` tries have failed; `draw` in [0, 1) comes from the injected chance."""
        # The exponent is bounded, since factor ** tries overflows a float long before the tries are used up.
        grown = self.base.total_seconds() * self.factor ** min(max(tries - 1, 0), 64)
        whole = min(grown, self.cap.total_seconds())
        return timedelta(seconds=whole * (0.5 + draw / 2))

    def used_up(self, tries: int) -> bool:
        return tries >= self.tries_max
