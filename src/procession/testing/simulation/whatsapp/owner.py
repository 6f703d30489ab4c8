"""Somebody at the business who now and then answers on the phone: WhatsApp echoes it to us."""

from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.whatsapp.shape import WhatsAppShape
from procession.testing.whatsapp.book import Passage
from procession.testing.whatsapp.courier import Post
from procession.testing.whatsapp.graph import Graph
from procession.testing.whatsapp.timing import Time
from procession.testing.whatsapp.webhook import echo_element


class Owner:
    def __init__(self, shape: WhatsAppShape, time: Time, chance: SeededChance, post: Post, graph: Graph) -> None:
        self._shape = shape
        self._time = time
        self._chance = chance
        self._post = post
        self._graph = graph
        self._is_hushed = False

    def start(self) -> None:
        self._rest()

    def hush(self) -> None:
        self._is_hushed = True

    def _rest(self) -> None:
        self._time.after(self._chance.uniform(2, self._shape.spread / 2), self._answer)

    def _answer(self) -> None:
        if self._is_hushed:
            return
        person = self._chance.pick(self._shape.people)
        if person.shown_phone or person.shown_id:
            wamid = self._graph.wamid(f"{person.label}:echo")
            self._post.send(echo_element(person, wamid, "let me see", self._time.now(), Passage()))
        self._rest()
