"""Everybody writes to one shop at once, and does not wait for replies."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from procession.runtime.pause import pause
from procession.testing.demo.standing import Standings
from procession.testing.simulation.chance import SeededChance
from procession.testing.whatsapp.crowd import Crowd
from procession.testing.whatsapp.person import Person

_EVERY: Final = timedelta(milliseconds=25)
_UNANSWERED_MAX: Final = 8
"""Then whoever floods waits for replies: the demo has to end in time, on a slow machine too."""


class Flood:
    def __init__(self, people: Sequence[Person], crowd: Crowd, standings: Standings, chance: SeededChance) -> None:
        self.is_on = False
        self._people = people
        self._crowd = crowd
        self._standings = standings
        self._chance = chance

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await pause(_EVERY)
            person = self._chance.pick(self._people)
            if self.is_on and self._standings.of[person.label].unanswered < _UNANSWERED_MAX:
                self._crowd.type_one(person)
