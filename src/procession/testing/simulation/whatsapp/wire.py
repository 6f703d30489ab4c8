"""The wire of one node to Graph, in virtual time: what has left goes on whatever becomes of the node."""

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Final
from urllib.parse import urlsplit

from procession.core.ids import EffectId
from procession.ports.wire import Answered, Doubt, NotSent, Unclear, Unsent, WireAnswer, WireRequest
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.gate import NodeIsDead
from procession.testing.simulation.loop import SimulatedLoop
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.whatsapp.auditor import WhatsAppAuditor
from procession.testing.simulation.whatsapp.rare import Sight
from procession.testing.whatsapp.book import Book
from procession.testing.whatsapp.faults import Fate
from procession.testing.whatsapp.graph import Graph, Reaction

_UNREACHABLE: Final = 0.03
_OUT_OF_TIME: Final = 0.02
_ON_ITS_WAY: Final = 0.03
"""The share of requests that arrive when the caller has given up."""
_STANDS_STILL: Final = 0.004
_SIGHTS: Final = {
    Fate.ERROR_AFTER: Sight.FIVE_HUNDRED_AFTER_ACCEPT,
    Fate.LATE_AFTER: Sight.TIMEOUT_AFTER_ACCEPT,
    Fate.SILENT_AFTER: Sight.TIMEOUT_AFTER_ACCEPT,
    Fate.CUT_AFTER: Sight.RESET_AFTER_ACCEPT,
    Fate.GARBAGE_AFTER: Sight.GARBAGE_AFTER_ACCEPT,
}
_Answer = Callable[[WireAnswer], None]


class Network:
    """Between all nodes and Graph."""

    def __init__(self, loop: SimulatedLoop, graph: Graph, book: Book, auditor: WhatsAppAuditor, trouble: float) -> None:
        self.is_healed = False
        self.trouble = trouble
        self.auditor = auditor
        self._loop = loop
        self._graph = graph
        self._book = book
        self._on_its_way: dict[EffectId, int] = {}

    def may_take_yet(self, effect: EffectId) -> bool:
        return self._on_its_way.get(effect, 0) > 0

    def took(self, effect: EffectId) -> bool:
        return self._book.was_accepted(effect)

    def depart(self, request: WireRequest, attempt: int, after: float, answer: _Answer, *, is_late: bool) -> None:
        """It arrives `after` so many seconds, whatever becomes of the caller."""
        effect = effect_in(request)
        if effect is not None:
            self._on_its_way[effect] = self._on_its_way.get(effect, 0) + 1
        self._loop.home.run(self._loop.call_later, after, self._arrive, request, attempt, answer, is_late)

    def _arrive(self, request: WireRequest, attempt: int, answer: _Answer, is_late: bool) -> None:
        effect = effect_in(request)
        if effect is not None:
            self._on_its_way[effect] -= 1
        before = len(self._book.accepted)
        reaction = self._graph.asked(request.method, urlsplit(request.url).path, token_of(request), request.body)
        for accepted in self._book.accepted[before:]:
            if accepted.fate in _SIGHTS:
                self.auditor.seen(_SIGHTS[Fate(accepted.fate)])
            self.auditor.took(accepted, attempt, is_late=is_late)
        if b'"code": 131056' in reaction.body or b'"code": 130429' in reaction.body:
            self.auditor.seen(Sight.THROTTLED)
        self._react(reaction, answer)

    def _react(self, reaction: Reaction, answer: _Answer) -> None:
        if reaction.is_silent:
            return
        known: WireAnswer = Answered(status=reaction.status, body=reaction.body)
        if reaction.is_cut:
            known = Unclear(reason=Doubt.BROKEN_OFF, bytes_written=len(reaction.body))
        self._loop.call_later(0.01 + reaction.after, answer, known)


class GraphWire:
    """Implements `ports.wire.WirePort`, for one life of one node."""

    def __init__(self, node: Node, network: Network, chance: SeededChance) -> None:
        self._node = node
        self._network = network
        self._chance = chance

    async def call(self, request: WireRequest) -> WireAnswer:
        if self._node.dead:
            raise NodeIsDead(repr(self._node))
        chance, network = self._chance, self._network
        trouble = 0.0 if network.is_healed else network.trouble
        drawn = chance.random()
        if chance.happens(_STANDS_STILL * trouble):
            network.auditor.note(repr(self._node), "stands still", (), "between arming and the first byte")
            self._node.pause(timedelta(seconds=chance.uniform(1, 10)))
        await sleep(chance.uniform(0.001, 0.03))
        if drawn < _UNREACHABLE * trouble:
            return NotSent(reason=Unsent.UNREACHABLE)
        if drawn < (_UNREACHABLE + _OUT_OF_TIME) * trouble:
            return NotSent(reason=Unsent.OUT_OF_TIME)
        if not request.may_begin():
            return NotSent(reason=Unsent.TRUST_LOST)
        # The first byte. From here on the node can only watch.
        is_late = drawn < (_UNREACHABLE + _OUT_OF_TIME + _ON_ITS_WAY) * trouble
        return await self._answer_to(request, is_late=is_late)

    async def _answer_to(self, request: WireRequest, *, is_late: bool) -> WireAnswer:
        chance, network, loop = self._chance, self._network, self._node.loop
        account = urlsplit(request.url).path.split("/")[-2]
        attempt = network.auditor.wired(self._node, effect_in(request), account, token_of(request))
        answer: asyncio.Future[WireAnswer] = loop.create_future()
        patience = request.deadline.total_seconds()
        after = patience + chance.uniform(0.05, 8) if is_late else chance.uniform(0.002, 0.05)
        network.depart(request, attempt, after, _setter(answer), is_late=is_late)
        given_up = Unclear(reason=Doubt.READ_TIMED_OUT, bytes_written=1)
        timer = loop.call_later(patience, _setter(answer), given_up)
        try:
            return await answer
        finally:
            timer.cancel()

    async def close(self) -> None:
        """Nothing is kept open."""


def effect_in(request: WireRequest) -> EffectId | None:
    """None: it only marks something."""
    found = json.loads(request.body).get("biz_opaque_callback_data")
    return None if found is None else EffectId(found)


def token_of(request: WireRequest) -> str:
    return dict(request.headers).get("authorization", "").removeprefix("Bearer ")


def _setter(answer: "asyncio.Future[WireAnswer]") -> _Answer:
    def put(known: WireAnswer) -> None:
        if not answer.done():
            answer.set_result(known)

    return put
