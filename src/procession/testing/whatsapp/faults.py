"""What goes wrong between the provider and us, each with the share of cases in which it does."""

from dataclasses import dataclass, fields
from enum import StrEnum

from procession.core.errors import Misconfigured
from procession.testing.simulation.chance import SeededChance


class Fate(StrEnum):
    """What becomes of one call; named like its share."""

    WELL = "well"
    ERROR_BEFORE = "error_before"
    THROTTLED = "throttled"
    ERROR_AFTER = "error_after"
    LATE_AFTER = "late_after"
    SILENT_AFTER = "silent_after"
    CUT_AFTER = "cut_after"
    GARBAGE_AFTER = "garbage_after"


CALLS = tuple(fate for fate in Fate if fate is not Fate.WELL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Faults:
    error_before: float = 0.0
    """5xx, and not accepted."""
    throttled: float = 0.0
    """131056 or 130429 with HTTP 400, out of the blue."""
    error_after: float = 0.0
    """5xx, although it was accepted."""
    late_after: float = 0.0
    """Accepted, and answered after `late_s`."""
    silent_after: float = 0.0
    """Accepted, and never answered."""
    cut_after: float = 0.0
    """Accepted, and the connection reset."""
    garbage_after: float = 0.0
    """Accepted, and answered 200 with something that is no answer."""
    status_lost: float = 0.0
    """Of single statuses, likewise the next three."""
    status_doubled: float = 0.0
    status_reversed: float = 0.0
    """It overtakes the one before it, which comes late."""
    status_late: float = 0.0
    late_s: float = 12.0
    """How late a late answer or status is at most, in the simulation's seconds."""

    def drawn(self, chance: SeededChance) -> Fate:
        left = chance.random()
        for fate in CALLS:
            share = float(getattr(self, fate))
            if left < share:
                return fate
            left -= share
        return Fate.WELL


SOME = Faults(
    error_before=0.01,
    throttled=0.01,
    error_after=0.01,
    late_after=0.005,
    silent_after=0.005,
    cut_after=0.01,
    garbage_after=0.01,
    status_lost=0.02,
    status_doubled=0.05,
    status_reversed=0.05,
    status_late=0.03,
)
"""A bad day."""
PRESETS = {"none": Faults(), "some": SOME}


def read_faults(said: str) -> Faults:
    """`none`, `some`, or `name=share` with commas, the first of which may be a preset."""
    known = {field.name for field in fields(Faults)}
    chosen: dict[str, float] = {}
    base = Faults()
    for part in filter(None, (part.strip() for part in said.split(","))):
        name, equals, share = part.partition("=")
        if not equals and name in PRESETS:
            base = PRESETS[name]
        elif name not in known:
            raise Misconfigured(f"no fault is called {name!r}; there are: {', '.join([*PRESETS, *sorted(known)])}")
        else:
            chosen[name] = _share(name, share)
    return Faults(**{field.name: chosen.get(field.name, getattr(base, field.name)) for field in fields(Faults)})


def _share(name: str, text: str) -> float:
    most = float("inf") if name == "late_s" else 1.0
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= most:
        raise Misconfigured(f"the fault {name} needs a share between 0 and 1, not {text!r}")
    return share
