"""Ingress as a service: the server, and a loop that follows the directory."""

import asyncio
from collections.abc import Callable
from datetime import timedelta

from procession.core.limits import POLL
from procession.ingress.asgi_types import ASGIApp
from procession.ingress.doors import Doors
from procession.ingress.http_limits import HttpLimits
from procession.ingress.server import HttpServer
from procession.ports.bell import Bell, Ring
from procession.ports.chance import Chance
from procession.ports.telemetry import Telemetry
from procession.runtime.loop import FailStop, Loop
from procession.runtime.service import Service


class IngressService(Service):
    def __init__(
        self,
        app: ASGIApp,
        doors: Doors,
        *,
        host: str,
        port: int,
        limits: HttpLimits,
        bell: Bell,
        chance: Chance,
        telemetry: Telemetry,
        fail_stop: FailStop,
        on_listening: Callable[[int], None],
        poll: timedelta = POLL,
    ) -> None:
        super().__init__("ingress", drain_wait=limits.drain_ttl)
        self._doors = doors
        self._poll = poll
        self._server = HttpServer(app, host=host, port=port, limits=limits, on_listening=on_listening)
        self._following = Loop(
            "directory",
            self._follow,
            bell=bell,
            ring=Ring.DIRECTORY,
            chance=chance,
            telemetry=telemetry,
            fail_stop=fail_stop,
            poll=poll,
        )

    async def body(self, group: asyncio.TaskGroup) -> None:
        # The first version is read before the door opens: a provider must not meet "no such endpoint" at every start.
        await self._doors.refresh()
        group.create_task(self._following.run(), name="ingress-directory")
        group.create_task(self._server.run(), name="ingress-http")

    async def drain(self, wait: timedelta) -> None:
        self._server.stop(within=wait)
        self._following.stop()

    async def _follow(self) -> timedelta:
        await self._doors.refresh()
        return self._poll
