"""What became of one seed."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from procession.testing.simulation.crashes import CrashPlan
from procession.testing.simulation.history import Violation


@dataclass(slots=True, kw_only=True)
class Played:
    seed: int
    events: int
    violation: Violation | None
    excerpt: list[str]
    rare: Counter[str]
    plan: CrashPlan
    steps: int
    counts: Counter[str] = field(default_factory=Counter[str])
    """What a world counts beside its rare states."""
    history: list[str] = field(default_factory=list)
    """All of it, if it was asked for."""


def scratch_folder() -> Path | None:
    """Files of simulated worlds need no disk: what is durable is what the simulation says."""
    shared = Path("/dev/shm")  # noqa: S108 - a folder of its own is made in it
    return shared if shared.is_dir() else None


def told(stopped: BaseException) -> str:
    if isinstance(stopped, BaseExceptionGroup):
        return "; ".join(told(each) for each in stopped.exceptions)
    return f"{type(stopped).__name__}: {stopped}"
