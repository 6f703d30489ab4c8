"""How often a provider lets us send: to everybody through one channel, and to one person.

Both are counted by the store, over all processes, in the write that arms an effect. What comes too early is not
refused: it is told when, and waits.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

_EARLY_SHARE: Final = 0.1
"""How far a channel may run ahead of its even pace: a tenth of a second's worth, so that small bursts do not wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """A channel's bounds. Zero is no bound."""

    per_second: int = 0
    """Sends of the whole channel."""
    pair_every: timedelta = timedelta(0)
    """One send to the same person in so long, in the long run."""
    pair_burst: int = 1
    """So many may go within one `pair_every`, on credit: the next goes when all of them are paid off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Burst:
    """What a person's conversation owes: when the present burst began, and how many went in it. Microseconds."""

    since: int
    count: int


def channel_slot(pace: Pace, line: int, now: int) -> tuple[int, int]:
    """When the channel's next send may begin (now, or later), and the line after that place is taken.

    `line` is where an even pace stands: each send moves it by one gap, and it never lags behind the present by more
    than the early share. So of all places that are given, no more than `per_second`, and that share of it, lie within
    any second.
    """
    if pace.per_second <= 0:
        return now, line
    gap = -(-1_000_000 // pace.per_second)  # rounded up: rounded down it would be a little more than allowed
    # Whole gaps only: less than one lets nobody go earlier, and would only shorten the first gap after a rest.
    early = int(1_000_000 * _EARLY_SHARE) // gap * gap
    place = max(line, now - early)
    return max(now, place), place + gap


def pair_slot(pace: Pace, owes: Burst, now: int) -> tuple[int, Burst]:
    """When the next send to this person may begin, and what is owed after it has.

    The documented debt: a burst may be sent within `pair_every` of its first; after it, silence for as long as an even
    pace would have needed for all of it.
    """
    every = pace.pair_every // timedelta(microseconds=1)
    if every <= 0:
        return now, owes
    if owes.count and now < owes.since + every and owes.count < pace.pair_burst:
        return now, Burst(since=owes.since, count=owes.count + 1)
    at = max(now, owes.since + every * owes.count)
    return at, Burst(since=at, count=1)
