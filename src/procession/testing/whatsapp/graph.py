"""Graph's side: checks a call as Meta does, takes it or refuses it, and then answers as well as the faults let it.

The checks stand in the order in which Meta's own show: the number, the token, the shape, whom it goes to, the window,
the rates. A fault is drawn only for what would have been taken.
"""

import base64
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from procession.testing.simulation.chance import SeededChance
from procession.testing.whatsapp.book import Accepted, Book
from procession.testing.whatsapp.faults import Fate, Faults
from procession.testing.whatsapp.journey import Journeys
from procession.testing.whatsapp.number import Number
from procession.testing.whatsapp.person import Person
from procession.testing.whatsapp.quota import Pair, Throughput
from procession.testing.whatsapp.refusal import (
    NO_TOKEN,
    PAIR_RATE,
    THROUGHPUT,
    UNAVAILABLE,
    UNDELIVERABLE,
    WINDOW_CLOSED,
    Refusal,
    invalid,
    no_such_object,
    parameter,
)
from procession.testing.whatsapp.request import Mark, Send, read_request
from procession.testing.whatsapp.rules import Rules
from procession.testing.whatsapp.shelf import Shelf, told
from procession.testing.whatsapp.timing import Time

_PATH: Final = re.compile(r"/(?:v\d+\.\d+/)?([^/?]+)/(messages|media)/?(?:\?.*)?")
_FILE: Final = re.compile(r"/(v\d+\.\d+|media)/(\d+)(?:\?phone_number_id=(\d+))?")
_GARBAGE: Final = b"<html>upstream connect error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reaction:
    """What the caller gets to see."""

    status: int = 200
    body: bytes = b'{"success":true}'
    after: float = 0.0
    is_cut: bool = False
    is_silent: bool = False


