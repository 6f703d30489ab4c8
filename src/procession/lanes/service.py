"""The lanes stage as one service: claims turns, plays them, keeps their leases, and ends calmly."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Final

from procession.core.errors import StoreError
from procession.core.limits import DRAIN_WAIT
from procession.lanes.app import App
from procession.lanes.flight import Flight
from procession.lanes.means import Means
from procession.lanes.runner import Runner
from procession.lanes.scheduler import Scheduler
from procession.ports.bell import Ring
from procession.runtime.keepalive import Keepalive, Kept
from procession.runtime.loop import Loop
from procession.runtime.service import Service
from procession.runtime.slots import Slots
from procession.runtime.watch import Watch

_CLAIM_ENDS_WITHIN: Final = timedelta(seconds=1)
"""A claim that is under way at a stop is awaited for so long: what it answers has to be given back, too. Left alone it
would run out, and look like the death of turns that were never begun."""
_CANCELLED_END_WITHIN: Final = timedelta(seconds=1)
"""Handlers that were cancelled at the end of a drain may tidy up for so long before their leases are given back."""


class LanesService(Service):
    def __init__(self, app: App, means: Means, *, drain_wait: timedelta = DRAIN_WAIT) -> None:
        super().__init__("lanes", drain_wait=drain_wait)
        self._watch = Watch(means.clock)
        self._keepalive = Keepalive(means.store, means.clock, means.lease_ttl, self._lost)
        self._runner = Runner(app, means, keepalive=self._keepalive, watch=self._watch, may_keep=self._may_keep)
        self._slots: Slots[Flight] = Slots(means.slots, self._fly, name="turn")
        self._scheduler = Scheduler(means, self._slots, self._runner, self._keepalive)
        self._claiming = Loop(
            "lanes.claim",
            self._scheduler.look,
            bell=means.bell,
            ring=Ring.TURNS,
            chance=means.chance,
            telemetry=means.telemetry,
            fail_stop=means.fail_stop,
        )
        self._renewing = Loop(
            "lanes.renew",
            self._keepalive.renew,
            bell=means.bell,
            ring=None,
            chance=means.chance,
            telemetry=means.telemetry,
            fail_stop=means.fail_stop,
        )

    @property
    def in_flight(self) -> int:
        """Turns that this process plays at the moment."""
        return self._slots.busy

    async def body(self, group: asyncio.TaskGroup) -> None:
        self._slots.open(group)
        group.create_task(self._renewing.run(), name="lanes.renew")
        group.create_task(self._claiming.run(), name="lanes.claim")

    async def drain(self, wait: timedelta) -> None:
        """Claim nothing more; wait for what is in flight; cancel the rest, and give its lanes back, uncounted."""
        self._scheduler.stop()
        self._claiming.stop()
        await self._claiming.ended(_CLAIM_ENDS_WITHIN)
        if not await self._slots.empty(wait):
            self._runner.stop()
            await self._slots.empty(_CANCELLED_END_WITHIN)
        # What cannot be released now is freed when its lease has run out.
        with suppress(StoreError):
            await self._scheduler.give_back()

    async def close(self) -> None:
        self._renewing.stop()
        self._watch.close()

    def _may_keep(self) -> bool:
        return self._scheduler.may_keep()

    def _lost(self, kept: Kept) -> None:
        self._runner.lost(kept)

    async def _fly(self, flight: Flight) -> None:
        try:
            await self._runner.run(flight)
        finally:
            self._scheduler.landed(flight)
