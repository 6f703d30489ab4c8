"""The wire to the target: many connections, which take what is to be carried in turn."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from procession.testing.chaos.caller import Caller, NotSent, Unclear
from procession.testing.whatsapp.target import Target

_WAITING_MAX: Final = 50_000
"""Then what comes is told as not carried, and comes again: a target that is away must not fill our memory."""
_PATIENCE: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Load:
    body: bytes
    headers: Mapping[str, str]
    done: Callable[[int | None], None]


class HttpCarrier:
    def __init__(self, target: Target, *, connections: int = 16) -> None:
        self._target = target
        self._connections = connections
        self._waiting: asyncio.Queue[_Load] = asyncio.Queue(maxsize=_WAITING_MAX)

    def carry(self, body: bytes, headers: Mapping[str, str], done: Callable[[int | None], None]) -> None:
        try:
            self._waiting.put_nowait(_Load(body=body, headers=headers, done=done))
        except asyncio.QueueFull:
            done(None)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._connections):
                group.create_task(self._carry_on())

    async def _carry_on(self) -> None:
        async with Caller(host=self._target.host, port=self._target.port, patience=_PATIENCE) as caller:
            while True:
                load = await self._waiting.get()
                try:
                    status = (await caller.post(self._target.path, load.headers, load.body)).status
                except (NotSent, Unclear):
                    status = None
                load.done(status)