class Graph:
    def __init__(
        self,
        *,
        numbers: Sequence[Number],
        people: Sequence[Person],
        rules: Rules,
        faults: Faults,
        time: Time,
        chance: SeededChance,
        book: Book,
        journeys: Journeys,
    ) -> None:
        self._numbers = {number.id: number for number in numbers}
        self._tokens = {number.id: number.token for number in numbers}
        self._people: dict[str, list[Person]] = defaultdict(list)
        for person in people:
            self._people[person.number.id].append(person)
        self._rules = rules
        self._faults = faults
        self._time = time
        self._chance = chance
        self._book = book
        self._journeys = journeys
        self.is_healed = False
        """Every call is answered as it should be."""
        self._pairs: dict[str, Pair] = defaultdict(Pair)
        self._throughput: dict[str, Throughput] = defaultdict(Throughput)
        self._heard: dict[str, Number] = {}
        self._wamids = count(1)
        self.shelf = Shelf()

    def wamid(self, label: str) -> str:
        """One that is given once."""
        return f"wamid.{base64.b64encode(f'{label}/{next(self._wamids)}'.encode()).decode()}"

    def rotate(self, number: str, token: str) -> None:
        """From now on the number takes this token only; the one before is refused (190)."""
        self._tokens[number] = token

    def heard(self, person: Person, wamid: str) -> None:
        """A person has written: that opens the window, and counts against the number's throughput."""
        person.heard_at = self._time.seconds()
        self._throughput[person.number.id].note(self._time.seconds())
        self._heard[wamid] = person.number

    def asked(self, method: str, target: str, token: str, body: bytes, *, host: str = "") -> Reaction:
        answer = self._answer(method, target, token, body) if method == "POST" else self._file(target, token, host)
        if isinstance(answer, Refusal):
            self._book.refused[answer.code] += 1
            return Reaction(status=answer.status, body=answer.body)
        return answer

    def _answer(self, method: str, target: str, token: str, body: bytes) -> Reaction | Refusal:
        path = _PATH.fullmatch(target)
        if path is None:
            return parameter(f"Unsupported {method.lower()} request to {target}")
        number = self._numbers.get(path[1])
        if number is None:
            return no_such_object(path[1])
        if token != self._tokens[number.id]:
            self._note_token(number, token)
            return NO_TOKEN
        if path[2] == "media":
            taken = self.shelf.take(number, body)
            return taken if isinstance(taken, Refusal) else Reaction(body=json.dumps({"id": taken}).encode())
        request = read_request(body, self._rules.text_chars_max)
        match request:
            case Refusal():
                return request
            case Mark():
                return self._marked(number, request)
            case Send():
                return self._sent(number, request, token)

    def _file(self, target: str, token: str, host: str) -> Reaction | Refusal:
        """Where a file is, for its number; and what is there, for whoever has the token of that number."""
        path = _FILE.fullmatch(target)
        owner = None if path is None else self.shelf.owner(path[2])
        if path is None or owner is None:
            return no_such_object(target)
        number = owner if path[3] is None else self._numbers.get(path[3], owner)
        if token != number.token:
            self._note_token(number, token)
            return NO_TOKEN
        kept = self.shelf.find(number, path[2])
        if isinstance(kept, Refusal):
            return kept
        if path[1] == "media":
            return Reaction(body=kept.content)
        return Reaction(body=json.dumps(told(path[2], kept, host)).encode())

    def _marked(self, number: Number, mark: Mark) -> Reaction | Refusal:
        if self._heard.get(mark.wamid) != number:
            return invalid("message_id is of no message that this number has received")
        self._book.marks += 1
        return Reaction()

    def _sent(self, number: Number, send: Send, token: str) -> Reaction | Refusal:
        person = self._person(number, send.to)
        if person is None:
            return UNDELIVERABLE
        fate = Fate.WELL if self.is_healed else self._faults.drawn(self._chance)
        if fate is Fate.ERROR_BEFORE:
            self._book.faults[fate] += 1
            return UNAVAILABLE
        refusal = self._not_now(person, send, fate)
        if refusal is not None:
            return refusal
        sent = Accepted(
            at=self._time.seconds(),
            number=number,
            token=token,
            label=person.label,
            to=send.to,
            effect=send.effect,
            wamid=self.wamid(number.id),
            kind=send.kind,
            body=send.body,
            fate=fate,
        )
        self._book.accepted.append(sent)
        self._journeys.begin(sent, person)
        return self._told(fate, _taken(send, sent, person))

    def _not_now(self, person: Person, send: Send, fate: Fate) -> Refusal | None:
        now, rules = self._time.seconds(), self._rules
        if send.kind != "template" and not _is_open(person, now, rules.window_s):
            return WINDOW_CLOSED
        if fate is Fate.THROTTLED:
            self._book.faults[fate] += 1
            return self._chance.pick((PAIR_RATE, THROUGHPUT))
        throughput = self._throughput[person.number.id]
        if not throughput.has_room(now, rules):
            return THROUGHPUT
        if not self._pairs[person.label].take(now, rules):
            return PAIR_RATE
        throughput.note(now)
        return None

    def _told(self, fate: Fate, body: bytes) -> Reaction:
        if fate is not Fate.WELL:
            self._book.faults[fate] += 1
        match fate:
            case Fate.ERROR_AFTER:
                return Reaction(status=UNAVAILABLE.status, body=UNAVAILABLE.body, after=self._answer_s())
            case Fate.LATE_AFTER:
                return Reaction(body=body, after=self._chance.uniform(0.5, 1.0) * self._faults.late_s)
            case Fate.SILENT_AFTER:
                return Reaction(is_silent=True)
            case Fate.CUT_AFTER:
                return Reaction(is_cut=True)
            case Fate.GARBAGE_AFTER:
                return Reaction(body=_GARBAGE, after=self._answer_s())
            case _:
                return Reaction(body=body, after=self._answer_s())

    def _answer_s(self) -> float:
        low, high = self._rules.answer_s
        return self._chance.uniform(low, high) if high else 0.0

    def _person(self, number: Number, name: str) -> Person | None:
        found = next((person for person in self._people[number.id] if person.is_called(name)), None)
        if found is None:
            whose = [person for people in self._people.values() for person in people if person.is_called(name)]
            if whose:
                self._book.trespasses.append(f"{number.tenant} sends to {whose[0].label}, who never wrote to it")
        return found

    def _note_token(self, number: Number, token: str) -> None:
        owner = next((other for other in self._numbers.values() if self._tokens[other.id] == token), None)
        if owner is not None:
            self._book.trespasses.append(f"the token of {owner.tenant} is used for the number of {number.tenant}")


def _is_open(person: Person, now: float, window_s: float | None) -> bool:
    return window_s is None or (person.heard_at is not None and now - person.heard_at <= window_s)


def _taken(send: Send, sent: Accepted, person: Person) -> bytes:
    contact: dict[str, str] = {"input": send.said}
    contact |= {"wa_id": person.shown_phone} if person.shown_phone else {}
    contact |= {"user_id": person.shown_id} if person.shown_id else {}
    document = {"messaging_product": "whatsapp", "contacts": [contact], "messages": [{"id": sent.wamid}]}
    return json.dumps(document).encode()
