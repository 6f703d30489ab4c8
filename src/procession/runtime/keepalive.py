"""Keepalive: all leases that a stage holds are renewed together, each third of their length.

One lost renewal is survived: trust lasts for two thirds. What the store calls lost is told to its holder at once, and
never renewed again.
"""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from procession.core.errors import OutcomeUnknown, StoreAway
from procession.core.lane import Lease
from procession.core.limits import RENEW_SHARE
from procession.ports.clock import Clock
from procession.ports.store import Store
from procession.runtime.trust import Trust

_LOOK_SHARE: Final = RENEW_SHARE / 2
"""How often to look, as a share of the lease: a lease is renewed between one and one and a half thirds of its age."""


class Kept:
    """A lease that is held, and how far its holder trusts it."""

    __slots__ = ("ending", "lease", "trust")

    def __init__(self, lease: Lease, trust: Trust) -> None:
        self.lease = lease
        self.trust = trust
        self.ending = False
        """Its holder is sending the write that gives it up. The store may then call the lease lost because this very
        write has happened: what became of it, the write's own answer says."""


class Keepalive:
    def __init__(self, store: Store, clock: Clock, ttl: timedelta, on_lost: Callable[[Kept], None]) -> None:
        self._store = store
        self._clock = clock
        self._ttl = ttl
        self._on_lost = on_lost
        self._held: dict[Kept, None] = {}
        self.is_cut_off = False
        """The store has said of the newest renewal that it is away. A renewal without an answer does not say so: a
        holder that stands still, or makes its whole process stand still, gets none either."""

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
            try:
                lost = await self._lost(tuple(due))
            except StoreAway:
                self.is_cut_off = True
                raise
            self.is_cut_off = False
            self._tell(due, lost, since)
        return self._ttl * _LOOK_SHARE

    async def _lost(self, leases: tuple[Lease, ...]) -> tuple[Lease, ...]:
        try:
            async with asyncio.timeout((self._ttl * RENEW_SHARE).total_seconds()):
                return await self._store.renew(leases, self._ttl)
        except TimeoutError:
            raise OutcomeUnknown("the store did not answer a renewal in time") from None

    def _tell(self, due: dict[Lease, Kept], lost: tuple[Lease, ...], since: float) -> None:
        gone = set(lost)
        for lease, kept in due.items():
            # The lease may have been settled, and the holder gone on under a new epoch, while the call was under way.
            if kept not in self._held or kept.lease != lease:
                continue
            if lease in gone:
                if kept.ending:
                    continue
                kept.trust.lose()
                self._held.pop(kept)
                self._on_lost(kept)
            else:
                kept.trust.renewed(self._ttl, since)
