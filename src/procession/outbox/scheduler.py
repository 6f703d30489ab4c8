"""Claims conversations whose next effect may go, and keeps each with one sender until it has nothing more at once."""

import asyncio
from datetime import timedelta
from typing import Final

from procession.core.errors import OutcomeUnknown, StoreBroken, StoreError
from procession.core.limits import KEEP_TURNS_MAX, POLL
from procession.core.turn import HeldEffect
from procession.outbox.means import Means
from procession.outbox.sender import Sender
from procession.ports.store import Ask
from procession.runtime.keepalive import Keepalive, Kept
from procession.runtime.loop import AGAIN
from procession.runtime.slots import Slots
from procession.runtime.trust import Trust
from procession.runtime.watch import Cause, Watch, Watched

_SEND_DEADLINE: Final = timedelta(minutes=2)
"""Of one effect in a slot, all in all: a connector that hangs must not hold a conversation."""


class Claimed:
    """A conversation in a slot."""

    __slots__ = ("held", "kept", "watched")

    def __init__(self, held: HeldEffect, trust: Trust) -> None:
        self.held = held
        self.kept = Kept(held.lease, trust)
        self.watched: Watched | None = None


class SendScheduler:
    def __init__(
        self, means: Means, sender: Sender, *, lease_ttl: timedelta, sends_max: int, pools: frozenset[str]
    ) -> None:
        self._means = means
        self._sender = sender
        self._ttl = lease_ttl
        self._pools = pools
        self._watch = Watch(means.clock)
        self._claimed: dict[Kept, Claimed] = {}
        self.slots: Slots[Claimed] = Slots(sends_max, self._work, name="send")
        self.keepalive = Keepalive(means.store, means.clock, lease_ttl, self._lost)

    async def claim(self) -> timedelta:
        """One pass of the claiming loop."""
        if not await self.slots.room(POLL):
            return AGAIN
        wanted, since = self.slots.free, self._means.clock.monotonic()
        ask = Ask(worker=self._means.worker, lanes_max=wanted, ttl=self._ttl, pools=self._pools)
        try:
            async with asyncio.timeout(self._ttl.total_seconds()):
                found = await self._means.store.claim_sends(ask)
        except TimeoutError:
            raise OutcomeUnknown("the store did not answer a claim in time") from None
        for held in found:
            self._take(Claimed(held, Trust(self._means.clock, self._ttl, since)))
        return AGAIN if len(found) == wanted else POLL

    def _take(self, claimed: Claimed) -> None:
        self._claimed[claimed.kept] = claimed
        self.keepalive.add(claimed.kept)
        self.slots.put(claimed)

    async def _work(self, claimed: Claimed) -> None:
        try:
            await self._send_on(claimed)
        finally:
            self.keepalive.drop(claimed.kept)
            self._claimed.pop(claimed.kept, None)

    async def _send_on(self, claimed: Claimed) -> None:
        """This effect, and those behind it that may go at once; bounded, so that no conversation holds a slot."""
        for _ in range(KEEP_TURNS_MAX):
            following = await self._send_one(claimed)
            if following is None:
                return
            claimed.held = following
            claimed.kept.lease = following.lease
        await self._give_back(claimed)

    async def _give_back(self, claimed: Claimed) -> None:
        """The conversation has had its share; others first. It must not raise: that would end the whole stage."""
        try:
            await self._means.store.release((claimed.kept.lease,))
        except StoreBroken as broken:
            self._means.fail_stop(f"sends: {broken}")
        except StoreError as error:
            # Its lease will run out instead.
            self._means.telemetry.warn("outbox.not_given_back", error=type(error).__name__)

    async def _send_one(self, claimed: Claimed) -> HeldEffect | None:
        deadline = self._means.clock.monotonic() + _SEND_DEADLINE.total_seconds()
        claimed.watched = self._watch.begin(claimed.kept.trust, deadline)
        try:
            return await self._sender.send(claimed.held, claimed.kept)
        except StoreBroken as broken:
            self._means.fail_stop(f"sends: {broken}")
            return None
        except asyncio.CancelledError:
            if claimed.watched.cause is None:
                raise
            return None
        except Exception as error:  # noqa: BLE001 - a bug in one send must not end the stage
            self._tell(claimed, error)
            return None
        finally:
            self._watch.end(claimed.watched)
            claimed.watched = None

    def _tell(self, claimed: Claimed, error: Exception) -> None:
        # Whatever was armed is left armed: the sweep will find it, and doubt it.
        self._means.telemetry.count("outbox.failed")
        self._means.telemetry.warn("outbox.failed", effect=claimed.held.effect.id, error=type(error).__name__)

    def _lost(self, kept: Kept) -> None:
        self._means.telemetry.count("outbox.lease_lost")
        claimed = self._claimed.get(kept)
        if claimed is not None and claimed.watched is not None:
            self._watch.cancel(claimed.watched, Cause.LOST)

    async def give_back(self) -> None:
        """What is under way is ended, and every lane given back: what was armed becomes doubtful."""
        leases = self.keepalive.leases()
        self._watch.cancel_all(Cause.STOP)
        await self.slots.empty(POLL)
        await self._means.store.release(leases)

    def close(self) -> None:
        self._watch.close()
