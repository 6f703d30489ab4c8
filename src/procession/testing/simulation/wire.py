"""The wire of one node: the provider at its other end goes on whatever becomes of the node."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from procession.core.ids import EffectId, TenantId
from procession.ports.wire import Answered, Doubt, NotSent, Unclear, Unsent, WireAnswer, WireRequest
from procession.testing.simulation.auditor import Auditor
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.gate import NodeIsDead
from procession.testing.simulation.loop import SimulatedLoop
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.provider import Arrived, Cut, Mood, Provider, Reply

_UNSENT: Final = {Mood.REFUSED_CONNECTION: Unsent.UNREACHABLE, Mood.NOTHING_WRITTEN: Unsent.OUT_OF_TIME}


class SimulatedWire:
    """Implements `ports.wire.WirePort`."""

    def __init__(self, node: Node, provider: Provider, auditor: Auditor, chance: SeededChance) -> None:
        self._node = node
        self._provider = provider
        self._auditor = auditor
        self._chance = chance

    async def call(self, request: WireRequest) -> WireAnswer:
        if self._node.dead:
            raise NodeIsDead(repr(self._node))
        mood = self._provider.mood()
        if self._provider.stands_still(self._chance):
            self._auditor.note(repr(self._node), "stands still", (), "between arming and the first byte")
            self._node.pause(timedelta(seconds=self._chance.uniform(1, 10)))
        await sleep(self._chance.uniform(0.001, 0.03))
        if mood in _UNSENT:
            return NotSent(reason=_UNSENT[mood])
        if not request.may_begin():
            return NotSent(reason=Unsent.TRUST_LOST)
        # The first byte. From here on the node can only watch.
        arrived = _arrived(request)
        is_probe = request.method == "GET"
        arrived.attempt = self._auditor.wired(self._node, arrived.effect, request, is_probe=is_probe)
        loop = self._node.loop
        answer: asyncio.Future[Reply | Cut | None] = loop.create_future()
        loop.home.run(loop.call_later, 0.0, self._there, arrived, request, mood, _setter(answer))
        timer = loop.call_later(request.deadline.total_seconds(), _setter(answer), None)
        try:
            return _known(await answer)
        finally:
            timer.cancel()

    def _there(
        self, call: Arrived, request: WireRequest, mood: Mood, answer: Callable[[Reply | Cut | None], None]
    ) -> None:
        if request.method != "GET":
            self._provider.arrive(call, mood, answer)
        elif mood not in (Mood.SILENT, Mood.TAKEN_AND_SILENT, Mood.TAKEN_LATE):
            _loop(self._node).call_later(0.02, answer, self._provider.asked(call.effect))

    async def close(self) -> None:
        """Nothing is kept open."""


def _loop(node: Node) -> SimulatedLoop:
    return node.loop


def _setter(answer: "asyncio.Future[Reply | Cut | None]") -> Callable[[Reply | Cut | None], None]:
    def put(reply: Reply | Cut | None) -> None:
        if not answer.done():
            answer.set_result(reply)

    return put


def _arrived(request: WireRequest) -> Arrived:
    headers = dict(request.headers)
    url = urlsplit(request.url)
    channel, _, action = url.path.strip("/").partition("/")
    return Arrived(
        effect=EffectId(headers.get("x-effect") or headers["webhook-id"]),
        action=action or "http",
        tenant=TenantId((url.hostname or "").removesuffix(".test")),
        channel=channel,
        body=request.body,
        deadline=request.deadline.total_seconds(),
    )


def _known(reply: Reply | Cut | None) -> WireAnswer:
    if reply is None:
        return Unclear(reason=Doubt.READ_TIMED_OUT, bytes_written=1)
    if isinstance(reply, Cut):
        return Unclear(reason=Doubt.CUT, bytes_written=1, status=200)
    return Answered(status=reply.status, headers=reply.headers, body=reply.body)
