"""What each conversation waits for, and what was counted: seen from outside, from what the simulated WhatsApp knows.

The engine is asked for nothing. A send is in doubt while its answer did not come, or said nothing (the call was cut, an
error came although it was taken, the engine was killed in between), and no status has proven it yet.
"""

from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from procession.testing.demo.bot import STEPS
from procession.testing.whatsapp.book import Accepted
from procession.testing.whatsapp.faults import Fate
from procession.testing.whatsapp.label import read_reply
from procession.testing.whatsapp.person import Person
from procession.testing.whatsapp.world import World

_ARRIVED: Final = ("delivered", "read")


class Waits(StrEnum):
    """What comes next in a conversation."""

    NOTHING = "nothing"
    TYPING = "typing"
    """A text is typed, and on its way to the engine."""
    PLAYING = "playing"
    """It is accepted, and its turn has not sent anything yet."""
    SENDING = "sending"
    """Some of its steps are there; the next one may go."""
    DELIVERY = "delivery"
    """The newest step is on its way to the handset."""
    DOUBT = "in doubt"
    """Nobody has said whether the newest step was taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    waits: Waits
    unanswered: int
    """Texts that were accepted and miss a step."""


class Standings:
    def __init__(self, world: World) -> None:
        self.of = {person.label: Standing(waits=Waits.NOTHING, unanswered=0) for person in world.people}
        self.turns = self.proven = 0
        """Texts with all their steps; sends that were in doubt and are known to have been taken."""
        self.replies: list[tuple[str, float]] = []
        """First steps since somebody looked here: whose tenant's, and how many seconds after their text."""
        self._world = world
        self._read = 0
        self._last: dict[str, Accepted] = {}
        self._steps: dict[tuple[str, int], set[int]] = defaultdict(set)
        self._sent: dict[str, int] = defaultdict(int)
        self._unclear: dict[str, Accepted] = {}
        self._cut_short: set[str] = set()

    @property
    def in_doubt(self) -> int:
        return len(self._unclear) + len(self._cut_short)

    def kill_left(self, armed: frozenset[str]) -> None:
        """The engine was killed before it heard what became of these."""
        self.look()
        told = {sent.effect: sent for sent in self._world.book.accepted if sent.effect in armed}
        for effect in armed:
            sent = told.get(effect)
            if sent is None:
                self._cut_short.add(effect)
            else:
                self._unclear[sent.wamid] = sent

    def owed(self) -> set[tuple[str, int]]:
        """Texts that were accepted and miss a step."""
        texts = self._world.book.texts
        return {
            name
            for name, text in texts.items()
            if text.passage.taken_at is not None and len(self._steps[name]) < len(STEPS)
        }

    @property
    def never_sent(self) -> frozenset[str]:
        """Effects whose sending was begun before a kill, and that never got as far as the provider."""
        return frozenset(self._cut_short)

    def look(self) -> None:
        """See what has happened since."""
        book = self._world.book
        for sent in book.accepted[self._read :]:
            self._note(sent)
        self._read = len(book.accepted)
        for wamid in [wamid for wamid in self._unclear if wamid in book.told]:
            del self._unclear[wamid]
            self.proven += 1
        taken: dict[str, int] = defaultdict(int)
        for text in book.texts.values():
            taken[text.label] += text.passage.taken_at is not None
        for person in self._world.people:
            self.of[person.label] = self._standing(person, taken[person.label])

    def _note(self, sent: Accepted) -> None:
        self._last[sent.label] = sent
        if sent.effect is not None:
            self._cut_short.discard(sent.effect)
        if sent.fate is not Fate.WELL:
            self._unclear[sent.wamid] = sent
        reply = read_reply(sent.body)
        if reply is None:
            return
        named = reply.answers[0]
        steps = self._steps[(named.label, named.n)]
        text = self._world.book.texts.get((named.label, named.n))
        if not steps and text is not None:
            self.replies.append((sent.number.tenant, sent.at - text.typed_at))
        if reply.place not in steps:
            steps.add(reply.place)
            self._sent[named.label] += 1
            self.turns += len(steps) == len(STEPS)

    def _standing(self, person: Person, taken: int) -> Standing:
        sent, last = self._sent[person.label], self._last.get(person.label)
        unanswered = max(0, taken - sent // len(STEPS))
        if last is not None and last.wamid in self._unclear:
            waits = Waits.DOUBT
        elif last is not None and self._world.book.told.get(last.wamid) not in _ARRIVED:
            waits = Waits.DELIVERY
        elif unanswered:
            waits = Waits.SENDING if sent % len(STEPS) else Waits.PLAYING
        else:
            waits = Waits.TYPING if person.typed > taken else Waits.NOTHING
        return Standing(waits=waits, unanswered=unanswered)
