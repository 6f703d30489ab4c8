"""A simulated WhatsApp as a whole: numbers, people, Graph on a port, and the way to the target."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import timedelta
from typing import Final

from procession.ports.clock import Clock
from procession.runtime.pause import pause
from procession.testing.simulation.chance import SeededChance
from procession.testing.whatsapp.book import Book
from procession.testing.whatsapp.carrier import HttpCarrier
from procession.testing.whatsapp.courier import Carrier, Courier, Habits
from procession.testing.whatsapp.crowd import Crowd
from procession.testing.whatsapp.faults import Faults
from procession.testing.whatsapp.graph import Graph
from procession.testing.whatsapp.journey import Journeys
from procession.testing.whatsapp.rules import Rules
from procession.testing.whatsapp.server import GraphServer
from procession.testing.whatsapp.shape import Shape, numbers_of, people_of
from procession.testing.whatsapp.target import Target
from procession.testing.whatsapp.timing import LoopTime, Time
from procession.testing.whatsapp.verdict import Promise, Verdict, verdict

_BEAT: Final = timedelta(milliseconds=100)


class World:
    """All but the wires; `on_wires` puts it on them."""

    def __init__(
        self,
        *,
        time: Time,
        carrier: Carrier,
        secret: bytes,
        seed: int,
        shape: Shape | None = None,
        rules: Rules | None = None,
        faults: Faults | None = None,
        habits: Habits | None = None,
        promise: Promise | None = None,
    ) -> None:
        shape, faults = shape or Shape(), faults or Faults()
        chance = SeededChance(seed)
        self.promise = promise or Promise()
        self.time = time
        self.book = Book()
        self.numbers = numbers_of(shape, seed)
        self.people = people_of(shape, self.numbers, chance.of("people"))
        self.courier = Courier(
            time=time,
            chance=chance.of("courier"),
            carrier=carrier,
            secret=secret,
            book=self.book,
            habits=habits or Habits(),
        )
        self.journeys = Journeys(
            time=time, chance=chance.of("journeys"), courier=self.courier, faults=faults, book=self.book
        )
        self.graph = Graph(
            numbers=self.numbers,
            people=self.people,
            rules=rules or Rules(),
            faults=faults,
            time=time,
            chance=chance.of("graph"),
            book=self.book,
            journeys=self.journeys,
        )
        self.crowd = Crowd(
            people=self.people,
            shape=shape,
            time=time,
            chance=chance.of("crowd"),
            courier=self.courier,
            graph=self.graph,
            book=self.book,
            waits_for_replies=self.promise.bubbles is not None,
        )

    @property
    def is_delivered(self) -> bool:
        """Nobody types any more, and nothing is on its way between the provider, the target and the handsets."""
        return not (self.crowd.typing or self.courier.outstanding or self.journeys.under_way)

    @property
    def is_quiet(self) -> bool:
        """And no reply is owed."""
        if not self.is_delivered:
            return False
        judged = self.verdict()
        return not (judged.lost or judged.unanswered)

    def verdict(self) -> Verdict:
        return verdict(self.book, self.people, self.promise)

    async def wait_until_quiet(self, within: timedelta) -> bool:
        """Say whether it came to rest in time, with every reply there."""
        try:
            async with asyncio.timeout(within.total_seconds()):
                while not self.is_quiet:
                    await pause(_BEAT)
        except TimeoutError:
            return False
        return True


@asynccontextmanager
async def on_wires(
    target: Target,
    *,
    clock: Clock,
    secret: bytes,
    seed: int,
    pace: float = 1.0,
    port: int = 0,
    connections: int = 16,
    shape: Shape | None = None,
    rules: Rules | None = None,
    faults: Faults | None = None,
    habits: Habits | None = None,
    promise: Promise | None = None,
) -> AsyncIterator[tuple[World, GraphServer]]:
    """A world with Graph on a port, whose webhooks reach the target. Nobody types before `crowd.start()`."""
    time = LoopTime(clock, pace)
    carrier = HttpCarrier(target, connections=connections)
    world = World(
        time=time,
        carrier=carrier,
        secret=secret,
        seed=seed,
        shape=shape,
        rules=rules,
        faults=faults,
        habits=habits,
        promise=promise,
    )
    server = GraphServer(world.graph, time)
    async with AsyncExitStack() as stack:
        stack.callback(time.close)
        await server.start(port)
        stack.push_async_callback(server.close)
        async with asyncio.TaskGroup() as group:
            carrying = group.create_task(carrier.run())
            yield world, server
            carrying.cancel()
