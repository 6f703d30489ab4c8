"""How many connections there are, who gets them, how long they live; and the deadline, to the tick."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial

import pytest

from procession.ports.wire import Answered, Doubt, Unsent, WireAnswer
from procession.runtime.wire import Wire, WireLimits
from tests.integration.wire_peers import (
    OK,
    SHORT,
    Peer,
    Visit,
    always_ok,
    answered,
    not_sent,
    on_each_loop,
    peer,
    request,
    unclear,
    wire,
)

TEN_SECONDS = timedelta(seconds=10)


class SteeredLoop(asyncio.SelectorEventLoop):
    """A loop with real sockets, whose time is moved by the test."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 1_000.0

    def time(self) -> float:
        return self._now

    async def move(self, seconds: float) -> None:
        await self._settle()
        self._now += seconds
        await self._settle()

    async def _settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


def steered(scenario: Callable[[SteeredLoop], Awaitable[None]]) -> None:
    async def play() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, SteeredLoop)
        await scenario(loop)

    with asyncio.Runner(loop_factory=SteeredLoop) as runner:
        runner.run(play())


class Gate:
    """Servers that answer when the test says so."""

    def __init__(self) -> None:
        self.open = False

    async def script(self, visit: Visit) -> None:
        while True:
            await visit.request()
            await visit.peer.until(lambda: self.open)
            await visit.say(OK)

    async def lift(self, *peers: Peer) -> None:
        self.open = True
        for each in peers:
            await each.tell()


def test_a_call_ends_at_its_deadline_and_not_before() -> None:
    async def scenario(loop: SteeredLoop) -> None:
        async with peer(Gate().script) as there, wire() as client, asyncio.TaskGroup() as group:
            call = group.create_task(client.call(request(there.url, deadline=TEN_SECONDS)))
            await there.until(lambda: bool(there.requests))

            await loop.move(9.875)
            assert not call.done()

            await loop.move(0.125)
            assert call.done()
            assert unclear(call.result()).reason is Doubt.READ_TIMED_OUT

    steered(scenario)


def test_waiting_for_a_connection_is_part_of_the_deadline() -> None:
    async def scenario(loop: SteeredLoop) -> None:
        gate = Gate()
        async with peer(gate.script) as there, wire(limits=WireLimits(connections_max=1)) as client:
            async with asyncio.TaskGroup() as group:
                group.create_task(client.call(request(there.url)))
                await there.until(lambda: bool(there.requests))
                waiting = group.create_task(client.call(request(there.url, deadline=TEN_SECONDS)))

                await loop.move(9.875)
                assert not waiting.done()
                await loop.move(0.125)
                assert not_sent(waiting.result()).reason is Unsent.CROWDED
                await gate.lift(there)

            assert len(there.requests) == 1
            answered(await client.call(request(there.url)))

    steered(scenario)


@pytest.mark.parametrize(
    ("header", "kept_seconds"), [(b"", 4.0), (b"keep-alive: timeout=3, max=9\r\n", 2.0), (b"keep-alive: x\r\n", 4.0)]
)
def test_a_connection_rests_for_so_long_and_is_then_closed(header: bytes, kept_seconds: float) -> None:
    async def script(visit: Visit) -> None:
        while True:
            await visit.request()
            await visit.say(b"HTTP/1.1 200 OK\r\n" + header + b"content-length: 0\r\n\r\n")

    async def scenario(loop: SteeredLoop) -> None:
        async with peer(script) as there, wire(limits=WireLimits()) as client:
            answered(await client.call(request(there.url)))
            await loop.move(kept_seconds - 0.125)
            answered(await client.call(request(there.url)))
            assert there.visits == 1

            await loop.move(kept_seconds)
            await there.until(lambda: there.ended == 1)
            answered(await client.call(request(there.url)))
            assert there.visits == 2

    steered(scenario)


def test_a_connection_that_has_rested_too_long_is_not_used_though_nothing_has_closed_it_yet() -> None:
    async def script(visit: Visit) -> None:
        while True:
            await visit.request()
            await visit.peer.until(lambda: visit.number <= len(released))
            keep = b"keep-alive: timeout=2\r\n" if visit.number == 2 else b""
            await visit.say(b"HTTP/1.1 200 OK\r\n" + keep + b"content-length: 0\r\n\r\n")
            used.append(visit.number)

    released: list[int] = []
    used: list[int] = []

    async def scenario(loop: SteeredLoop) -> None:
        async with peer(script) as there, wire(limits=WireLimits()) as client:
            async with asyncio.TaskGroup() as group:
                calls = [group.create_task(client.call(request(there.url))) for _ in range(2)]
                await there.until(lambda: len(there.requests) == 2)
                for call in calls:
                    released.append(len(released) + 1)
                    await there.tell()
                    answered(await call)
            # The sweep is set to when the first one will have rested for long enough. The second one, asked for sooner
            # than the first since it rests on top, is to be kept for a second only.
            await loop.move(1.5)
            assert there.ended == 0

            answered(await client.call(request(there.url)))

            assert used == [1, 2, 1]

    steered(scenario)


def test_a_connection_in_steady_use_is_replaced_in_the_end() -> None:
    async def scenario(loop: SteeredLoop) -> None:
        limits = WireLimits(age_max=timedelta(seconds=8))
        async with peer(always_ok) as there, wire(limits=limits) as client:
            visits = []
            for _ in range(5):
                answered(await client.call(request(there.url)))
                visits.append(there.visits)
                await loop.move(2.5)

            assert visits == [1, 1, 1, 1, 2]

    steered(scenario)


