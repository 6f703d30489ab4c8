"""How events become turns: each its own turn, or those of a burst together."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from procession.core.errors import Misconfigured


@dataclass(frozen=True, slots=True, kw_only=True)
class One:
    """Each event is a turn of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Collect:
    """Events of a burst are played as one turn."""

    quiet: timedelta
    wait_max: timedelta
    events_max: int
    flush_words: tuple[str, ...]


Mode = One | Collect

one: Final = One()
"""Each event is a turn of its own (the default)."""


def collect(
    *, quiet: timedelta, wait_max: timedelta | None = None, events_max: int = 20, flush: Sequence[str] = ()
) -> Collect:
    """Collect what comes in a burst into one turn: people type in pieces, and a model should answer once.

    The turn starts when nothing has come for `quiet`, at the latest `wait_max` after its first event (default: ten
    times `quiet`), at once when `events_max` wait, and at once when somebody writes one of the words in `flush` and
    nothing else. All of it survives restarts. The events are in `turn.events`, in order.
    """
    longest = wait_max if wait_max is not None else 10 * quiet
    if quiet <= timedelta(0) or longest < quiet:
        raise Misconfigured(f"collect(quiet={quiet}, wait_max={longest}): write 0 < quiet <= wait_max")
    if not 1 < events_max <= 1000:
        raise Misconfigured(f"collect(events_max={events_max}): write 2 to 1,000")
    if isinstance(flush, str):
        raise Misconfigured(f"collect(flush={flush!r}): write a tuple, ({flush!r},)")
    return Collect(quiet=quiet, wait_max=longest, events_max=events_max, flush_words=tuple(flush))
