"""Claims turns as slots come free, and keeps those apart that may be what kills processes.

A turn that was in flight when its process died is a suspect: most suspects are innocent, and were only beside the
guilty one. They are played again so that the guilty one is found and takes nobody along:

    one death         at most SUSPECTS_TOGETHER_MAX of them at a time, beside the others
    two and more      alone: nothing else is in flight in this process, and the store is told so
    DEATHS_ALONE_MAX  deaths alone: it has shown what it is, and is given up without another try (see `decide`)

So an innocent turn dies at most twice in company, and comes through when it is alone.

Suspects and the others take turns. A look for suspects comes with the first free slot, each POLL, and after each look
that may have left some; but never twice without the others having been let in between. A run alone waits until this
process is empty, which takes as long as the longest turn in flight may (its deadline); no lane is kept meanwhile. While
runs alone are short, a few of them follow one another, since emptying the process is what costs.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from procession.core.errors import OutcomeUnknown
from procession.core.limits import POLL, SUSPECTS_TOGETHER_MAX
from procession.core.turn import HeldTurn
from procession.lanes.decide import is_condemned
from procession.lanes.flight import Flight
from procession.lanes.means import Means
from procession.lanes.runner import Runner
from procession.ports.bell import Ring
from procession.ports.store import Ask
from procession.runtime.keepalive import Keepalive
from procession.runtime.loop import AGAIN
from procession.runtime.slots import Slots
from procession.runtime.trust import Trust

_DEATHS_APART: Final = 2
"""From so many deaths on a turn runs alone."""
_ALONE_IN_A_ROW_MAX: Final = SUSPECTS_TOGETHER_MAX
"""Runs alone between two looks at the others; as many as one crash can bring to a second death."""
_ALONE_IN_A_ROW_WITHIN: Final = POLL
"""After runs alone have taken so long in all, the others are let in first."""


class Scheduler:
    def __init__(self, means: Means, slots: Slots[Flight], runner: Runner, keepalive: Keepalive) -> None:
        self._means = means
        self._slots = slots
        self._runner = runner
        self._keepalive = keepalive
        self._stopping = False
        self._suspects = 0
        self._more_suspects = False
        self._look_at = means.clock.monotonic()
        self._others_first = False
        self._alone_due = False
        self._alone_running = False
        self._alone_in_a_row = 0
        self._alone_since = 0.0

    def stop(self) -> None:
        """Claim nothing more, and let no lane be kept."""
        self._stopping = True

    def may_keep(self) -> bool:
        return not (self._stopping or self._alone_due or self._alone_running)

    def landed(self, flight: Flight) -> None:
        """A flight is over; called by whoever runs it, once for the flight that was put into a slot."""
        if flight.suspect:
            self._suspects -= 1
            if self._more_suspects:
                self._means.bell.ring(Ring.TURNS)

    async def look(self) -> timedelta:
        """One pass; answers how long to rest if no bell rings."""
        await self.give_back()
        if self._stopping:
            return POLL
        if self._alone_running and not await self._alone_landed():
            return AGAIN
        if self._alone_due:
            return await self._look_for_one_alone()
        return await self._look_for_several()

    async def give_back(self) -> None:
        """Release what was claimed and not played."""
        now = tuple(self._runner.given_back)
        if now:
            await self._means.store.release(now, uncount=True)
            # Only now: what could not be released is tried again, since a lease that runs out looks like a death.
            self._runner.given_back = [lease for lease in self._runner.given_back if lease not in now]

    # --- the others ---

    async def _look_for_several(self) -> timedelta:
        if not await self._slots.room(POLL):
            return AGAIN
        if self._is_time_for_suspects():
            await self._look_for_suspects()
            if self._alone_due:
                return AGAIN
        return await self._look_for_others()

    async def _look_for_others(self) -> timedelta:
        free = self._slots.free
        if not free:
            return AGAIN
        found = await self._claim(free)
        self._others_first = False
        self._start(found)
        more = len(found.turns) == free or (self._more_suspects and self._suspects < SUSPECTS_TOGETHER_MAX)
        return AGAIN if more else POLL

    # --- suspects ---

    def _is_time_for_suspects(self) -> bool:
        if self._others_first or self._suspects >= SUSPECTS_TOGETHER_MAX:
            return False
        return self._more_suspects or self._means.clock.monotonic() >= self._look_at

    async def _look_for_suspects(self) -> None:
        free = min(self._slots.free, SUSPECTS_TOGETHER_MAX - self._suspects)
        found = await self._claim(free, suspects=True)
        self._more_suspects = len(found.turns) == free
        self._look_at = self._means.clock.monotonic() + POLL.total_seconds()
        apart = [turn for turn in found.turns if turn.deaths >= _DEATHS_APART and not is_condemned(turn)]
        if apart:
            # Claimed in company, so its death would not tell: it goes back, and is claimed again when it is alone.
            self._runner.given_back.extend(turn.lease for turn in apart)
            self._alone_due = self._more_suspects = True
            self._alone_in_a_row = 0
        self._start(found.without(apart), suspect=True)
        self._others_first = self._slots.free == 0

    # --- alone ---

    async def _look_for_one_alone(self) -> timedelta:
        if not await self._slots.empty(POLL):
            return AGAIN
        if self._alone_in_a_row == 0:
            self._alone_since = self._means.clock.monotonic()
        self._alone_due = False
        found = await self._claim(1, suspects=True, alone=True)
        if found.turns:
            self._start(found, suspect=True, alone=True)
            self._alone_running = self._slots.busy > 0
        return AGAIN

    async def _alone_landed(self) -> bool:
        """Has the turn that runs alone ended? Then decide who is next."""
        if not await self._slots.empty(POLL):
            return False
        self._alone_running = False
        self._alone_in_a_row += 1
        taken = self._means.clock.monotonic() - self._alone_since
        self._alone_due = self._alone_in_a_row < _ALONE_IN_A_ROW_MAX and taken < _ALONE_IN_A_ROW_WITHIN.total_seconds()
        self._others_first = not self._alone_due
        return True

    # --- both ---

    async def _claim(self, lanes_max: int, *, suspects: bool = False, alone: bool = False) -> "_Found":
        means = self._means
        ask = Ask(
            worker=means.worker,
            lanes_max=lanes_max,
            ttl=means.lease_ttl,
            pools=means.pools,
            suspects=suspects,
            alone=alone,
        )
        since = means.clock.monotonic()
        try:
            async with asyncio.timeout(means.lease_ttl.total_seconds()):
                turns = await means.store.claim_turns(ask)
        except TimeoutError:
            raise OutcomeUnknown("the store did not answer a claim in time") from None
        return _Found(turns, since)

    def _start(self, found: "_Found", *, suspect: bool = False, alone: bool = False) -> None:
        for held in found.turns:
            trust = Trust(self._means.clock, self._means.lease_ttl, found.since)
            if self._stopping or not trust.holds():
                self._runner.given_back.append(held.lease)
                continue
            flight = Flight(held, trust, suspect=suspect, alone=alone)
            self._suspects += suspect
            self._keepalive.add(flight)
            self._slots.put(flight)


class _Found:
    """Turns of one claim, and the moment before it was sent."""

    __slots__ = ("since", "turns")

    def __init__(self, turns: Sequence[HeldTurn], since: float) -> None:
        self.turns = turns
        self.since = since

    def without(self, some: Sequence[HeldTurn]) -> "_Found":
        return _Found([turn for turn in self.turns if turn not in some], self.since) if some else self
