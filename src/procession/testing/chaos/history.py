"""What happened, in one order: the append-only record of a run on real processes.

One recorder in the harness gives each line its number `h`, so that everything that the harness itself saw (what it
posted, what was answered, what reached the provider, which fault it struck with) stands in one total order. What the
engine did is not in here: it is read back after the run, by a fresh process.

Outcomes follow Jepsen: `ok` happened, `fail` certainly did not, `info` may have happened, or may yet.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec

from procession.ports.clock import Clock


class Outcome(StrEnum):
    OK = "ok"
    FAIL = "fail"
    INFO = "info"


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A delivery goes out: its lane's `n`-th event, for the `attempt`-th time, or as a copy that nobody asked for."""

    req: int
    event: str
    lane: str
    n: int
    attempt: int
    is_copy: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What became of one post. Without a status there was no whole answer, and `why` says what was seen instead."""

    req: int
    event: str
    outcome: Outcome
    status: int | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wired:
    """A call has reached the provider, which is the ground truth for sends.

    `accepted` says that the provider took it just now; `is_repeat`, that it knew the id and dropped it. What it
    answered is another matter, told by `answer`.
    """

    effect: str
    event: str
    lane: str
    n: int
    oseq: int | None
    accepted: bool
    is_repeat: bool
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The harness strikes: kill, pause, power cut, crash point."""

    fault: str
    target: str
    begins: bool = True


Happening = Posted | Answered | Wired | Fault

_KINDS: Final[dict[str, type[Posted] | type[Answered] | type[Wired] | type[Fault]]] = {
    "posted": Posted,
    "answered": Answered,
    "wired": Wired,
    "fault": Fault,
}
_KIND_OF: Final = {kind: name for name, kind in _KINDS.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """`h` orders; `at`, the recorder's monotonic seconds, only measures."""

    h: int
    at: float
    happening: Happening


@dataclass(frozen=True, slots=True, kw_only=True)
class _Line:
    h: int
    at: float
    kind: str
    happening: msgspec.Raw


class History:
    """Appends to a JSONL file and keeps what it appended; one recorder a run, on one event loop."""

    def __init__(self, path: Path, clock: Clock) -> None:
        self._file = path.open("wb")
        self._clock = clock
        self._entries: list[Entry] = []

    @property
    def entries(self) -> tuple[Entry, ...]:
        return tuple(self._entries)

    def append(self, happening: Happening) -> int:
        entry = Entry(h=len(self._entries) + 1, at=self._clock.monotonic(), happening=happening)
        self._entries.append(entry)
        line = {"h": entry.h, "at": entry.at, "kind": _KIND_OF[type(happening)], "happening": happening}
        self._file.write(msgspec.json.encode(line) + b"\n")
        return entry.h

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def read_history(path: Path) -> Iterator[Entry]:
    """What a recorder has written, a torn last line left out."""
    decoder = msgspec.json.Decoder(_Line)
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                read = decoder.decode(line)
                happening = msgspec.json.decode(read.happening, type=_KINDS[read.kind])
                yield Entry(h=read.h, at=read.at, happening=happening)
