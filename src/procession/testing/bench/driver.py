"""`procession bench`: rounds of measures, their medians, and how they stand against one another."""

import json
import os
import platform
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Final

from procession.testing.bench import measures
from procession.testing.bench.figures import Figures, Ratio, medians, rounded
from procession.testing.bench.measures import Plan
from procession.testing.bench.memory import is_kept as memory_is_kept
from procession.testing.bench.memory import weigh
from procession.testing.bench.scale import is_kept as scale_is_kept
from procession.testing.bench.scale import many_lanes, one_lane
from procession.testing.bench.table import facts, table
from procession.testing.bench.whatsapp import is_kept as whatsapp_is_kept
from procession.testing.bench.whatsapp import one_round

RATIOS: Final = (
    Ratio(name="accept / floor", of="accept", to="floor_accept"),
    Ratio(name="accept / no store", of="accept", to="no_store"),
    Ratio(name="accept p99 / floor p99", of="accept", to="floor_accept", figure="p99_ms"),
    Ratio(name="drain / floor", of="drain", to="floor_drain"),
    Ratio(name="drain / no store", of="drain", to="no_store"),
    Ratio(name="live / floor", of="live", to="floor_live"),
    Ratio(name="live / no store", of="live", to="no_store"),
    Ratio(name="whole line / no store", of="whole_line", to="no_store"),
    # Of processor time the other way round, so that more is better here too: the steadiest of all on a busy machine.
    Ratio(name="accept / no store, cpu", of="no_store", to="accept", figure="cpu_us"),
    Ratio(name="live / no store, cpu", of="no_store", to="live", figure="cpu_us"),
    Ratio(name="whole line / no store, cpu", of="no_store", to="whole_line", figure="cpu_us"),
)


ACK_TO_BARE: Final = Ratio(name="ack p99 / bare server's p99", of="whatsapp", to="bare", figure="p99_ms")


def main(*, store: str, seconds: float, connections: int, rounds: int, as_json: bool, only: str = "") -> int:
    """The whole of it; `only` names measures, with commas, for whoever works on one of them."""
    wanted = frozenset(filter(None, only.split(",")))
    before, done = _machine(), []
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as folder:
        plan = Plan(folder=Path(folder), seconds=seconds, connections=connections)
        for number in range(1, rounds + 1):
            _progress(f"round {number} of {rounds}")
            done.append(_round(plan, wanted))
    found = medians(done)
    ratios = {ratio.name: ratio.over(done) for ratio in RATIOS if ratio.of in found and ratio.to in found}
    settings: dict[str, object] = {"store": store, "seconds": seconds, "connections": connections, "rounds": rounds}
    if as_json:
        _print({**settings, "machine": before, "measures": found, "ratios": ratios})
    else:
        sys.stdout.write(table(found, ratios))
    return 0


def memory(*, store: str, rate: int, seconds: float, as_json: bool) -> int:
    """Exit status 1: heavier than promised."""
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as folder:
        figures = weigh(Path(folder), rate=rate, seconds=seconds)
    figures = {name: rounded(value) for name, value in figures.items()}
    if as_json:
        _print({"store": store, "machine": _machine(), "rate": rate, "seconds": seconds, **figures})
    else:
        sys.stdout.write(facts(figures))
    return 0 if memory_is_kept(figures) else 1


def scale(*, store: str, events: int, as_json: bool) -> int:
    """Exit status 1: memory, or the cost of a claim, grows with what waits."""
    found: dict[str, Figures] = {}
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as folder:
        for name, measure in (("many_lanes", many_lanes), ("one_lane", one_lane)):
            _progress(name)
            found[name] = {figure: rounded(value) for figure, value in measure(Path(folder), events).items()}
            _progress(f"  {_short(found[name])}")
    if as_json:
        _print({"store": store, "machine": _machine(), "events": events, **found})
    else:
        sys.stdout.write(_facts_of_each(found))
    return 0 if all(scale_is_kept(figures) for figures in found.values()) else 1


def whatsapp(*, store: str, rate: int, seconds: float, rounds: int, as_json: bool) -> int:
    """Exit status 1: slower than promised, or a reply that is missing, doubled or astray."""
    before, done = _machine(), list[dict[str, Figures]]()
    with tempfile.TemporaryDirectory(prefix="procession-bench-") as folder:
        for number in range(1, rounds + 1):
            done.append(one_round(Path(folder), rate=rate, seconds=seconds))
            _progress(f"round {number} of {rounds}")
            for name, figures in done[-1].items():
                _progress(f"  {name}: {_short(figures)}")
    found = medians(done)
    ratio = ACK_TO_BARE.over(done)
    if as_json:
        settings: dict[str, object] = {"store": store, "rate": rate, "seconds": seconds, "rounds": rounds}
        _print({**settings, "machine": before, "measures": found, "ratios": {ACK_TO_BARE.name: ratio}})
    else:
        sys.stdout.write(table(found, {ACK_TO_BARE.name: ratio}) + "\n" + _facts_of_each(found))
    return 0 if whatsapp_is_kept(found, ratio) else 1


def _facts_of_each(found: dict[str, Figures]) -> str:
    return "\n".join(f"{name}\n{facts(figures)}" for name, figures in found.items())


def _round(plan: Plan, only: frozenset[str]) -> dict[str, Figures]:
    found: dict[str, Figures] = {}
    for names, measure in _MEASURES:
        if only and not only & set(names):
            continue
        _progress(f"  {', '.join(names)}")
        told = measure(plan)
        for name, figures in zip(names, told if isinstance(told, tuple) else (told,), strict=True):
            found[name] = figures
            _progress(f"    {name}: {_short(figures)}")
    return found


_MEASURES: Final = (
    (("no_store",), measures.no_store),
    (("ingress_only",), measures.ingress_only),
    (("floor_accept", "floor_drain"), measures.floor_accept_and_drain),
    (("accept", "drain"), measures.accept_and_drain),
    (("floor_live",), measures.floor_live),
    (("live",), measures.live),
    (("whole_line",), measures.whole_line),
    (("paced",), measures.paced),
)


def _machine() -> dict[str, object]:
    """`load` tells how busy others keep it: with more than a few tenths only ratios and processor time mean much."""
    model = "unknown"
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return {
        "cores": os.cpu_count(),
        "processor": model,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "load": round(os.getloadavg()[0], 1),
    }


def _progress(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def _short(figures: Figures) -> str:
    return ", ".join(f"{name} {value:,.1f}" for name, value in figures.items())


def _print(result: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(result, indent=2) + "\n")
