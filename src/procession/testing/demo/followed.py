"""Whose handsets are drawn: of each shop somebody who is in the middle of something, until that is over."""

from collections.abc import Sequence
from typing import Final

from procession.testing.demo.standing import Standings, Waits
from procession.testing.whatsapp.person import Person

_LINGERS_S: Final = 1.2
"""So long a handset is still looked at when all is said."""


class Followed:
    def __init__(self, people: Sequence[Person]) -> None:
        self.of: dict[str, Person] = {}
        """By tenant."""
        self._people = people
        self._busy_at: dict[str, float] = {}
        for person in people:
            self.of.setdefault(person.number.tenant, person)

    def look(self, standings: Standings, now: float) -> None:
        for tenant, person in self.of.items():
            if standings.of[person.label].waits is not Waits.NOTHING:
                self._busy_at[tenant] = now
            elif now - self._busy_at.get(tenant, -_LINGERS_S) >= _LINGERS_S:
                self.of[tenant] = self._next(tenant, standings) or person

    def _next(self, tenant: str, standings: Standings) -> Person | None:
        typing = (Waits.TYPING, Waits.PLAYING)
        own = (person for person in self._people if person.number.tenant == tenant)
        return next((person for person in own if standings.of[person.label].waits in typing), None)
