"""The simulated provider and its users: people who type in bursts, and a platform that delivers twice and in any order.

Each text goes out over one of many connections, is posted again until it is answered 2xx, and now and then twice all
the same; texts of one burst overtake each other on the way.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from procession.ports.clock import Clock
from procession.runtime.pause import pause
from procession.testing.chaos.caller import Caller, NotSent, Unclear
from procession.testing.demo.ground import ENDPOINT, FLOODS, TENANTS, signed
from procession.testing.demo.pulse import Pulse
from procession.testing.demo.referee import Conversation, Referee
from procession.testing.simulation.chance import SeededChance

CONNECTIONS: Final = 16
PEOPLE: Final = {
    "bakery": ("ana", "ben", "cleo", "dora", "emil"),
    "clinic": ("farid", "gina", "hugo", "ines", "jun"),
    FLOODS: tuple(f"buyer-{number:02}" for number in range(1, 25)),
}
WORDS: Final = ("hello", "are you there?", "i need a table", "for two", "no, three", "tonight", "at eight", "thanks!")
_TWICE: Final = 0.22
_SHUFFLED: Final = 0.6
_UNANSWERED_MAX: Final = 14
"""Then even the most impatient person waits for replies."""
_BACKLOG_MAX: Final = 500
"""Then the flood waits: the demo has to end in time, on a slow machine too."""
_RETRY_FIRST_S: Final = 0.03
_RETRY_LONGEST_S: Final = 0.4
_PATIENCE: Final = timedelta(seconds=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    conversation: Conversation
    n: int
    is_copy: bool = False

    @property
    def event(self) -> str:
        return f"{self.conversation.key}#{self.n}"


class Crowd:
    def __init__(self, *, port: int, referee: Referee, pulse: Pulse, clock: Clock, chance: SeededChance) -> None:
        self.floods = False
        self._port = port
        self._referee = referee
        self._pulse = pulse
        self._clock = clock
        self._chance = chance
        self._sent: asyncio.Queue[Text] = asyncio.Queue(maxsize=256)
        self._is_over = False

    @property
    def is_quiet(self) -> bool:
        """Nobody types, and all that was typed has been delivered."""
        typed = sum(conversation.typed for conversation in self._referee.conversations.values())
        return self._is_over and self._referee.accepted == typed

    def hush(self) -> None:
        """Nobody types any more; what was typed is still delivered."""
        self._is_over = True
        self.floods = False

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for number in range(CONNECTIONS):
                group.create_task(self._deliver(self._chance.of(f"connection {number}")))
            for tenant in TENANTS:
                for name in PEOPLE[tenant]:
                    conversation = self._referee.conversation(tenant, name)
                    group.create_task(self._type(conversation, self._chance.of(conversation.key)))

    # --- people ---

    async def _type(self, conversation: Conversation, chance: SeededChance) -> None:
        while not self._is_over:
            await pause(timedelta(seconds=self._rest(conversation, chance)))
            if self._may_type(conversation):
                await self._burst(conversation, chance)

    def _rest(self, conversation: Conversation, chance: SeededChance) -> float:
        """How long somebody waits between two bursts."""
        return chance.uniform(0.05, 0.2) if conversation.tenant == FLOODS else chance.uniform(0.2, 1.4)

    def _may_type(self, conversation: Conversation) -> bool:
        if self._is_over or conversation.typed - conversation.turns > _UNANSWERED_MAX:
            return False
        return conversation.tenant != FLOODS or (self.floods and self._referee.waiting < _BACKLOG_MAX)

    async def _burst(self, conversation: Conversation, chance: SeededChance) -> None:
        texts: list[Text] = []
        for _ in range(2 + chance.below(4)):
            conversation.typed += 1
            text = Text(conversation=conversation, n=conversation.typed)
            self._pulse.typed(text.event)
            texts += [text, Text(conversation=conversation, n=text.n, is_copy=True)][: 1 + chance.happens(_TWICE)]
        for text in chance.shuffled(texts) if chance.happens(_SHUFFLED) else texts:
            await self._sent.put(text)
            await pause(timedelta(seconds=chance.uniform(0.0, 0.02)))

    # --- their provider ---

    async def _deliver(self, chance: SeededChance) -> None:
        async with Caller(host="127.0.0.1", port=self._port, patience=_PATIENCE) as caller:
            while True:
                await self._until_taken(caller, await self._sent.get(), chance)

    async def _until_taken(self, caller: Caller, text: Text, chance: SeededChance) -> None:
        wait = _RETRY_FIRST_S
        while not await self._post(caller, text):
            if text.is_copy:
                return
            await pause(timedelta(seconds=wait * chance.uniform(0.5, 1.0)))
            wait = min(2 * wait, _RETRY_LONGEST_S)

    async def _post(self, caller: Caller, text: Text) -> bool:
        of = text.conversation
        said = WORDS[text.n % len(WORDS)]
        content = {"id": text.event, "shop": of.tenant, "from": of.name, "kind": "chat.text", "n": text.n, "text": said}
        body, headers = signed(content)
        begun = self._clock.monotonic()
        try:
            answer = await caller.post(f"/hooks/{ENDPOINT}", headers, body)
        except (NotSent, Unclear):
            return False
        if not 200 <= answer.status < 300:
            return False
        fresh = self._referee.accepted_one(of, text.n)
        self._pulse.acked(self._clock.monotonic() - begun, fresh=fresh)
        return True
