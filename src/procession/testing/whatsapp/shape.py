"""How large a simulated WhatsApp is, and how its people are."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from procession.testing.simulation.chance import SeededChance
from procession.testing.whatsapp.number import Number
from procession.testing.whatsapp.person import Person, Shows

_ODD: Final = (Shows.ID_ONLY, Shows.PHONE_LATER, Shows.PHONE_UNTIL, Shows.ID_LATER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    numbers: int = 5
    """Each of a tenant of its own."""
    tenants: tuple[str, ...] = ()
    """How the first of them are called; the others are sim-1, sim-2, …"""
    names: tuple[str, ...] = ()
    """Likewise the first people of each number; the others are 1, 2, …"""
    people: int = 40
    """Of each number."""
    bursts: int | None = 3
    """Of each person; None: until they are hushed."""
    burst_max: int = 4
    """Texts in one burst, at most."""
    rest_s: tuple[float, float] = (10.0, 50.0)
    """Between two bursts of one person."""
    gap_s: tuple[float, float] = (0.1, 1.5)
    """Between two texts of a burst."""
    unanswered_max: int = 8
    """Then even the most impatient person waits for replies; where it is known what a reply is."""
    odd: float = 0.3
    """The share of people of whom not always both names are shown."""
    shared: float = 0.1
    """The share of people who also write to the number before, with the same phone."""
    moves: float = 0.05
    """How often somebody changes the phone number between two bursts."""


def numbers_of(shape: Shape, seed: int) -> list[Number]:
    """The same seed makes the same numbers, so that they can be declared before the simulation starts."""
    return [
        Number(
            tenant=_called(shape.tenants, place, f"sim-{place}"),
            id=f"10{seed % 10**6:06}{place:04}",
            waba=f"20{seed % 10**6:06}{place:04}",
            display=f"+4930{seed % 10**6:06}{place:03}",
            token=f"simulated-token-{seed}-{place}",
        )
        for place in range(1, shape.numbers + 1)
    ]


def people_of(shape: Shape, numbers: list[Number], chance: SeededChance) -> list[Person]:
    people: list[Person] = []
    for number in numbers:
        before = people[-shape.people :] if people else []
        people += _people_of(shape, number, before, chance)
    return people


def _people_of(shape: Shape, number: Number, before: list[Person], chance: SeededChance) -> Iterator[Person]:
    for place in range(1, shape.people + 1):
        label = f"{number.tenant}.{_called(shape.names, place, str(place))}"
        shows = chance.pick(_ODD) if chance.happens(shape.odd) else Shows.BOTH
        same = before[place - 1].phone if before and chance.happens(shape.shared) else None
        yield Person(
            number=number,
            label=label,
            phone=same or new_phone(chance),
            user_id=new_user_id(chance),
            shows=shows,
            username=f"{label}.name" if shows is Shows.ID_ONLY else None,
        )


def _called(names: tuple[str, ...], place: int, otherwise: str) -> str:
    return names[place - 1] if place <= len(names) else otherwise


def new_phone(chance: SeededChance) -> str:
    return f"4915{chance.below(10**9):09}"


def new_user_id(chance: SeededChance) -> str:
    """Business-scoped: another one for each tenant."""
    return f"DE.{chance.below(10**16):016}"
