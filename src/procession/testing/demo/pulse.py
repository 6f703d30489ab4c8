"""What the live view draws as lines: how soon the people of each shop get a reply."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from procession.ports.clock import Clock

SAMPLE_S: Final = 0.25
SAMPLES: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    reply_s: float | None
    """The median wait for a first step; None where there was none."""
    is_down: bool = False


class Pulse:
    def __init__(self, clock: Clock, tenants: Sequence[str]) -> None:
        self.samples: dict[str, deque[Sample]] = {tenant: deque(maxlen=SAMPLES) for tenant in tenants}
        self.first_reply_at: float | None = None
        """The first reply since the engine went down."""
        self.is_down = True
        self._clock = clock
        self._sampled_at = clock.monotonic()
        self._replies: dict[str, list[float]] = defaultdict(list)
        self._all: dict[str, list[float]] = defaultdict(list)

    # --- what happens ---

    def replied(self, replies: Iterable[tuple[str, float]]) -> None:
        for tenant, seconds in replies:
            self._replies[tenant].append(seconds)
            self._all[tenant].append(seconds)
            if self.first_reply_at is None:
                self.first_reply_at = self._clock.monotonic()

    def went_down(self) -> None:
        """From here on, when is the first reply?"""
        self.is_down = True
        self.first_reply_at = None

    def came_up(self) -> None:
        self.is_down = False

    def begin(self) -> None:
        """What was before is no part of the picture."""
        self._sampled_at = self._clock.monotonic()

    def beat(self) -> None:
        """Close a sample, if it is time."""
        now = self._clock.monotonic()
        while now - self._sampled_at >= SAMPLE_S:
            for tenant, samples in self.samples.items():
                samples.append(Sample(reply_s=median(self._replies[tenant]), is_down=self.is_down))
                self._replies[tenant].clear()
            self._sampled_at += SAMPLE_S

    # --- what is shown ---

    def reply_s(self, tenant: str) -> float | None:
        """The newest median wait for a first step."""
        return next((sample.reply_s for sample in reversed(self.samples[tenant]) if sample.reply_s is not None), None)

    def reply_s_of_all(self, tenant: str) -> float | None:
        """The median over everything."""
        return median(self._all[tenant])


def median(values: Sequence[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None
