"""What a number may send: to one person in six seconds, and to everybody in one.

Written anew from Meta's pages, and not taken from the engine: it is to find out if the engine has it wrong.
"""

from collections import deque
from dataclasses import dataclass, field

from procession.testing.whatsapp.rules import Rules


@dataclass(slots=True, kw_only=True)
class Pair:
    """The documented debt: a burst may go at once, and is paid off by a silence of as many times six seconds."""

    since: float = 0.0
    count: int = 0

    def take(self, now: float, rules: Rules) -> bool:
        if rules.pair_every_s is None:
            return True
        if self.count and now < self.since + rules.pair_every_s and self.count < rules.pair_burst:
            self.count += 1
            return True
        if now + rules.pair_slack_s < self.since + rules.pair_every_s * self.count:
            return False
        self.since, self.count = now, 1
        return True


@dataclass(slots=True, kw_only=True)
class Throughput:
    """Both ways count, in any second."""

    at: deque[float] = field(default_factory=deque[float])

    def note(self, now: float) -> None:
        self.at.append(now)

    def has_room(self, now: float, rules: Rules) -> bool:
        while self.at and self.at[0] <= now - 1.0:
            self.at.popleft()
        return rules.per_second is None or len(self.at) < rules.per_second
