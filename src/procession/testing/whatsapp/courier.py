"""Brings webhooks to the target as Meta does: signed, sometimes several in one, again until 200, and some twice.

Deliveries are concurrent, so that they overtake one another. The carrier is the wire below it: a test has its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, Protocol

from procession.testing.simulation.chance import SeededChance
from procession.testing.whatsapp.book import Book
from procession.testing.whatsapp.timing import Time
from procession.testing.whatsapp.webhook import Element, delivery_of, signed

_TOGETHER_MAX: Final = 50
_RETRY_FIRST_S: Final = 0.5
_RETRY_LONGEST_S: Final = 8.0


class Carrier(Protocol):
    def carry(self, body: bytes, headers: Mapping[str, str], done: Callable[[int | None], None]) -> None:
        """POST it to the target, and tell `done` the status; None if there was no whole answer."""
        ...


class Post(Protocol):
    """Whoever elements are handed to."""

    def send(self, element: Element) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    redelivered: float = 0.2
    """The share of deliveries that are made a second time, beside the first or after its 200."""
    batched: float = 0.3
    """The share of elements that wait for others, to go in one delivery with them."""
    batch_within_s: float = 1.0
    jitter_s: float = 0.4
    """So much may one delivery be slower than the next: that is how they overtake."""


class Courier:
    def __init__(
        self, *, time: Time, chance: SeededChance, carrier: Carrier, secret: bytes, book: Book, habits: Habits
    ) -> None:
        self._time = time
        self._chance = chance
        self._carrier = carrier
        self._secret = secret
        self._book = book
        self._habits = habits
        self._together: list[Element] = []
        self._trips = count(1)
        self._untaken: set[int] = set()
        self._copies = 0

    @property
    def outstanding(self) -> int:
        """Deliveries that were not answered 200 yet, and copies that are yet to go."""
        return len(self._untaken) + len(self._together) + self._copies

    def send(self, element: Element) -> None:
        if not self._chance.happens(self._habits.batched):
            self._depart([element])
            return
        if not self._together:
            self._time.after(self._habits.batch_within_s, self._depart_together)
        self._together.append(element)

    def _depart_together(self) -> None:
        waiting, self._together = self._together, []
        for first in range(0, len(waiting), _TOGETHER_MAX):
            self._depart(waiting[first : first + _TOGETHER_MAX])

    def _depart(self, elements: Sequence[Element]) -> None:
        trip = next(self._trips)
        for index, element in enumerate(elements):
            element.passage.trip, element.passage.index = trip, index
        self._untaken.add(trip)
        body = delivery_of(elements)
        slower = self._chance.uniform(0.0, self._habits.jitter_s)
        self._time.after(slower, lambda: self._post(trip, elements, body, _RETRY_FIRST_S))
        if self._chance.happens(self._habits.redelivered):
            after = self._chance.pick((slower, slower + 3 * self._chance.random()))
            self._copies += 1
            self._time.after(after, lambda: self._post_copy(elements, body))

    def _post(self, trip: int, elements: Sequence[Element], body: bytes, pause: float) -> None:
        self._note_post(elements)

        def done(status: int | None) -> None:
            self._note_answer(status)
            if status == 200:
                self._untaken.discard(trip)
                self._note_taken(elements)
                return
            wait = pause * self._chance.uniform(0.5, 1.0)
            longer = min(2 * pause, _RETRY_LONGEST_S)
            self._time.after(wait, lambda: self._post(trip, elements, body, longer))

        self._carrier.carry(body, signed(body, self._secret), done)

    def _post_copy(self, elements: Sequence[Element], body: bytes) -> None:
        """Nobody waits for it: it goes once."""
        self._note_post(elements)
        self._book.repeated += 1

        def done(status: int | None) -> None:
            self._copies -= 1
            self._note_answer(status)
            if status == 200:
                self._note_taken(elements)

        self._carrier.carry(body, signed(body, self._secret), done)

    def _note_post(self, elements: Sequence[Element]) -> None:
        self._book.deliveries += 1
        for element in elements:
            if element.passage.posted_at is None:
                element.passage.posted_at = self._time.seconds()

    def _note_answer(self, status: int | None) -> None:
        self._book.answers["none" if status is None else str(status)] += 1

    def _note_taken(self, elements: Sequence[Element]) -> None:
        for element in elements:
            if element.passage.taken_at is None:
                element.passage.taken_at = self._time.seconds()
                element.on_taken()
