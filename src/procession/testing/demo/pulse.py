"""What the live view draws as lines: how much was accepted, how soon it was answered 200, how soon replied to."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from procession.ports.clock import Clock

SAMPLE_S: Final = 0.25
SAMPLES: Final = 160
_RECENT: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    accepted: int
    """In this part of a second."""
    answer_ms: float | None
    """The median wait for a 200; None where none was given."""
    is_down: bool = False


class Pulse:
    def __init__(self, clock: Clock) -> None:
        self.samples: deque[Sample] = deque(maxlen=SAMPLES)
        self.first_reply_at: float | None = None
        """The first reply since the engine went down."""
        self.is_down = True
        self._clock = clock
        self._sampled_at = clock.monotonic()
        self._accepted = 0
        self._answers: list[float] = []
        self._all_answers: deque[float] = deque(maxlen=20_000)
        self._typed_at: dict[str, float] = {}
        self._reply_s: dict[str, deque[float]] = {}

    # --- what happens ---

    def typed(self, event: str) -> None:
        self._typed_at[event] = self._clock.monotonic()

    def acked(self, seconds: float, *, fresh: bool) -> None:
        self._accepted += fresh
        self._answers.append(seconds)
        self._all_answers.append(seconds)

    def answered(self, tenant: str, event: str) -> None:
        """The last reply to a text has come."""
        now = self._clock.monotonic()
        typed_at = self._typed_at.pop(event, None)
        if typed_at is not None:
            self._reply_s.setdefault(tenant, deque(maxlen=_RECENT)).append(now - typed_at)
        if self.first_reply_at is None:
            self.first_reply_at = now

    def went_down(self) -> None:
        """From here on, when is the first reply?"""
        self.is_down = True
        self.first_reply_at = None

    def came_up(self) -> None:
        self.is_down = False
        if not self.samples:
            self._sampled_at = self._clock.monotonic()

    def beat(self) -> None:
        """Close a sample, if it is time."""
        now = self._clock.monotonic()
        while now - self._sampled_at >= SAMPLE_S:
            answer_ms = _ms(median(self._answers))
            self.samples.append(Sample(accepted=self._accepted, answer_ms=answer_ms, is_down=self.is_down))
            self._accepted = 0
            self._answers.clear()
            self._sampled_at += SAMPLE_S

    # --- what is shown ---

    @property
    def per_second(self) -> float:
        """Accepted, over the last second."""
        last = list(self.samples)[-round(1 / SAMPLE_S) :]
        return sum(sample.accepted for sample in last) / (len(last) * SAMPLE_S) if last else 0.0

    @property
    def answer_ms(self) -> float | None:
        """The median wait for a 200, over everything."""
        return _ms(median(self._all_answers))

    def reply_ms(self, tenant: str) -> float | None:
        """The median time from a text to its last reply, over the last of them."""
        return _ms(median(self._reply_s.get(tenant, ())))


def median(values: Sequence[float]) -> float | None:
    return sorted(values)[len(values) // 2] if values else None


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
