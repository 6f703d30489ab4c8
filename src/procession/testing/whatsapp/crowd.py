"""People who type in bursts, wait a while, and now and then change their phone number."""

from collections.abc import Sequence
from functools import partial
from typing import Final

from procession.testing.simulation.chance import SeededChance
from procession.testing.whatsapp.book import Book, Text
from procession.testing.whatsapp.courier import Post
from procession.testing.whatsapp.graph import Graph
from procession.testing.whatsapp.label import read_reply, written
from procession.testing.whatsapp.person import Person
from procession.testing.whatsapp.shape import Shape, new_phone, new_user_id
from procession.testing.whatsapp.timing import Time
from procession.testing.whatsapp.webhook import moved_element, text_element

WORDS: Final = ("hello", "are you there?", "i need a table", "for two", "no, three", "tonight", "at eight", "thanks!")
_LOOK_AGAIN_S: Final = 1.0


class Crowd:
    def __init__(
        self,
        *,
        people: Sequence[Person],
        shape: Shape,
        time: Time,
        chance: SeededChance,
        courier: Post,
        graph: Graph,
        book: Book,
        waits_for_replies: bool,
    ) -> None:
        self._people = people
        self._shape = shape
        self._time = time
        self._chance = chance
        self._courier = courier
        self._graph = graph
        self._book = book
        self._waits = waits_for_replies
        self._is_hushed = False
        self._bursts = {person.label: 0 for person in people}
        self._resting: set[str] = set()
        self.typing = len(people)
        """People who have not typed all that they will."""

    def start(self) -> None:
        for person in self._people:
            self._rest(person)

    def hush(self) -> None:
        """Nobody begins another burst: whoever rests has typed everything."""
        self._is_hushed = True
        self.typing -= len(self._resting)
        self._resting.clear()

    def _rest(self, person: Person) -> None:
        if self._is_hushed or self._bursts[person.label] == self._shape.bursts:
            self.typing -= 1
            return
        self._resting.add(person.label)
        low, high = self._shape.rest_s
        # The first bursts are spread out from the beginning on.
        wait = self._chance.uniform(low if self._bursts[person.label] else 0.0, high)
        self._time.after(wait, partial(self._go_on, person))

    def _go_on(self, person: Person) -> None:
        if self._is_hushed:
            return
        if self._waits and person.typed - _answered(person) > self._shape.unanswered_max:
            self._time.after(_LOOK_AGAIN_S, partial(self._go_on, person))
            return
        self._resting.discard(person.label)
        if self._bursts[person.label] and self._chance.happens(self._shape.moves):
            self._move(person)
        else:
            self._burst(person)

    def _burst(self, person: Person) -> None:
        self._bursts[person.label] += 1
        self._type(person, 1 + self._chance.below(self._shape.burst_max))

    def _type(self, person: Person, left: int) -> None:
        if not left:
            self._rest(person)
            return
        self.type_one(person)
        self._time.after(self._chance.uniform(*self._shape.gap_s), lambda: self._type(person, left - 1))

    def type_one(self, person: Person) -> Text:
        """The next text of a person, on its way at once."""
        person.typed += 1
        n = person.typed
        wamid = self._graph.wamid(f"{person.label}:{n}")
        text = Text(label=person.label, n=n, wamid=wamid, typed_at=self._time.seconds())
        self._book.texts[(person.label, n)] = text
        self._graph.heard(person, wamid)
        body = written(person.label, n, words_of(n))
        self._courier.send(text_element(person, wamid, body, self._time.now(), text.passage))
        return text

    def _move(self, person: Person) -> None:
        """Types on only when the target knows: whoever is heard from under new names first is somebody else to it."""
        phone, user_id = new_phone(self._chance), new_user_id(self._chance)

        def known() -> None:
            person.move(phone, user_id)
            self._burst(person)

        person.coming = {phone, user_id}
        wamid = self._graph.wamid(f"{person.label}:moved")
        self._courier.send(moved_element(person, wamid, phone, user_id, self._time.now(), known))


def words_of(n: int) -> str:
    """What people say in their nth text."""
    return WORDS[(n - 1) % len(WORDS)]


def _answered(person: Person) -> int:
    """The number of the last text that a reply on the handset names."""
    for bubble in reversed(person.handset.shown):
        reply = read_reply(bubble.body)
        if reply is not None:
            return max(named.n for named in reply.answers)
    return 0
