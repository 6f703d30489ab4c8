"""Trust: how long a holder of a lease goes on without asking.

Two clocks, one authority. The store alone says who holds a lane, by its own clock, and refuses whoever does not. Local
time is used for one thing only: to *stop* early, so that a holder that was paused or cut off does not start a call
that another will start too.

    claim sent          claim answered                           trust ends          lease ends (store)
    |-------------------|----------------------------------------|-------------------|----->
    ^ counted from here, since the store's clock cannot have started earlier
    |<------------------- TRUST_SHARE of the lease ------------->|

A renewal that succeeded extends it, counted from before that call was sent, also if it had lapsed meanwhile: the store
has said that nobody else had the lane. A lease that the store calls lost is never trusted again.
"""

import math
from datetime import timedelta
from typing import Final

from procession.core.limits import TRUST_SHARE
from procession.ports.clock import Clock

_NEVER: Final = -math.inf


class Trust:
    """In one lease, of one holder."""

    __slots__ = ("_clock", "_since", "until")

    def __init__(self, clock: Clock, ttl: timedelta, since: float) -> None:
        """Begin to trust; `since` is the monotonic clock right before the claim was sent."""
        self._clock = clock
        self._since = since
        self.until = since + ttl.total_seconds() * TRUST_SHARE
        """On the monotonic clock; minus infinity when the lease is lost."""

    def holds(self) -> bool:
        """May a call, a step or a settle be started now?"""
        return self._clock.monotonic() < self.until

    def remaining(self) -> timedelta:
        """What is left of it; zero when it has ended."""
        return timedelta(seconds=max(0.0, self.until - self._clock.monotonic())) if self.until > 0 else timedelta(0)

    def age(self) -> timedelta:
        """How long ago the store was last asked, successfully, for this lease."""
        return timedelta(seconds=max(0.0, self._clock.monotonic() - self._since))

    def renewed(self, ttl: timedelta, since: float) -> None:
        """Go on trusting: a renewal that was sent at `since` has succeeded."""
        if self.until == _NEVER:
            return
        self._since = max(self._since, since)
        self.until = max(self.until, since + ttl.total_seconds() * TRUST_SHARE)

    def lose(self) -> None:
        """Stop for ever: the store has said that the lease is another's."""
        self.until = _NEVER
