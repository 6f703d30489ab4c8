"""What happened in a world, in the order in which it happened: for the auditor's sentence, and for whoever reads it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

_SHOWN_MAX = 60
_OTHERS_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that did not hold, once."""

    rule: str
    """Its name in the proof's list (`S5a`), or the port's (`T1`)."""
    text: str
    about: tuple[str, ...]
    """Ids of lanes, events, effects, requests or nodes that it is about."""
    at: float

    @property
    def shown(self) -> str:
        return f"{self.rule}: {self.text}"


class History:
    """An append-only list of lines. Only the first violation counts: what follows it may be its consequence."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lines: list[tuple[float, str, str, tuple[str, ...], tuple[object, ...]]] = []
        self.violation: Violation | None = None
        self.on_violation: Callable[[], None] | None = None

    def __len__(self) -> int:
        return len(self._lines)

    @property
    def now(self) -> float:
        return self._now()

    def note(self, who: str, what: str, about: tuple[str, ...], *more: object) -> None:
        """One line: `more` is put into words only if somebody reads it."""
        self._lines.append((self._now(), who, what, about, more))

    def fail(self, rule: str, text: str, *about: str) -> None:
        if self.violation is None:
            self.violation = Violation(rule=rule, text=text, about=about, at=self._now())
            self.note("auditor", f"VIOLATION {rule}", about, text)
            if self.on_violation is not None:
                self.on_violation()

    def excerpt(self, about: Sequence[str], shown_max: int = _SHOWN_MAX) -> list[str]:
        """What led there, and little else: all about the first of these, the newest about the others, and the fates of
        the nodes that had a hand in it.
        """
        lines = self._lines
        first = [number for number, line in enumerate(lines) if about and about[0] in line[3]]
        others = [number for number, line in enumerate(lines) if not set(about[1:]).isdisjoint(line[3])]
        nodes = {lines[number][1] for number in (*first, *others[-_OTHERS_SHOWN:])}
        begun = min((*first, *others[-_OTHERS_SHOWN:]), default=0)
        fates = [
            number
            for number, line in enumerate(lines)
            if number >= begun and line[2] in _FATES and (line[1] in nodes or line[1] == "world")
        ]
        kept = sorted({*first[-shown_max:], *others[-_OTHERS_SHOWN:], *fates[-_OTHERS_SHOWN:]})
        return [_words(lines[number]) for number in kept]

    def whole(self) -> list[str]:
        return [_words(line) for line in self._lines]


_FATES = frozenset({"starts", "dies", "stands still", "goes on", "stops", "heals"})
"""What happens to a whole node."""


def _words(line: tuple[float, str, str, tuple[str, ...], tuple[object, ...]]) -> str:
    at, who, what, about, more = line
    ids = " ".join(_short(each) for each in about)
    rest = " ".join(_said(each) for each in more)
    return f"{at:10.3f}  {who:<10} {what:<16} {ids}  {rest}".rstrip()


def _short(name: str) -> str:
    return name[:11] if name[2:3] == "_" else name


def _said(value: object) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= 160 else text[:157] + "…"


def shown(value: object) -> str:
    """An answer or a verdict, in a line."""
    reason = getattr(value, "reason", "")
    return f"{type(value).__name__} {reason}".rstrip()
