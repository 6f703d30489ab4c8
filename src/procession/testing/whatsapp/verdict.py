"""What a simulation came to, judged by what people typed, what the provider took, and what handsets showed.

Order is judged by what is sure: two texts whose deliveries overlapped may be answered either way round, but never two
of which one was taken before the other was posted, or which stood one behind the other in one delivery. The bubbles of
one text stand together, in their own order.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from procession.testing.whatsapp.book import Accepted, Book
from procession.testing.whatsapp.label import Reply, read_reply
from procession.testing.whatsapp.person import Person

_WRONG_SHOWN: Final = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """What the bot is expected to do."""

    bubbles: int | None = 2
    """So many for each text, as `label` says. None: nothing is known of its replies, and only what holds for any bot is
    judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    texts: int
    taken: int
    """Texts that the target has accepted."""
    not_taken: int
    sends: int
    """What the provider has accepted."""
    shown: int
    lost: int
    """Bubbles that are missing of texts that were taken; without a promise: sends that no handset showed."""
    unanswered: int
    """Texts that were taken, and not one bubble came."""
    duplicate: int
    """Sends accepted more than once: under the same effect id, or the same bubble of the same text."""
    out_of_order_accepted: int
    out_of_order_shown: int
    cross_tenant: int
    """Another tenant's token, person or text."""
    astray: int
    """A reply to another person of the same tenant."""
    not_asked_for: int
    """Bubbles that answer nothing that was typed."""
    repeated: int
    """Deliveries that came a second time."""
    answers: Mapping[str, int]
    """What the target answered to deliveries, by status; `none` where no whole answer came."""
    refused: Mapping[str, int]
    """Calls that Graph refused, by code."""
    faults: Mapping[str, int]
    wrong: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Something was shown, and nothing was wrong with it."""
        return self.texts > 0 and self.shown > 0 and not sum(self.counts().values())

    def counts(self) -> dict[str, int]:
        names = ("not_taken", "lost", "unanswered", "duplicate", "out_of_order_accepted", "out_of_order_shown")
        return {name: getattr(self, name) for name in (*names, "cross_tenant", "astray", "not_asked_for")}

    def document(self) -> dict[str, object]:
        return {"holds": self.holds, **asdict(self)}


def verdict(book: Book, people: Sequence[Person], promise: Promise | None = None) -> Verdict:
    return _Judge(book, people, promise or Promise()).verdict()


class _Judge:
    def __init__(self, book: Book, people: Sequence[Person], promise: Promise) -> None:
        self._book = book
        self._people = {person.label: person for person in people}
        self._promise = promise
        self._found: Counter[str] = Counter()
        self._wrong: list[str] = []
        self._seen: set[tuple[str, int, int]] = set()
        """Bubbles: whose, of which text, which."""

    def verdict(self) -> Verdict:
        book = self._book
        accepted: dict[str, list[Accepted]] = {label: [] for label in self._people}
        for sent in book.accepted:
            accepted[sent.label].append(sent)
        for trespass in book.trespasses:
            self._note("cross_tenant", trespass)
        self._judge_effects()
        for label, person in self._people.items():
            self._judge_person(person, accepted[label])
        if self._promise.bubbles is not None:
            self._judge_missing(self._promise.bubbles)
        not_taken = len(book.texts) - book.taken
        return Verdict(
            texts=len(book.texts),
            taken=book.taken,
            not_taken=not_taken,
            sends=len(book.accepted),
            shown=sum(len(person.handset.shown) for person in self._people.values()),
            repeated=book.repeated,
            answers=dict(sorted(book.answers.items())),
            refused={str(code): often for code, often in sorted(book.refused.items())},
            faults=dict(sorted(book.faults.items())),
            wrong=tuple(self._wrong[:_WRONG_SHOWN]),
            **{name: self._found[name] for name in _FOUND},
        )

    def _note(self, name: str, why: str) -> None:
        self._found[name] += 1
        self._wrong.append(f"{name.replace('_', ' ')}: {why}")

    def _judge_effects(self) -> None:
        often = Counter(sent.effect for sent in self._book.accepted if sent.effect is not None)
        for effect, times in often.items():
            for _ in range(times - 1):
                self._note("duplicate", f"{effect} was accepted more than once")

    def _judge_person(self, person: Person, accepted: list[Accepted]) -> None:
        shown = [bubble.wamid for bubble in person.handset.shown]
        if self._promise.bubbles is None:
            self._judge_any(person, accepted, shown)
            return
        effects: set[str] = set()
        replies: dict[str, Reply] = {}
        for sent in accepted:
            reply = self._reply_in(person, sent, is_repeat=sent.effect in effects)
            if sent.effect is not None:
                effects.add(sent.effect)
            if reply is not None:
                replies[sent.wamid] = reply
        for why in self._inversions(person, list(replies.values())):
            self._note("out_of_order_accepted", why)
        seen = [replies[wamid] for wamid in shown if wamid in replies]
        for why in self._inversions(person, seen):
            self._note("out_of_order_shown", f"on the handset, {why}")

    def _judge_any(self, person: Person, accepted: list[Accepted], shown: list[str]) -> None:
        """Without a promise: the handset shows what was accepted, in that order, and the last text has had a reply."""
        order = {sent.wamid: place for place, sent in enumerate(accepted)}
        for missing in order.keys() - set(shown):
            self._note("lost", f"{missing} was accepted for {person.label} and never shown")
        latest = -1
        for wamid in shown:
            if order[wamid] < latest:
                self._note("out_of_order_shown", f"{person.label} sees {wamid} behind what was sent after it")
            latest = max(latest, order[wamid])
        texts = [text for text in self._book.texts.values() if text.label == person.label]
        last = texts[-1].passage if texts else None
        posted = last.posted_at if last is not None and last.taken_at is not None else None
        if posted is not None and not any(sent.at >= posted for sent in accepted):
            self._note("unanswered", f"nothing came after {person.label}'s last text")

    def _reply_in(self, person: Person, sent: Accepted, *, is_repeat: bool) -> Reply | None:
        """What a send says, if it is one that this person is owed, and for the first time."""
        reply = read_reply(sent.body)
        if reply is None or sent.kind != "text":
            self._note("not_asked_for", f"{person.label} gets a {sent.kind} {sent.body[:60]!r}")
            return None
        for named in reply.answers:
            other = self._people.get(named.label)
            if named.label == person.label:
                if (named.label, named.n) not in self._book.texts or not 1 <= reply.place <= reply.of:
                    self._note("not_asked_for", f"{person.label} gets {sent.body[:60]!r}")
                    return None
            elif other is not None and other.number != person.number:
                self._note("cross_tenant", f"{person.label} gets what is for {named.label}")
                return None
            else:
                self._note("astray", f"{person.label} gets what is for {named.label}")
                return None
        bubbles = {(named.label, named.n, reply.place) for named in reply.answers}
        if bubbles & self._seen:
            if not is_repeat:
                self._note("duplicate", f"{person.label} gets {sent.body[:60]!r} more than once")
            return None
        self._seen |= bubbles
        return reply

    def _judge_missing(self, bubbles: int) -> None:
        for (label, n), text in self._book.texts.items():
            if text.passage.taken_at is None:
                self._wrong.append(f"not taken: {label}:{n}")
                continue
            there = [place for place in range(1, bubbles + 1) if (label, n, place) in self._seen]
            if not there:
                self._note("unanswered", f"{label}:{n} was taken")
            for _ in range(bubbles - len(there)):
                self._note("lost", f"a bubble of {label}:{n}")

    def _inversions(self, person: Person, replies: list[Reply]) -> Iterator[str]:
        passages = {n: self._book.texts[(person.label, n)].passage for n in range(1, person.typed + 1)}
        before: list[int] = []
        """Texts whose replies have begun, in that order."""
        place = 0
        for reply in replies:
            texts = [named.n for named in reply.answers]
            last = texts[-1]
            if before and last == before[-1]:
                if reply.place < place:
                    yield f"{person.label}:{last} has its bubble {reply.place} behind its bubble {place}"
            elif last in before:
                yield f"{person.label}:{last} has a bubble behind a reply to {before[-1]}"
            else:
                late = next(((a, b) for a in texts for b in before if passages[a].is_before(passages[b])), None)
                if late is not None:
                    yield f"{person.label}:{late[0]} is answered behind {late[1]}, which came later"
                if reply.place != 1:
                    yield f"{person.label}:{last} begins with its bubble {reply.place}"
                before += texts
            place = reply.place


_FOUND: Final = (
    "lost",
    "unanswered",
    "duplicate",
    "out_of_order_accepted",
    "out_of_order_shown",
    "cross_tenant",
    "astray",
    "not_asked_for",
)
