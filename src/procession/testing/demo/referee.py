"""Judges every reply as it reaches its receiver; knows only what the users typed, and asks the engine for nothing.

A user's texts are numbered 1, 2, 3 as they are typed, and each is owed two replies. So the replies of a conversation
have one right order: 1 step 1, 1 step 2, 2 step 1, and so on. Whatever else comes is counted against the engine.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

STEPS: Final = (1, 2)
_SHOWN: Final = 40


class Call(StrEnum):
    """What the referee says of one reply."""

    RIGHT = "right"
    SENT_TWICE = "sent twice"
    OUT_OF_ORDER = "out of order"
    WRONG_TENANT = "wrong tenant"
    NOT_ASKED_FOR = "not asked for"


class Came(StrEnum):
    """How one delivery was taken, seen from outside."""

    IN_PLACE = "in place"
    EARLY = "early"
    AGAIN = "again"


@dataclass(slots=True, kw_only=True)
class Conversation:
    tenant: str
    name: str
    typed: int = 0
    arrived: deque[tuple[int, Came]] = field(default_factory=lambda: deque(maxlen=_SHOWN))
    answered: deque[tuple[int, Call]] = field(default_factory=lambda: deque(maxlen=_SHOWN))
    accepted: set[int] = field(default_factory=set)
    replied: set[tuple[int, int]] = field(default_factory=set)
    due: tuple[int, int] = (1, 1)
    turns: int = 0
    """Texts that have all their replies."""

    @property
    def key(self) -> str:
        return f"{self.tenant}/{self.name}"

    def owed(self) -> Iterator[int]:
        """Texts that were accepted and miss a reply."""
        return (n for n in self.accepted if not self.has_all(n))

    def has_all(self, n: int) -> bool:
        return all((n, step) in self.replied for step in STEPS)


class Referee:
    def __init__(self) -> None:
        self.conversations: dict[str, Conversation] = {}
        self.calls: dict[Call, int] = dict.fromkeys(Call, 0)
        self.accepted = self.duplicates = self.early = self.dropped_by_key = 0
        self.wrong: deque[str] = deque(maxlen=8)
        """What the last wrong replies were, for the verdict."""

    def conversation(self, tenant: str, name: str) -> Conversation:
        found = self.conversations.get(f"{tenant}/{name}")
        if found is None:
            found = Conversation(tenant=tenant, name=name)
            self.conversations[found.key] = found
        return found

    # --- what goes in ---

    def accepted_one(self, of: Conversation, n: int) -> bool:
        """A delivery was answered 2xx; says whether it was the first of its text."""
        if n in of.accepted:
            self.duplicates += 1
            of.arrived.append((n, Came.AGAIN))
            return False
        is_early = n > 1 and n - 1 not in of.accepted
        self.early += is_early
        of.accepted.add(n)
        of.arrived.append((n, Came.EARLY if is_early else Came.IN_PLACE))
        self.accepted += 1
        return True

    # --- what comes out ---

    def replied(self, at: str, key: str, n: int, step: int) -> Call:
        """A reply has reached the receiver of tenant `at`."""
        conversation = self.conversations.get(key)
        call = _judge(conversation, at, n, step)
        self.calls[call] += 1
        if call is not Call.RIGHT:
            self.wrong.append(f"{call}: {key} text {n} step {step}, received by {at}")
        if conversation is not None:
            _note(conversation, n, step, call)
        return call

    def dropped(self) -> None:
        """The receiver has got a reply again under its key, and has dropped it, as a provider with such keys does."""
        self.dropped_by_key += 1

    # --- the score ---

    @property
    def replies(self) -> int:
        return sum(self.calls.values())

    @property
    def turns(self) -> int:
        return sum(conversation.turns for conversation in self.conversations.values())

    @property
    def wrong_calls(self) -> int:
        return self.replies - self.calls[Call.RIGHT]

    @property
    def waiting(self) -> int:
        """Accepted texts without all their replies."""
        return self.accepted - self.turns

    def owed(self) -> set[tuple[str, int]]:
        """Accepted texts that miss a reply."""
        return {(own.key, n) for own in self.conversations.values() for n in own.owed()}


def _judge(conversation: Conversation | None, at: str, n: int, step: int) -> Call:
    if conversation is None or step not in STEPS or not 1 <= n <= conversation.typed:
        return Call.NOT_ASKED_FOR
    if at != conversation.tenant:
        return Call.WRONG_TENANT
    if (n, step) in conversation.replied:
        return Call.SENT_TWICE
    return Call.RIGHT if (n, step) == conversation.due else Call.OUT_OF_ORDER


def _note(conversation: Conversation, n: int, step: int, call: Call) -> None:
    """Go on behind the reply that came, so that one gap counts once and not for all that follow it."""
    if call in (Call.RIGHT, Call.OUT_OF_ORDER):
        conversation.replied.add((n, step))
        conversation.turns += conversation.has_all(n)
        after = (n + 1, 1) if step == STEPS[-1] else (n, step + 1)
        conversation.due = max(conversation.due, after)
    if call is not Call.RIGHT or step == STEPS[-1]:
        conversation.answered.append((n, call))
