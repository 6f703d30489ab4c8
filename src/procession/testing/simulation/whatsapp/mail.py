"""The way of webhooks from WhatsApp to the engines: the app of the platform and that of one tenant, each with a courier
of its own; and what strangers post.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from procession.core.ids import EndpointName
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import BEGINNING, sleep
from procession.testing.simulation.loop import SimulatedLoop
from procession.testing.simulation.node_engine import NodeEngine, Request
from procession.testing.simulation.whatsapp.auditor import WhatsAppAuditor
from procession.testing.simulation.whatsapp.rare import Sight
from procession.testing.simulation.whatsapp.said import said_by
from procession.testing.simulation.whatsapp.shape import OWN_APP, OWNER, PLATFORM_APP, WhatsAppShape
from procession.testing.whatsapp.book import Book, Passage
from procession.testing.whatsapp.courier import Courier
from procession.testing.whatsapp.webhook import Element, delivery_of, signed, text_element

_GIVES_UP_AFTER: Final = 7.0
"""Seconds that WhatsApp waits for an answer."""
_NAMELESS: Final = 0.15
"""The share of statuses that do not echo our id."""

Pick = Callable[[], NodeEngine | None]


class LoopTime:
    """Implements `testing.whatsapp.timing.Time` on the simulated loop."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop

    def now(self) -> datetime:
        return BEGINNING + timedelta(seconds=self._loop.now)

    def seconds(self) -> float:
        return self._loop.now

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        self._loop.home.run(self._loop.call_later, seconds, act)


class Door:
    """Implements `testing.whatsapp.courier.Carrier`: one endpoint, behind whichever engine is there."""

    def __init__(self, loop: SimulatedLoop, endpoint: EndpointName, auditor: WhatsAppAuditor, pick: Pick) -> None:
        self._loop = loop
        self._endpoint = endpoint
        self._auditor = auditor
        self._pick = pick

    def carry(self, body: bytes, headers: Mapping[str, str], done: Callable[[int | None], None]) -> None:
        self._loop.home.start(self._carry(body, headers, done))

    async def _carry(self, body: bytes, headers: Mapping[str, str], done: Callable[[int | None], None]) -> None:
        status = await self.post(body, headers)
        self._auditor.answered(body, status)
        done(status)

    async def post(self, body: bytes, headers: Mapping[str, str]) -> int | None:
        """The status; None: no engine was there, it died meanwhile, or it took too long."""
        engine = self._pick()
        if engine is None:
            await sleep(0.05)
            return None
        answer: asyncio.Future[int | None] = self._loop.create_future()
        engine.connections.add(answer)
        timer = self._loop.call_later(_GIVES_UP_AFTER, _put, answer, None)
        sent = tuple((name.lower(), value) for name, value in headers.items())
        request = Request(endpoint=self._endpoint, body=body, headers=sent)
        engine.node.start(engine.serve(request, lambda status: _put(answer, status)))
        status = await answer
        timer.cancel()
        engine.connections.discard(answer)
        return status


class Mail:
    """Implements `testing.whatsapp.courier.Post`."""

    def __init__(
        self, loop: SimulatedLoop, shape: WhatsAppShape, chance: SeededChance, auditor: WhatsAppAuditor, book: Book,
        pick: Pick,
    ) -> None:  # fmt: skip
        self.is_held = False
        """WhatsApp itself does not get through: what it has to tell waits there."""
        self._shape = shape
        self._chance = chance
        self._auditor = auditor
        self._held: list[Element] = []
        self._doors = {name: Door(loop, name, auditor, pick) for name in (PLATFORM_APP, OWN_APP)}
        self._couriers = {
            name: Courier(
                time=LoopTime(loop),
                chance=chance.of(f"courier {name}"),
                carrier=door,
                secret=shape.app_secret(name),
                book=book,
                habits=shape.habits,
            )
            for name, door in self._doors.items()
        }

    @property
    def outstanding(self) -> int:
        return len(self._held) + sum(courier.outstanding for courier in self._couriers.values())

    def send(self, element: Element) -> None:
        channel = self._shape.channel_of(element.number)
        said = said_by(element, channel, self._label(element))
        if said is not None:
            self._auditor.turns.posted[said.key] = said
        elif self._chance.happens(_NAMELESS):
            value = {name: told for name, told in element.value.items() if name != "biz_opaque_callback_data"}
            element = replace(element, value=value)
        if self.is_held:
            self._held.append(element)
        else:
            self._couriers[channel.endpoint].send(element)

    def release(self) -> None:
        self.is_held = False
        held, self._held = self._held, []
        for element in held:
            self._couriers[self._shape.channel_of(element.number).endpoint].send(element)

    def _label(self, element: Element) -> str:
        """Whose it is, by any of the names in it."""
        value = element.value
        names = [value.get(name) for name in ("from", "from_user_id", "to", "to_user_id")]
        own = [person for person in self._shape.people if person.number == element.number]
        return next((person.label for person in own for name in names if name and person.is_called(str(name))), "")

    # --- strangers ---

    async def post_badly(self) -> None:
        """A bad signature; then the tenant's own app speaks, well signed, for the number of another tenant."""
        chance = self._chance
        await sleep(chance.uniform(1, self._shape.spread))
        others = [person for person in self._shape.people if person.number.tenant != OWNER]
        person = chance.pick(others)
        forged = text_element(person, "wamid.forged", "#nobody:1 hello", BEGINNING, Passage())
        body = delivery_of([forged])
        status = await self._doors[PLATFORM_APP].post(body, signed(body, b"a secret that nobody has given us"))
        if status not in (None, 401, 503):
            self._auditor.history.fail("S2", f"a delivery with a bad signature was answered {status}")
        while await self._doors[OWN_APP].post(body, signed(body, self._shape.app_secret(OWN_APP))) != 200:
            await sleep(0.7)
        self._auditor.seen(Sight.STRANGER_QUARANTINED)


def _put(answer: "asyncio.Future[int | None]", status: int | None) -> None:
    if not answer.done():
        answer.set_result(status)
