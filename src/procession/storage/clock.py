"""The store's own clock: what leases, backoffs and windows are counted with (G5 of the store's contract)."""

from datetime import datetime, timedelta

from procession.ports.clock import Clock


class StoreClock:
    """Wall time at the start, carried on by the monotonic clock: jumps of the wall while running do not reach it.

    `not_before` is the last instant that an earlier process of this store has written down, so that it never goes
    backwards over a restart either.
    """

    def __init__(self, clock: Clock, not_before: datetime | None = None) -> None:
        self._clock = clock
        started = clock.now()
        self._base = started if not_before is None else max(started, not_before)
        self._started = clock.monotonic()

    def now(self) -> datetime:
        return self._base + timedelta(seconds=self._clock.monotonic() - self._started)
