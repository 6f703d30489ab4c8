"""Who posts: sources that repeat until they are answered 2xx, and then some; in bursts, split, merged, doubled,
shuffled.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

from procession.core.ids import EndpointName, TenantId
from procession.ports.vault import PLATFORM, SecretName
from procession.testing.simulation.audit_intake import Posted
from procession.testing.simulation.auditor import Auditor
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.loop import SimulatedLoop
from procession.testing.simulation.messenger import signed
from procession.testing.simulation.node_engine import NodeEngine, Request
from procession.testing.simulation.shape import TALK, Shape
from procession.testing.simulation.workload import LanePlan, Manner, Planned, Workload, endpoint_of

_GIVES_UP_AFTER: Final = 7.0
"""Seconds that a source waits for its answer."""
_STATUS_TRIES_MAX: Final = 25
_MERGED_MAX: Final = 5
_MERGED_WITHIN: Final = 0.04

Pick = Callable[[], NodeEngine | None]


class Sources:
    def __init__(
        self,
        loop: SimulatedLoop,
        shape: Shape,
        workload: Workload,
        chance: SeededChance,
        auditor: Auditor,
        pick: Pick,
    ) -> None:
        """`pick` answers an engine that can be reached just now."""
        self.is_healed = False
        self._loop = loop
        self._shape = shape
        self._workload = workload
        self._chance = chance
        self._auditor = auditor
        self._pick = pick
        self._number = 0
        self._delivered: dict[EndpointName, list[Planned]] = {}
        self._under_way = 0

    @property
    def is_quiet(self) -> bool:
        """Nothing more is on its way."""
        return self._under_way == 0

    async def post_all(self) -> None:
        async with asyncio.TaskGroup() as group:
            for lane in self._workload.lanes:
                if lane.manner is Manner.SERIAL:
                    group.create_task(self._serially(lane))
            for at, endpoint, elements in self._parcels():
                group.create_task(self._at(at, endpoint, elements))
            for _ in range(3):
                group.create_task(self._badly())

    # --- good ones ---

    async def _serially(self, lane: LanePlan) -> None:
        for event in lane.events:
            await self._until_taken(endpoint_of(self._shape, event), (event,))
            if self._chance.happens(0.5):
                await sleep(self._chance.uniform(0, 2 * self._shape.spread / len(lane.events)))

    def _parcels(self) -> list[tuple[float, EndpointName, tuple[Planned, ...]]]:
        """What comes at about the same moment to one endpoint may come in one delivery, of whichever tenants."""
        loose = [event for lane in self._workload.lanes if lane.manner is not Manner.SERIAL for event in lane.events]
        parcels: list[tuple[float, EndpointName, list[Planned]]] = []
        newest: dict[EndpointName, int] = {}
        for event in sorted(loose, key=lambda event: event.at):
            endpoint = endpoint_of(self._shape, event)
            place = newest.get(endpoint)
            if place is not None and self._chance.happens(0.6):
                at, _, elements = parcels[place]
                if event.at - at < _MERGED_WITHIN and len(elements) < _MERGED_MAX:
                    elements.append(event)
                    continue
            newest[endpoint] = len(parcels)
            parcels.append((event.at, endpoint, [event]))
        return [(at, endpoint, tuple(elements)) for at, endpoint, elements in parcels]

    async def _at(self, at: float, endpoint: EndpointName, elements: tuple[Planned, ...]) -> None:
        await sleep(at)
        if self._chance.happens(0.06):
            # A provider that is impatient: the same twice, at the same time.
            self._start(self._repeat(endpoint, elements, 0.0))
        await self._until_taken(endpoint, elements)

    async def _until_taken(self, endpoint: EndpointName, elements: tuple[Planned, ...]) -> None:
        wait = 0.05
        while await self._post(endpoint, elements) != 200:
            await sleep(self._chance.uniform(0.5, 1) * wait)
            wait = min(wait * 2, 2.0)
            if len(elements) > 1 and self._chance.happens(0.3):
                # Split differently the next time.
                half = len(elements) // 2
                await self._until_taken(endpoint, elements[:half])
                await self._until_taken(endpoint, elements[half:])
                return
        self._delivered.setdefault(endpoint, []).extend(elements)
        self._repeat_some(endpoint)

    def _repeat_some(self, endpoint: EndpointName) -> None:
        """Redeliveries of what was taken long ago: merged in another way, some in a storm."""
        chance, known = self._chance, self._delivered[endpoint]
        if self.is_healed or not chance.happens(0.22):
            return
        some = tuple(chance.pick(known) for _ in range(1 + chance.below(4)))
        for _ in range(5 if chance.happens(0.08) else 1):
            self._start(self._repeat(endpoint, some, chance.uniform(0, 6)))

    async def _repeat(self, endpoint: EndpointName, elements: tuple[Planned, ...], wait: float) -> None:
        await sleep(wait)
        await self._post(endpoint, elements)

    # --- others ---

    async def _badly(self) -> None:
        chance = self._chance
        await sleep(chance.uniform(0, self._shape.spread))
        event = chance.pick(self._workload.events)
        endpoint = endpoint_of(self._shape, event)
        if chance.happens(0.5):
            await self._post(endpoint, (event,), secret=b"a secret that nobody has given us")
            return
        stray = json.dumps({"account": "nobody's", "id": self._number}).encode()
        for _ in range(_STATUS_TRIES_MAX):
            if await self._post(endpoint, (), extra=(stray,)) == 200:
                return
            await sleep(0.5)

    def tell_status(self, tenant: TenantId, channel: str, told: dict[str, str]) -> None:
        """The messenger says what became of a send."""
        told = {**told, "account": f"{tenant}.{channel}"}
        self._start(self._tell_status(json.dumps({"statuses": [told]}).encode()))

    async def _tell_status(self, body: bytes) -> None:
        for _ in range(_STATUS_TRIES_MAX):
            secret = self._secret(TALK)
            if await self._send(Request(endpoint=TALK, body=body, headers=_headers(secret, body)), None) == 200:
                return
            await sleep(self._chance.uniform(0.2, 1))

    # --- one request ---

    async def _post(
        self,
        endpoint: EndpointName,
        elements: Sequence[Planned],
        *,
        secret: bytes | None = None,
        extra: Sequence[bytes] = (),
    ) -> int | None:
        body = b'{"items":[' + b",".join([*(event.payload for event in elements), *extra]) + b"]}"
        request = Request(endpoint=endpoint, body=body, headers=_headers(secret or self._secret(endpoint), body))
        return await self._send(request, Posted(elements=elements, is_good=secret is None, extra=extra))

    async def _send(self, request: Request, posted: Posted | None) -> int | None:
        """The status; None: no engine was there, it died meanwhile, or it took too long."""
        engine = self._pick()
        if engine is None:
            await sleep(0.05)
            return None
        self._number += 1
        number = self._number
        if posted is not None:
            self._auditor.posted(number, repr(engine.node), posted)
        answer: asyncio.Future[int | None] = self._loop.create_future()
        engine.connections.add(answer)
        timer = self._loop.call_later(_GIVES_UP_AFTER, _put, answer, None)
        engine.node.start(engine.serve(request, lambda status: _put(answer, status)))
        status = await answer
        timer.cancel()
        engine.connections.discard(answer)
        if posted is not None:
            self._auditor.answered(number, status)
        return status

    def _secret(self, endpoint: EndpointName) -> bytes:
        """Either of the two that are valid."""
        owner = self._shape.snapshot.endpoints[endpoint].tenant or PLATFORM
        number = self._chance.below(2)
        return self._shape.secrets[owner, SecretName(f"endpoint/{endpoint}/signing/{number}")]

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        self._under_way += 1
        self._loop.home.start(self._counted(work))

    async def _counted(self, work: Coroutine[Any, Any, None]) -> None:
        await work
        self._under_way -= 1


def _headers(secret: bytes, body: bytes) -> tuple[tuple[str, str], ...]:
    return (("content-type", "application/json"), ("x-signature-256", signed(secret, body)))


def _put(answer: "asyncio.Future[int | None]", status: int | None) -> None:
    if not answer.done():
        answer.set_result(status)
