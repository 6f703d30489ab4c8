"""Who may have a connection, and who waits for one.

A *place* is the right to one open connection; there are so many for an origin and so many in all. A call takes a
connection that rests, or a place to open one in, or it waits. A place that comes free is passed on at once, so that
there is never a free place and somebody who could use it; hence newcomers overtake nobody.

Origins that wait are served in turn, whatever their numbers: one tenant's slow server may hold its own places, and no
more. If the next in turn is of another origin than the connection that came free, that connection is closed to make
room. Where nobody waits, connections rest, and the longest rested makes room first.
"""

import asyncio
from collections import deque
from typing import Final

from procession.ports.wire import NotSent, Unsent
from procession.runtime.wire.connection import Connection
from procession.runtime.wire.limits import WireLimits
from procession.runtime.wire.target import Origin

PLACE: Final = None
"""A place without a connection: whoever gets it opens one."""

Lent = Connection | None


class _Origin:
    """The places of one origin."""

    __slots__ = ("resting", "taken", "waiting")

    def __init__(self) -> None:
        self.taken = 0
        self.resting: list[Connection] = []
        self.waiting: deque[asyncio.Future[Lent | NotSent]] = deque()


class Pool:
    def __init__(self, limits: WireLimits) -> None:
        self._limits = limits
        self._origins: dict[Origin, _Origin] = {}
        self._taken = 0
        self._waiting = 0
        self._turns: dict[Origin, None] = {}
        """Origins with somebody waiting, the next in turn first."""
        self._resting: dict[Connection, None] = {}
        """Of all origins, the longest rested first."""
        self._sweep: asyncio.TimerHandle | None = None

    async def take(self, origin: Origin, *, deadline: float) -> Lent | NotSent:
        """A resting connection, or a place to open one in. It is given back, or left, by whoever got it."""
        places = self._origins.get(origin) or self._origins.setdefault(origin, _Origin())
        now = asyncio.get_running_loop().time()
        while places.resting:
            connection = places.resting.pop()
            del self._resting[connection]
            if now < connection.idle_until:
                return connection
            connection.abort()
            self._free(origin, places)
        self._origins[origin] = places  # freeing its last place has taken it out
        if places.taken < self._limits.connections_per_origin_max and self._make_room():
            places.taken += 1
            self._taken += 1
            return PLACE
        return await self._wait(origin, places, deadline)

    def give_back(self, connection: Connection) -> None:
        """The exchange is over: somebody else may have the connection, or at least its place."""
        places = self._origins[connection.origin]
        if not connection.reusable:
            connection.abort()
            self.leave(connection.origin)
        elif not self._pass_on(connection.origin, places, connection):
            connection.rest()
            places.resting.append(connection)
            self._resting[connection] = None
            self._sweep_later(connection)

    def leave(self, origin: Origin) -> None:
        """A place is given back without a connection."""
        places = self._origins[origin]
        if not self._pass_on(origin, places, PLACE):
            self._free(origin, places)

    def forget(self, connection: Connection) -> None:
        """A connection is closed. Where it rested, its place comes free."""
        if connection in self._resting:
            del self._resting[connection]
            self._origins[connection.origin].resting.remove(connection)
            self.leave(connection.origin)

    def close(self) -> None:
        """Nobody gets anything any more."""
        if self._sweep is not None:
            self._sweep.cancel()
            self._sweep = None
        for origin in tuple(self._turns):
            for waiter in self._origins[origin].waiting:
                if not waiter.done():
                    waiter.set_result(NotSent(reason=Unsent.CLOSED))

    async def _wait(self, origin: Origin, places: _Origin, deadline: float) -> Lent | NotSent:
        if self._waiting >= self._limits.waiting_max:
            return NotSent(reason=Unsent.CROWDED, detail="too many calls wait")
        waiter: asyncio.Future[Lent | NotSent] = asyncio.get_running_loop().create_future()
        places.waiting.append(waiter)
        self._waiting += 1
        self._turns.setdefault(origin)
        try:
            async with asyncio.timeout_at(deadline):
                return await waiter
        except BaseException as error:
            if waiter.done() and not waiter.cancelled():
                self._return(origin, waiter.result())
            if isinstance(error, TimeoutError):
                return NotSent(reason=Unsent.CROWDED, detail="no connection came free in time")
            raise
        finally:
            self._waiting -= 1
            if waiter in places.waiting:
                places.waiting.remove(waiter)
            if not places.waiting:
                self._turns.pop(origin, None)
                self._clear(origin, places)

    def _return(self, origin: Origin, lent: Lent | NotSent) -> None:
        """What was lent to a call that had given up in the same moment."""
        if isinstance(lent, Connection):
            self.give_back(lent)
        elif lent is PLACE:
            self.leave(origin)

    def _pass_on(self, origin: Origin, places: _Origin, lent: Lent) -> bool:
        """Give what came free in `origin` to the next in turn who can use it."""
        for next_origin in tuple(self._turns):
            next_places = self._origins[next_origin]
            if next_origin != origin and next_places.taken >= self._limits.connections_per_origin_max:
                continue
            waiter = self._next_waiter(next_origin, next_places)
            if waiter is None:
                continue
            if next_origin == origin:
                waiter.set_result(lent)
                return True
            # Only the bound on all connections can have kept them waiting: one of ours ends for one of theirs.
            if lent is not PLACE:
                lent.abort()
            next_places.taken += 1
            self._taken += 1
            waiter.set_result(PLACE)
            self._free(origin, places)
            return True
        return False

    def _next_waiter(self, origin: Origin, places: _Origin) -> "asyncio.Future[Lent | NotSent] | None":
        while places.waiting:
            waiter = places.waiting.popleft()
            if not waiter.done():
                self._turns.pop(origin)
                if places.waiting:
                    self._turns[origin] = PLACE  # to the end of the row
                return waiter
        self._turns.pop(origin, None)
        return None

    def _make_room(self) -> bool:
        """Whether one more connection may be opened, a resting one closed for it if need be."""
        if self._taken < self._limits.connections_max:
            return True
        oldest = next(iter(self._resting), None)
        if oldest is None:
            return False
        self._retire(oldest)
        return True

    def _retire(self, connection: Connection) -> None:
        places = self._origins[connection.origin]
        del self._resting[connection]
        places.resting.remove(connection)
        connection.abort()
        self._free(connection.origin, places)

    def _free(self, origin: Origin, places: _Origin) -> None:
        places.taken -= 1
        self._taken -= 1
        self._clear(origin, places)

    def _clear(self, origin: Origin, places: _Origin) -> None:
        if not places.taken and not places.waiting:
            self._origins.pop(origin, None)

    def _sweep_later(self, connection: Connection) -> None:
        if self._sweep is None:
            self._sweep = asyncio.get_running_loop().call_at(connection.idle_until, self._sweep_now)

    def _sweep_now(self) -> None:
        self._sweep = None
        now = asyncio.get_running_loop().time()
        for connection in [each for each in self._resting if each.idle_until <= now]:
            self._retire(connection)
        if self._resting:
            self._sweep_later(min(self._resting, key=_idle_until))


def _idle_until(connection: Connection) -> float:
    return connection.idle_until
