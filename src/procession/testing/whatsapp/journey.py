"""The way of an accepted send to its handset, and of its statuses back: each on its own time, so that they overtake."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from procession.testing.simulation.chance import SeededChance
from procession.testing.whatsapp.book import Accepted, Book
from procession.testing.whatsapp.courier import Post
from procession.testing.whatsapp.faults import Faults
from procession.testing.whatsapp.handset import Bubble
from procession.testing.whatsapp.person import Person
from procession.testing.whatsapp.timing import Time
from procession.testing.whatsapp.webhook import status_element

_SENT_S: Final = (0.05, 0.4)
_DELIVERED_S: Final = (0.2, 1.5)
_SLOW: Final = 0.1
"""The share that takes three times as long."""
_READ_S: Final = (0.3, 4.0)
_READ: Final = 0.6
_READ_AT_ONCE: Final = 0.2
"""Of what is read, the share that is read as it comes: it is never reported as delivered."""
_TOLD_S: Final = (0.02, 0.3)
_AT_FIRST_S: Final = 0.4
"""No bubble of a number takes longer until its first status was taken: before that nobody can know whether there will
be statuses to wait for, and may at best leave half a second between two."""

Plan = list[tuple[str, float, float]]
"""Statuses: which, when it happens, when it is told."""


class Journeys:
    def __init__(self, *, time: Time, chance: SeededChance, courier: Post, faults: Faults, book: Book) -> None:
        self._time = time
        self._chance = chance
        self._courier = courier
        self._faults = faults
        self._book = book
        self.under_way = 0
        """Bubbles and statuses that are yet to arrive."""
        self._has_told: set[str] = set()
        """Numbers of which the target has seen a status."""

    def begin(self, sent: Accepted, person: Person) -> None:
        arrives = self._chance.uniform(*_DELIVERED_S) * (3 if self._chance.happens(_SLOW) else 1)
        if sent.number.id not in self._has_told:
            arrives = min(arrives, self._chance.uniform(0.5, 1.0) * _AT_FIRST_S)
        self._later(arrives, lambda: person.handset.show(_bubble(sent, self._time.seconds())))
        for status, happens, told in self._told(self._plan(sent.kind, arrives)):
            self._tell(sent, person, status, happens, told)

    def _later(self, seconds: float, act: Callable[[], None]) -> None:
        self.under_way += 1

        def arrive() -> None:
            self.under_way -= 1
            act()

        self._time.after(seconds, arrive)

    def _plan(self, kind: str, arrives: float) -> list[tuple[str, float]]:
        plan = [("sent", min(arrives, self._chance.uniform(*_SENT_S)))]
        if kind == "reaction":
            return plan
        if not self._chance.happens(_READ):
            return [*plan, ("delivered", arrives)]
        if self._chance.happens(_READ_AT_ONCE):
            return [*plan, ("read", arrives)]
        return [*plan, ("delivered", arrives), ("read", arrives + self._chance.uniform(*_READ_S))]

    def _told(self, happened: list[tuple[str, float]]) -> Plan:
        faults, chance = self._faults, self._chance
        told = [at + chance.uniform(*_TOLD_S) for _, at in happened]
        for place in range(1, len(told)):
            if chance.happens(faults.status_reversed):
                self._book.faults["status_reversed"] += 1
                # Never before it has happened: the earlier one is held up.
                told[place - 1] = told[place] + chance.uniform(*_TOLD_S)
        plan: Plan = []
        for (status, at), tell in zip(happened, told, strict=True):
            if chance.happens(faults.status_lost):
                self._book.faults["status_lost"] += 1
                continue
            if chance.happens(faults.status_late):
                self._book.faults["status_late"] += 1
                tell += chance.uniform(0.5, 1.0) * faults.late_s
            plan.append((status, at, tell))
            if chance.happens(faults.status_doubled):
                self._book.faults["status_doubled"] += 1
                plan.append((status, at, tell + chance.uniform(*_TOLD_S)))
        return plan

    def _tell(self, sent: Accepted, person: Person, status: str, happens: float, told: float) -> None:
        happened = self._time.now() + timedelta(seconds=happens)

        def tell() -> None:
            self._book.statuses[status] += 1
            self._courier.send(status_element(person, sent, status, happened, taken))

        def taken() -> None:
            self._has_told.add(sent.number.id)
            self._book.note_told(sent.wamid, status)

        self._later(told, tell)


def _bubble(sent: Accepted, at: float) -> Bubble:
    return Bubble(at=at, wamid=sent.wamid, kind=sent.kind, body=sent.body, effect=sent.effect)
