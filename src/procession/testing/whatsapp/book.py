"""What truly happened, written down as it happens: texts, sends that were accepted, and everything that was refused."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from procession.testing.whatsapp.number import Number

_FAR: Final = ("sent", "delivered", "read")


@dataclass(slots=True, kw_only=True)
class Passage:
    """How an element of a webhook came to the target. `posted_at` is no later than its first byte there, `taken_at` no
    earlier than its acceptance: so that an order that is sure can be told from one that is not.
    """

    posted_at: float | None = None
    taken_at: float | None = None
    trip: int = 0
    """The first delivery that it was part of,"""
    index: int = 0
    """and its place in there."""

    def is_before(self, other: "Passage") -> bool:
        """Surely accepted before the other."""
        if self.taken_at is None or other.posted_at is None:
            return False
        return self.taken_at < other.posted_at or (self.trip == other.trip and self.index < other.index)


@dataclass(slots=True, kw_only=True)
class Text:
    label: str
    n: int
    wamid: str
    typed_at: float
    passage: Passage = field(default_factory=Passage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """One send that the provider took, and is going to deliver."""

    at: float
    number: Number
    token: str = field(repr=False)
    label: str
    """Of the person that it goes to."""
    to: str
    """Which of their names was used."""
    effect: str | None
    """`biz_opaque_callback_data`."""
    wamid: str
    kind: str
    body: str
    fate: str = "well"
    """What became of the answer: see `faults`."""


@dataclass(slots=True, kw_only=True)
class Book:
    texts: dict[tuple[str, int], Text] = field(default_factory=dict[tuple[str, int], Text])
    accepted: list[Accepted] = field(default_factory=list[Accepted])
    trespasses: list[str] = field(default_factory=list[str])
    """Calls that tried to reach over to another tenant; they were refused."""
    refused: Counter[int] = field(default_factory=Counter[int])
    faults: Counter[str] = field(default_factory=Counter[str])
    marks: int = 0
    """Texts marked as read, and signs of typing."""
    deliveries: int = 0
    """Webhooks posted, again and again counted anew."""
    repeated: int = 0
    """Of these, the ones that were taken already, or are on their way a second time."""
    answers: Counter[str] = field(default_factory=Counter[str])
    """What the target answered to them: by status, `none` where no whole answer came."""
    statuses: Counter[str] = field(default_factory=Counter[str])
    told: dict[str, str] = field(default_factory=dict[str, str])
    """By `wamid` of a send: how far the target has been told that it got."""

    def note_told(self, wamid: str, status: str) -> None:
        """The target has taken a status; one that was overtaken takes nothing back."""
        if wamid not in self.told or _FAR.index(status) > _FAR.index(self.told[wamid]):
            self.told[wamid] = status

    def of(self, label: str) -> Iterator[Accepted]:
        return (sent for sent in self.accepted if sent.label == label)

    def was_accepted(self, effect: str) -> bool:
        """What a person would find out who looks at the handset: for doubts."""
        return any(sent.effect == effect for sent in self.accepted)

    @property
    def taken(self) -> int:
        """Texts that the target has accepted."""
        return sum(text.passage.taken_at is not None for text in self.texts.values())
