"""Keepalive: all leases that a stage holds are renewed together, each third of their length.

One lost renewal is survived: trust lasts for two thirds. What the store calls lost is told to its holder at once, and
never renewed again.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from procession.core.lane import Lease
from procession.core.limits import RENEW_SHARE
from procession.ports.clock import Clock
from procession.ports.store import Store
from procession.runtime.trust import Trust

_LOOK_SHARE: Final = RENEW_SHARE / 2
"""How often to look, as a share of the lease: a lease is renewed between one and one and a half thirds of its age."""


class Kept:
    """A lease that is held, and how far its holder trusts it."""

    __slots__ = ("lease", "trust")

    def __init__(self, lease: Lease, trust: Trust) -> None:
        self.lease = lease
        self.trust = trust


class Keepalive:
    def __init__(self, store: Store, clock: Clock, ttl: timedelta, on_lost: Callable[[Kept], None]) -> None:
        self._store = store
        self._clock = clock
        self._ttl = ttl
        self._on_lost = on_lost
        self._held: dict[Kept, None] = {}

    def add(self, kept: Kept) -> None:
        self._held[kept] = None

    def drop(self, kept: Kept) -> None:
        self._held.pop(kept, None)

    def leases(self) -> tuple[Lease, ...]:
        return tuple(kept.lease for kept in self._held)

    async def renew(self) -> timedelta:
        """One pass of the renewing loop."""
        due_age = self._ttl * (RENEW_SHARE - _LOOK_SHARE / 2)
        due = {kept.lease: kept for kept in self._held if kept.trust.age() >= due_age}
        if due:
            since = self._clock.monotonic()
            lost = await self._store.renew(tuple(due), self._ttl)
            self._tell(due, lost, since)
        return self._ttl * _LOOK_SHARE

    def _tell(self, due: dict[Lease, Kept], lost: tuple[Lease, ...], since: float) -> None:
        gone = set(lost)
        for lease, kept in due.items():
            # The lease may have been settled, and the holder gone on under a new epoch, while the call was under way.
            if kept not in self._held or kept.lease != lease:
                continue
            if lease in gone:
                kept.trust.lose()
                self._held.pop(kept)
                self._on_lost(kept)
            else:
                kept.trust.renewed(self._ttl, since)
