"""The demo's world without wires: people write, and the test says what is replied."""

import json

from procession.testing.demo.bot import STEPS
from procession.testing.demo.shops import SHAPE
from procession.testing.whatsapp.book import Text
from procession.testing.whatsapp.courier import Habits
from procession.testing.whatsapp.faults import Faults
from procession.testing.whatsapp.label import bubbles
from procession.testing.whatsapp.person import Person
from procession.testing.whatsapp.rules import FREE
from procession.testing.whatsapp.verdict import Promise
from procession.testing.whatsapp.world import World
from tests.unit.testing.whatsapp.scene import SECRET, HandTime, Wire, text_to

ARRIVED_S = 20.0


class DemoWorld:
    def __init__(self, *statuses: int | None, faults: Faults | None = None) -> None:
        """`statuses`: what the engine answers to deliveries."""
        self.time = HandTime()
        self.world = World(
            time=self.time,
            carrier=Wire(*statuses),
            secret=SECRET,
            seed=3,
            shape=SHAPE,
            rules=FREE,
            faults=faults,
            habits=Habits(redelivered=0.0, batched=0.0, jitter_s=0.0),
            promise=Promise(bubbles=len(STEPS)),
        )

    def person(self, label: str) -> Person:
        return next(person for person in self.world.people if person.label == label)

    def typed(self, label: str) -> Text:
        """A text that has had time to arrive."""
        text = self.world.crowd.type_one(self.person(label))
        self.time.move(0.1)
        return text

    def reply(self, text: Text, *places: int, to: str | None = None, wait_s: float = ARRIVED_S) -> None:
        """These steps of the answer, one after the other, each with so much time behind it."""
        person = self.person(to or text.label)
        for place in places:
            body = f"{bubbles(f'#{text.label}:{text.n}', len(STEPS))[place - 1]} {STEPS[place - 1]}"
            document = text_to(f"+{person.phone}", body, effect=f"{text.label}:{text.n}/{place}")
            encoded = json.dumps(document).encode()
            self.world.graph.asked("POST", f"/{person.number.id}/messages", person.number.token, encoded)
            self.time.move(wait_s)
