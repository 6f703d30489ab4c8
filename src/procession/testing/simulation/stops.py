"""How a simulation ends before its time.

SimulationStopped       it could not come to its end
├── Deadlock            nothing will ever happen again
├── OutOfTime           the next thing lies beyond the bound of virtual time
└── OutOfSteps          somebody runs in circles
Unheard                 it came to its end, but something failed and nobody looked
NotSimulated            code asked the loop for threads, sockets or the like
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class SimulationStopped(Exception):
    """The simulation could not come to its end. The text says why, and where everybody stands."""


class Deadlock(SimulationStopped):
    """Nothing is ready and no timer is set: nothing will ever happen again."""


class OutOfTime(SimulationStopped):
    """The next timer lies beyond the bound of virtual time."""


class OutOfSteps(SimulationStopped):
    """So many steps were taken, in all or without any time going by, that somebody must run in circles."""


class Unheard(ExceptionGroup[Exception]):
    """Failures that nobody looked at: of callbacks, and of tasks that nobody awaited."""


class NotSimulated(RuntimeError):
    """Code asked the loop for a thread, a socket or the like. What needs one has to be a port."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """When a simulation is given up: far beyond what a seed of some hundred events needs."""

    virtual_seconds_max: float = 400 * 86400.0
    steps_max: int = 5_000_000
    steps_at_once_max: int = 200_000
    """Steps in a row without time going by."""


def failure(told: Mapping[str, Any]) -> Exception:
    """What asyncio tells an exception handler, as an exception."""
    error = told.get("exception")
    if isinstance(error, Exception):
        error.add_note(str(told["message"]))
        return error
    about = RuntimeError(str(told["message"]))
    about.__cause__ = error
    return about
