"""The edges, on real sockets: Graph on a port, and webhooks that reach their target."""

import asyncio
import json
from datetime import timedelta

import pytest

from procession.app.system import SystemClock
from procession.testing.chaos import Caller, Unclear
from procession.testing.chaos.listener import Line, Listener, Request
from procession.testing.whatsapp.faults import Faults
from procession.testing.whatsapp.rules import FREE
from procession.testing.whatsapp.shape import Shape
from procession.testing.whatsapp.target import Target
from procession.testing.whatsapp.verdict import Promise
from procession.testing.whatsapp.world import World, on_wires
from tests.unit.testing.whatsapp.scene import SECRET, text_to

PATIENCE = timedelta(seconds=30)
ONE = Shape(numbers=1, people=1, bursts=1, odd=0.0)


class Ear:
    """A target that answers 200, and lets a test wait for what comes."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[Request] = asyncio.Queue()
        self.listener = Listener(self._called)

    def _called(self, line: Line, request: Request) -> None:
        self.heard.put_nowait(request)
        line.answer(200)


async def sent_to(world: World, caller: Caller) -> int | None:
    number, somebody = world.numbers[0], world.people[0]
    headers = {"Authorization": f"Bearer {number.token}", "Content-Type": "application/json"}
    document = json.dumps(text_to(f"+{somebody.phone}", "hello", effect="f1")).encode()
    try:
        return (await caller.post(f"/v25.0/{number.id}/messages", headers, document)).status
    except Unclear:
        return None


@pytest.mark.parametrize(
    ("faults", "status"),
    [
        (Faults(), 200),
        (Faults(error_after=1.0), 500),
        (Faults(cut_after=1.0), None),
        (Faults(silent_after=1.0), None),
        (Faults(late_after=1.0, late_s=1.0), 200),
    ],
)
async def test_graph_answers_on_its_port_and_tells_the_status_to_the_target(faults: Faults, status: int | None) -> None:
    ear = Ear()
    await ear.listener.start()
    target = Target(host="127.0.0.1", port=ear.listener.port, path="/hooks/meta")
    async with on_wires(
        target, clock=SystemClock(), secret=SECRET, seed=0, pace=100.0, shape=ONE, rules=FREE, faults=faults
    ) as (world, server):
        port = int(server.url.rpartition(":")[2])
        async with Caller(host="127.0.0.1", port=port, patience=timedelta(milliseconds=500)) as caller:
            assert await sent_to(world, caller) == status
        async with asyncio.timeout(PATIENCE.total_seconds()):
            request = await ear.heard.get()
    await ear.listener.close()

    assert (request.method, request.target) == ("POST", "/hooks/meta")
    assert b'"biz_opaque_callback_data": "f1"' in request.body
    assert len(world.book.accepted) == 1


async def test_a_target_without_an_answer_is_asked_again_and_nobody_who_is_unanswered_holds() -> None:
    ear = Ear()
    await ear.listener.start()
    target = Target(host="127.0.0.1", port=ear.listener.port, path="/hooks/meta")
    async with on_wires(
        target, clock=SystemClock(), secret=SECRET, seed=0, pace=100.0, shape=ONE, promise=Promise(bubbles=1)
    ) as (world, _):
        world.crowd.start()
        assert not await world.wait_until_quiet(timedelta(seconds=1))
        told = world.verdict()
    await ear.listener.close()

    assert told.taken == told.texts > 0
    assert told.unanswered == told.texts
    assert not told.holds