@on_each_loop
async def test_no_more_connections_than_allowed_are_open_to_one_origin() -> None:
    gate = Gate()
    async with peer(gate.script) as there, wire(limits=WireLimits(connections_per_origin_max=3)) as client:
        async with asyncio.TaskGroup() as group:
            calls = [group.create_task(client.call(request(there.url))) for _ in range(20)]
            await there.until(lambda: len(there.requests) == 3)
            await gate.lift(there)

        assert [answered(call.result()).status for call in calls] == [200] * 20
        assert there.visits == 3


@pytest.mark.parametrize("doomed", [1, 2])
@on_each_loop
async def test_a_resting_connection_that_is_closed_does_not_stand_before_one_that_lives(doomed: int) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.peer.until(lambda: len(visit.peer.requests) >= 2)
        await visit.say(OK)
        if visit.number == doomed:
            await visit.peer.until(lambda: closing)
        else:
            await always_ok(visit)

    closing = False
    async with peer(script) as there, wire() as client:
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(client.call(request(there.url)))
        closing = True
        await there.tell()
        await there.until(lambda: there.ended == 1)
        for _ in range(5):
            await asyncio.sleep(0)

        answered(await client.call(request(there.url)))

        assert there.visits == 2


@on_each_loop
async def test_no_more_connections_than_allowed_are_open_in_all_and_rested_ones_make_room() -> None:
    async with (
        wire(limits=WireLimits(connections_max=2)) as client,
        peer(always_ok) as one,
        peer(always_ok) as two,
        peer(always_ok) as three,
    ):
        for there in (one, two, three):
            answered(await client.call(request(there.url)))
        await one.until(lambda: one.ended == 1)

        answered(await client.call(request(two.url)))
        assert (one.visits, two.visits, three.visits) == (1, 1, 1)
        assert (two.ended, three.ended) == (0, 0)


@on_each_loop
async def test_an_origin_with_many_calls_does_not_keep_another_waiting() -> None:
    order: list[str] = []

    async def call(client: Wire, there: Peer, name: str) -> None:
        answered(await client.call(request(there.url)))
        order.append(name)

    async def ok_once_alone(visit: Visit) -> None:
        await visit.request()
        await busy.until(lambda: busy.ended == busy.visits)
        await visit.say(OK)
        await visit.end()

    gate = Gate()
    limits = WireLimits(connections_max=1)
    async with peer(gate.script) as busy, peer(ok_once_alone) as quiet, wire(limits=limits) as client:
        async with asyncio.TaskGroup() as group:
            for number in range(10):
                group.create_task(call(client, busy, f"busy {number}"))
            await busy.until(lambda: bool(busy.requests))
            group.create_task(call(client, quiet, "quiet"))
            await asyncio.sleep(0)
            await gate.lift(busy)

        assert order.index("quiet") <= 2
        assert [name for name in order if name != "quiet"] == [f"busy {number}" for number in range(10)]


@on_each_loop
async def test_an_origin_that_hangs_holds_its_own_places_only() -> None:
    gate = Gate()
    limits = WireLimits(connections_max=4, connections_per_origin_max=2)
    async with peer(gate.script) as stuck, peer(always_ok) as well, wire(limits=limits) as client:
        async with asyncio.TaskGroup() as group:
            for _ in range(10):
                group.create_task(client.call(request(stuck.url)))
            await stuck.until(lambda: len(stuck.requests) == 2)

            for _ in range(5):
                answered(await client.call(request(well.url)))
            await gate.lift(stuck)

        assert stuck.visits == 2


@on_each_loop
async def test_one_too_many_that_would_wait_is_told_at_once() -> None:
    gate = Gate()
    limits = WireLimits(connections_max=1, waiting_max=1)
    async with peer(gate.script) as there, wire(limits=limits) as client:
        async with asyncio.TaskGroup() as group:
            kept = [group.create_task(client.call(request(there.url))) for _ in range(2)]
            await there.until(lambda: bool(there.requests))

            assert not_sent(await client.call(request(there.url))).reason is Unsent.CROWDED
            await gate.lift(there)

        assert all(isinstance(call.result(), Answered) for call in kept)


@on_each_loop
async def test_places_are_never_lost_whatever_happens_to_calls() -> None:
    """Many calls, some cancelled, some timed out, some cut off: afterwards every place can still be taken."""

    async def moody(visit: Visit) -> None:
        while True:
            await visit.request()
            mood = len(visit.peer.requests) % 5
            if mood == 0:
                visit.reset()
                return
            if mood == 1:
                await visit.end()
                return
            await visit.say(OK + (b"junk" if mood == 2 else b""))

    async def cancel_after(turns: int, call: "asyncio.Task[WireAnswer]") -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        call.cancel()

    limits = WireLimits(connections_max=4, connections_per_origin_max=3)
    async with wire(limits=limits) as client, peer(moody) as one, peer(moody) as two:
        async with asyncio.TaskGroup() as group:
            for number in range(120):
                there = (one, two)[number % 2]
                wanted = request(there.url, deadline=SHORT, may_begin=partial(bool, number % 7))
                call = group.create_task(client.call(wanted))
                if number % 3 == 0:
                    group.create_task(cancel_after(number % 30, call))

        await _all_places_can_be_taken(client)


async def _all_places_can_be_taken(client: Wire) -> None:
    gate = Gate()
    async with peer(gate.script) as one, peer(gate.script) as two, asyncio.TaskGroup() as group:
        for there in (one, two):
            for _ in range(2):
                group.create_task(client.call(request(there.url)))
        await one.until(lambda: len(one.requests) == 2)
        await two.until(lambda: len(two.requests) == 2)
        await gate.lift(one, two)
