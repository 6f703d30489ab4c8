"""A simulated WhatsApp on a time that is moved by hand, and bots that it talks to in the same process."""

import heapq
import json
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final

from procession.runtime.document import Json
from procession.testing.simulation.chance import SeededChance
from procession.testing.whatsapp.book import Book, Passage, Text
from procession.testing.whatsapp.courier import Courier, Habits
from procession.testing.whatsapp.faults import Faults
from procession.testing.whatsapp.graph import Graph, Reaction
from procession.testing.whatsapp.journey import Journeys
from procession.testing.whatsapp.label import bubbles
from procession.testing.whatsapp.number import Number
from procession.testing.whatsapp.person import Person, Shows
from procession.testing.whatsapp.rules import Rules

SECRET: Final = b"the app secret of a simulation"
BEGINNING: Final = datetime(2030, 1, 7, 9, 0, tzinfo=UTC)
ACME: Final = Number(tenant="acme", id="101", waba="201", display="+49301", token="token-acme")
BOLT: Final = Number(tenant="bolt", id="102", waba="202", display="+49302", token="token-bolt")


class HandTime:
    def __init__(self) -> None:
        self._at = 0.0
        self._order = count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []

    def now(self) -> datetime:
        return BEGINNING + timedelta(seconds=self._at)

    def seconds(self) -> float:
        return self._at

    def after(self, seconds: float, act: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self._at + seconds, next(self._order), act))

    def move(self, seconds: float) -> None:
        """Everything that is due on the way happens, at its time."""
        until = self._at + seconds
        while self._due and self._due[0][0] <= until:
            self._at, _, act = heapq.heappop(self._due)
            act()
        self._at = until


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Json:
        return json.loads(self.body)


class Wire:
    """Keeps what is carried, and answers what the test says: one status after the other, the last one for ever."""

    def __init__(self, *statuses: int | None) -> None:
        self.carried: list[Carried] = []
        self._statuses = deque(statuses or (200,))

    def carry(self, body: bytes, headers: Mapping[str, str], done: Callable[[int | None], None]) -> None:
        self.carried.append(Carried(body=body, headers=headers))
        done(self._statuses[0] if len(self._statuses) == 1 else self._statuses.popleft())

    def values(self, name: str) -> list[dict[str, object]]:
        """All elements of this name (`messages`, `statuses`), as they came."""
        return [
            element
            for one in self.carried
            for entry in one.json["entry"]
            for change in entry["changes"]
            for element in change["value"].get(name, [])
        ]


class Scene:
    """Two tenants with one number each, and one person each unless a test makes more."""

    def __init__(
        self,
        *,
        rules: Rules | None = None,
        faults: Faults | None = None,
        habits: Habits | None = None,
        wire: Wire | None = None,
        seed: int = 0,
    ) -> None:
        chance = SeededChance(seed)
        self.time = HandTime()
        self.book = Book()
        self.wire = wire or Wire()
        self.ana = person(ACME, "acme.1", "4915100001", "DE.1")
        self.ben = person(ACME, "acme.2", "4915100002", "DE.2")
        self.eve = person(BOLT, "bolt.1", "4915100003", "DE.3")
        self.people = [self.ana, self.ben, self.eve]
        self.courier = Courier(
            time=self.time,
            chance=chance.of("courier"),
            carrier=self.wire,
            secret=SECRET,
            book=self.book,
            habits=habits or Habits(redelivered=0.0, batched=0.0, jitter_s=0.0),
        )
        self.journeys = Journeys(
            time=self.time,
            chance=chance.of("journeys"),
            courier=self.courier,
            faults=faults or Faults(),
            book=self.book,
        )
        self.graph = Graph(
            numbers=[ACME, BOLT],
            people=self.people,
            rules=rules or Rules(),
            faults=faults or Faults(),
            time=self.time,
            chance=chance.of("graph"),
            book=self.book,
            journeys=self.journeys,
        )

    def typed(self, by: Person) -> Text:
        """A text that the target has surely taken before anything else happens."""
        by.typed += 1
        text = Text(label=by.label, n=by.typed, wamid=f"wamid.{by.label}:{by.typed}", typed_at=self.time.seconds())
        text.passage = Passage(posted_at=self.time.seconds(), taken_at=self.time.seconds() + 0.001)
        self.book.texts[(by.label, by.typed)] = text
        self.graph.heard(by, text.wamid)
        self.time.move(0.01)
        return text

    def post(
        self, document: object, *, number: Number = ACME, token: str | None = None, version: str = "v25.0"
    ) -> Reaction:
        path = f"/{version}/{number.id}/messages"
        return self.graph.asked("POST", path, number.token if token is None else token, json.dumps(document).encode())

    def send(self, to: Person, body: str, *, effect: str | None = None, number: Number | None = None) -> Reaction:
        return self.post(text_to(f"+{to.phone}", body, effect=effect), number=number or to.number)

    def echo(self, to: Person, text: Text, *, places: tuple[int, ...] = (1, 2)) -> None:
        """What the promised bot replies, each bubble on the handset before the next is sent."""
        said = bubbles(f"#{text.label}:{text.n} hello", 2)
        for place in places:
            assert self.send(to, said[place - 1], effect=f"{text.label}:{text.n}/{place}").status == 200
            self.time.move(60)


def person(number: Number, label: str, phone: str, user_id: str, shows: Shows = Shows.BOTH) -> Person:
    return Person(number=number, label=label, phone=phone, user_id=user_id, shows=shows)


def text_to(to: str, body: str, *, effect: str | None = None) -> dict[str, object]:
    marked = {} if effect is None else {"biz_opaque_callback_data": effect}
    return {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": to,
        "type": "text",
        "text": {"body": body},
        **marked,
    }


def code(reaction: Reaction) -> int:
    """Of a refusal."""
    found = json.loads(reaction.body)["error"]["code"]
    assert isinstance(found, int)
    return found
