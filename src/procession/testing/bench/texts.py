"""What people write on WhatsApp, as Meta posts it: four thousand people of forty numbers, about 1 KB each.

The text begins with the moment of its sending, on the machine's monotonic clock, which all its processes share: a reply
that begins with the same tells whoever gets it how long it took.
"""

from datetime import UTC, datetime
from typing import Final

from procession.testing.simulation.chance import SeededChance
from procession.testing.whatsapp.book import Passage
from procession.testing.whatsapp.line import ENDPOINT, SECRET
from procession.testing.whatsapp.shape import Shape, numbers_of, people_of
from procession.testing.whatsapp.webhook import delivery_of, signed, text_element

SEED: Final = 0
SHAPE: Final = Shape(numbers=40, people=100, odd=0.0, shared=0.0, moves=0.0)
NUMBERS: Final = numbers_of(SHAPE, SEED)
PEOPLE: Final = people_of(SHAPE, NUMBERS, SeededChance(SEED).of("people"))
WARM: Final = "warm"
"""The kind of texts that are not measured: they carry no moment."""
_FILLER: Final = "Guten Tag, wann kommt meine Bestellung? " * 10


def text_request(own_id: str, *, lane: int, kind: str, sent: float = 0.0) -> bytes:
    """One request, whole; neighbours are of different numbers."""
    person = PEOPLE[lane % SHAPE.numbers * SHAPE.people + lane // SHAPE.numbers % SHAPE.people]
    said = f"{0.0 if kind == WARM else sent:.6f} {_FILLER}"
    body = delivery_of([text_element(person, f"wamid.{own_id}", said, datetime.now(UTC), Passage())])
    fields = "".join(f"{name}: {value}\r\n" for name, value in signed(body, SECRET.encode()).items())
    head = (
        f"POST /hooks/{ENDPOINT} HTTP/1.1\r\nHost: hooks.example.com\r\nUser-Agent: facebookexternalua\r\n"
        f"Accept: */*\r\nContent-Length: {len(body)}\r\n{fields}X-Forwarded-For: 203.0.113.7\r\n"
        "X-Forwarded-Proto: https\r\n\r\n"
    )
    return head.encode() + body


def sent_at(said: str) -> float | None:
    """The moment that a reply repeats; None of one that is not measured."""
    return float(said.partition(" ")[0]) or None
