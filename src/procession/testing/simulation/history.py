"""What happened in a world, in the order in which it happened: for the auditor's sentence, and for whoever reads it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

_SHOWN_MAX = 60


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

    def excerpt(self, about: Iterable[str], shown_max: int = _SHOWN_MAX) -> list[str]:
        """The newest lines about any of these, and of the nodes that they name: what led there, and little else."""
        wanted = set(about)
        nodes = {who for _, who, _, ids, _ in self._lines if wanted.intersection(ids)}
        kept = [line for line in self._lines if wanted.intersection(line[3]) or (line[1] in nodes and line[2] in _FATES)]
        skipped = len(kept) - shown_max
        shown = [_words(line) for line in kept[-shown_max:]]
        return [f"  … {skipped} earlier lines about the same", *shown] if skipped > 0 else shown

    def whole(self) -> list[str]:
        return [_words(line) for line in self._lines]


_FATES = frozenset({"starts", "dies", "stands still", "goes on", "stops"})
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
