"""Upkeep as a service: a loop that sweeps, and one that prunes."""

import asyncio
from datetime import timedelta

from procession.core.limits import DEDUP_KEEP
from procession.ports.bell import Bell, Ring
from procession.ports.chance import Chance
from procession.ports.store import Store
from procession.ports.telemetry import Telemetry
from procession.runtime.loop import FailStop, Loop
from procession.runtime.service import Service
from procession.upkeep.pruner import Pruner
from procession.upkeep.sweeper import Sweeper


class UpkeepService(Service):
    def __init__(
        self,
        *,
        store: Store,
        bell: Bell,
        chance: Chance,
        telemetry: Telemetry,
        fail_stop: FailStop,
        keep: timedelta = DEDUP_KEEP,
    ) -> None:
        super().__init__("upkeep")
        self._loops = (
            Loop(
                "sweep",
                Sweeper(store, bell, telemetry).sweep,
                bell=bell,
                ring=Ring.UPKEEP,
                chance=chance,
                telemetry=telemetry,
                fail_stop=fail_stop,
            ),
            Loop(
                "prune",
                Pruner(store, telemetry, keep=keep).prune,
                bell=bell,
                ring=None,
                chance=chance,
                telemetry=telemetry,
                fail_stop=fail_stop,
            ),
        )

    async def body(self, group: asyncio.TaskGroup) -> None:
        for loop in self._loops:
            group.create_task(loop.run(), name=loop.name)

    async def drain(self, wait: timedelta) -> None:  # noqa: ARG002 (a sweep is bounded by itself)
        for loop in self._loops:
            loop.stop()
