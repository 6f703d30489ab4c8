"""The order in which services start and stop, and what ends an engine."""

import asyncio
import subprocess
import sys
from datetime import timedelta
from typing import cast

import pytest

from procession.app.control import ControlService
from procession.app.engine import Engine
from procession.app.wiring import Services
from procession.core.errors import Misconfigured
from procession.ingress.service import IngressService
from procession.lanes.service import LanesService
from procession.outbox import OutboxService
from procession.runtime.service import Service
from procession.upkeep import UpkeepService


class Told(Service):
    """Says what happens to it, drains for as long as it is held, and may break."""

    def __init__(self, name: str, log: list[str], *, broken: Exception | None = None) -> None:
        super().__init__(name, drain_wait=timedelta(minutes=10))
        self.log = log
        self.broken = broken
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.draining = asyncio.Event()
        self.running = asyncio.Event()

    async def body(self, group: asyncio.TaskGroup) -> None:
        self.log.append(f"start {self.name}")
        if self.broken is not None:
            raise self.broken
        self.running.set()

    async def drain(self, wait: timedelta) -> None:
        if wait:
            self.draining.set()
            await self.may_end.wait()

    async def close(self) -> None:
        self.log.append(f"stop {self.name}")


class Crew:
    def __init__(self, *, broken: str = "") -> None:
        self.log: list[str] = []
        error = Misconfigured("the port is taken")
        self.told = {
            name: Told(name, self.log, broken=error if name == broken else None)
            for name in ("control", "upkeep", "outbox", "lanes", "ingress")
        }
        self.engine = Engine(
            Services(
                control=cast("ControlService", self.told["control"]),
                upkeep=cast("UpkeepService", self.told["upkeep"]),
                outbox=cast("OutboxService", self.told["outbox"]),
                lanes=cast("LanesService", self.told["lanes"]),
                ingress=cast("IngressService", self.told["ingress"]),
                wires=(),
            )
        )

    async def until_started(self) -> None:
        await self.told["ingress"].running.wait()


async def test_ingress_starts_last_and_stops_first() -> None:
    crew = Crew()
    async with asyncio.TaskGroup() as group:
        group.create_task(crew.engine.run())
        await crew.until_started()
        crew.engine.stop()

    assert crew.log == [
        *("start control", "start upkeep", "start outbox", "start lanes", "start ingress"),
        *("stop ingress", "stop lanes", "stop outbox", "stop upkeep", "stop control"),
    ]
    assert not crew.engine.was_cut_short


async def test_a_second_stop_waits_for_nothing_more() -> None:
    crew = Crew()
    crew.told["lanes"].may_end.clear()
    async with asyncio.TaskGroup() as group:
        group.create_task(crew.engine.run())
        await crew.until_started()
        crew.engine.stop()
        await crew.told["lanes"].draining.wait()
        assert "stop outbox" not in crew.log

        crew.engine.stop()

    assert crew.engine.was_cut_short
    assert {"stop lanes", "stop outbox", "stop control"} <= set(crew.log)


async def test_a_stop_before_the_start_starts_nothing() -> None:
    crew = Crew()
    crew.engine.stop()

    await crew.engine.run()

    assert crew.log == []


async def test_what_breaks_one_service_ends_all_and_is_what_is_raised() -> None:
    crew = Crew(broken="ingress")

    with pytest.raises(Misconfigured, match="the port is taken"):
        await crew.engine.run()


def test_a_store_that_cannot_be_trusted_ends_the_process_with_its_own_status() -> None:
    script = "from procession.app.engine import fail_stop; fail_stop('fsync failed')"

    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)

    assert ended.returncode == 70
    assert "fsync failed" in ended.stderr
    assert "procession doctor" in ended.stderr
