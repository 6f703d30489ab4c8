"""The whole line on WhatsApp: many tenants and people, redeliveries, faults, a kill -9; nothing lost, doubled, out of
order or astray, and each send with its own channel's token.
"""

import asyncio
from collections.abc import Callable, Mapping
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path

import pytest

from procession.app.system import SystemClock
from procession.runtime.pause import pause
from procession.testing.chaos.reading import at_death
from procession.testing.whatsapp.faults import Faults
from procession.testing.whatsapp.handshake import handshake
from procession.testing.whatsapp.line import SECRET, VERIFY_TOKEN, Line
from procession.testing.whatsapp.rules import Rules
from procession.testing.whatsapp.shape import Shape
from procession.testing.whatsapp.verdict import Promise
from procession.testing.whatsapp.world import on_wires

pytestmark = [
    pytest.mark.serial,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        find_spec("procession.connectors.whatsapp") is None, reason="the connector whatsapp is not in this build"
    ),
]

HEALTHY = timedelta(seconds=30)
TYPED = timedelta(seconds=100)
SETTLED = timedelta(seconds=150)
PACE = 10.0
LOOK = timedelta(milliseconds=200)
SHAPE = Shape(numbers=5, people=40, bursts=2, burst_max=4, rest_s=(10.0, 60.0))
# Limits have tests of their own: here the engine is to be as busy as it can.
RULES = Rules(pair_every_s=None, per_second=None)
FAULTS = Faults(
    error_before=0.004,
    throttled=0.01,
    error_after=0.01,
    late_after=0.004,
    silent_after=0.004,
    cut_after=0.01,
    garbage_after=0.01,
    status_lost=0.02,
    status_doubled=0.1,
    status_reversed=0.1,
    status_late=0.02,
    late_s=20.0,
)
CHANNEL: Mapping[str, str | float] = {
    "pair_every": 0,
    "messages_per_second": 1000,
    "gate": "delivered",
    "doubt_policy": "park",
    "doubt_wait": 4,
    "timeout": 3,
    "tries_max": 1000,
}


async def until(condition: Callable[[], bool], within: timedelta) -> None:
    async with asyncio.timeout(within.total_seconds()):
        while not condition():
            await pause(LOOK)


async def test_every_person_is_answered_once_and_in_order_by_their_own_tenant_through_faults_and_a_kill(
    tmp_path: Path,
) -> None:
    line = Line(tmp_path, clock=SystemClock())
    async with on_wires(
        line.target,
        clock=SystemClock(),
        secret=SECRET.encode(),
        seed=11,
        pace=PACE,
        shape=SHAPE,
        rules=RULES,
        faults=FAULTS,
        promise=Promise(bubbles=2),
    ) as (world, server):
        async with line.declare(world.numbers, server.url, CHANNEL) as engine:
            await engine.start()
            await engine.wait_until_healthy(HEALTHY)
            assert await handshake(line.target, "somebody else's") is not None
            assert await handshake(line.target, VERIFY_TOKEN) is None
            world.crowd.start()

            await until(lambda: world.book.taken >= 200 and world.journeys.under_way > 0, TYPED)
            await engine.kill()
            left = at_death(line.data)
            await engine.restart(HEALTHY)
            await line.settle(world, SETTLED)
            set_aside = await line.ask("aside", "list")
            ended_with = await engine.terminate(HEALTHY)
        told = world.verdict()

    assert told.counts() == dict.fromkeys(told.counts(), 0), (told.wrong, line.resolved, left)
    assert told.holds
    assert told.taken == told.texts >= 400
    assert told.sends == told.shown == 2 * told.texts
    assert all(sent.token == sent.number.token for sent in world.book.accepted)
    assert len({sent.effect for sent in world.book.accepted}) == told.sends
    assert told.repeated > 0
    assert told.faults.keys() >= {"throttled", "error_after", "cut_after", "status_lost", "status_doubled"}
    assert set(told.refused) <= {"131000", "131056", "130429"}
    assert set_aside == []
    assert ended_with == 0
