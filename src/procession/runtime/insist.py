"""Insisting: a fenced write is repeated as it is until it is answered, for as long as trust holds.

A write that certainly did not happen may be sent again. One whose outcome is unknown may too: the store promises that
the same write under the same lease happens once (G4 of the store's port). When trust is over somebody else may have
gone on, and there is nothing left to insist on.
"""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeVar

from procession.core.errors import OutcomeUnknown, StoreAway
from procession.core.retry import Retry
from procession.ports.chance import Chance
from procession.ports.telemetry import Telemetry
from procession.runtime.pause import pause
from procession.runtime.trust import Trust

R = TypeVar("R")

_BETWEEN: Final = Retry(base=timedelta(milliseconds=50), cap=timedelta(seconds=1))
"""Short: it all has to happen within one trust window."""


async def insist(
    write: Callable[[], Awaitable[R]], *, trust: Trust, chance: Chance, telemetry: Telemetry, stage: str
) -> R | None:
    """The write's answer; None when trust ended before there was one. `stage` names who insists, in counters."""
    failures = 0
    while trust.holds():
        try:
            return await write()
        except (StoreAway, OutcomeUnknown) as away:
            failures += 1
            telemetry.count(f"{stage}.write_repeated")
            if failures == 1:
                telemetry.warn(f"{stage}.store_away", error=type(away).__name__, reason=str(away))
        await pause(min(_BETWEEN.after(failures, chance.uniform(0.0, 1.0)), trust.remaining()))
    return None
