"""The outbox as a service: a loop that claims, one that renews, one that follows the directory; and slots that send."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final

from procession.core.errors import StoreError
from procession.core.limits import DRAIN_WAIT, LEASE_TTL, POLL, SENDS_MAX
from procession.outbox.means import Means
from procession.outbox.scheduler import SendScheduler
from procession.outbox.sender import Sender
from procession.ports.bell import Ring
from procession.runtime.loop import Loop
from procession.runtime.service import Service

_CLAIM_ENDS_WITHIN: Final = timedelta(seconds=1)
"""How long a stop waits for a claim that is under way."""


class OutboxService(Service):
    def __init__(
        self,
        means: Means,
        *,
        lease_ttl: timedelta = LEASE_TTL,
        sends_max: int = SENDS_MAX,
        pools: frozenset[str] = frozenset({""}),
        poll: timedelta = POLL,
        drain_wait: timedelta = DRAIN_WAIT,
    ) -> None:
        super().__init__("outbox", drain_wait=drain_wait)
        self._means = means
        self._scheduler = SendScheduler(
            means, Sender(means, lease_ttl), lease_ttl=lease_ttl, sends_max=sends_max, pools=pools
        )
        self._claiming = self._loop("sends", Ring.SENDS, self._scheduler.claim)
        self._renewing = self._loop("sends-renew", None, self._scheduler.keepalive.renew)
        self._following = self._loop("outlets", None, self._follow)
        self._poll = poll

    def _loop(self, name: str, ring: Ring | None, work: Callable[[], Awaitable[timedelta]]) -> Loop:
        means = self._means
        return Loop(
            name,
            work,
            bell=means.bell,
            ring=ring,
            chance=means.chance,
            telemetry=means.telemetry,
            fail_stop=means.fail_stop,
        )

    async def body(self, group: asyncio.TaskGroup) -> None:
        self._scheduler.slots.open(group)
        for loop in (self._following, self._renewing, self._claiming):
            group.create_task(loop.run(), name=loop.name)

    async def drain(self, wait: timedelta) -> None:
        self._claiming.stop()
        # What a claim that is under way answers has to be sent, or given back: cut off in the midst of a begin it would
        # be left armed, and so in doubt.
        await self._claiming.ended(_CLAIM_ENDS_WITHIN)
        if not await self._scheduler.slots.empty(wait):
            try:
                await self._scheduler.give_back()
            except StoreError as error:
                # Their leases will run out instead.
                self._means.telemetry.warn("outbox.not_given_back", error=type(error).__name__)
        self._renewing.stop()
        self._following.stop()

    async def close(self) -> None:
        self._scheduler.close()

    async def _follow(self) -> timedelta:
        await self._means.outlets.refresh()
        return self._poll
