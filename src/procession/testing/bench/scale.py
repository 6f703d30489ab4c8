"""Very long lanes, and very many: does memory stay flat, and a claim as cheap as it was?

Each tenth of the backlog is measured by the processor time that the engine spends on it, which other programs on the
machine bend less than the clock on the wall.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from procession.testing.bench.child import Child, engine, loaded
from procession.testing.bench.figures import Figures
from procession.testing.bench.ground import Ground
from procession.testing.bench.load import Order
from procession.testing.bench.tally import Counts, Standstill, Tally

RSS_MB_MAX: Final = 250.0
RATIO_MAX: Final = 1.5
_TENTHS: Final = 10
_LOOK_S: Final = 0.005
_LONGEST_S: Final = 3_600.0


def one_lane(folder: Path, events: int) -> Figures:
    return _through(folder / "one-lane", events, lanes=1)


def many_lanes(folder: Path, events: int) -> Figures:
    return _through(folder / "many-lanes", events, lanes=events)


def is_kept(figures: Figures) -> bool:
    return figures["peak_mb"] <= RSS_MB_MAX and figures["drain_last_to_first"] <= RATIO_MAX


def _through(folder: Path, events: int, *, lanes: int) -> Figures:
    ground = Ground(folder)
    with engine(ground, plays=False) as child:
        loaded(_order(child.port, events, lanes))
        accept_peak = child.rss_peak_mb()
    tally = Tally(ground.database)
    placed = tally.now().placed
    with engine(ground) as child:
        costs, seconds = _tenths(tally, child, placed, lambda counts: counts.done)
        peak = max(accept_peak, child.rss_peak_mb())
    tally.close()
    return {
        "events": placed,
        "peak_mb": peak,
        "drained_per_second": placed / seconds,
        "drain_first_cpu_us": costs[0],
        "drain_last_cpu_us": costs[-1],
        "drain_last_to_first": costs[-1] / costs[0],
    }


def _order(port: int, events: int, lanes: int) -> Order:
    return Order(
        port=port,
        prefix="s",
        kind="quiet",
        seconds=_LONGEST_S,
        requests_max=events,
        lanes=lanes,
        redelivered=False,
    )


def _tenths(tally: Tally, child: Child, placed: int, reached: Callable[[Counts], int]) -> tuple[list[float], float]:
    """Processor time of an event in each tenth, in µs; and how long all took."""
    still, costs = Standstill(), list[float]()
    last, spent = _first_move(tally, still, reached), child.cpu_s()
    began = last
    for tenth in range(1, _TENTHS + 1):
        goal = began_at(began, placed, reached, tenth)
        counts = _until(tally, still, reached, goal)
        now = child.cpu_s()
        costs.append((now - spent) / max(reached(counts) - reached(last), 1) * 1e6)
        last, spent = counts, now
    return costs, last.at - began.at


def began_at(began: Counts, placed: int, reached: Callable[[Counts], int], tenth: int) -> int:
    """Where a tenth ends, counted from what had happened before the first look."""
    return reached(began) + (placed - reached(began)) * tenth // _TENTHS


def _first_move(tally: Tally, still: Standstill, reached: Callable[[Counts], int]) -> Counts:
    return _until(tally, still, reached, 1)


def _until(tally: Tally, still: Standstill, reached: Callable[[Counts], int], goal: int) -> Counts:
    while True:
        counts = tally.now()
        if reached(counts) >= goal:
            return counts
        still.look(counts)
        time.sleep(_LOOK_S)
