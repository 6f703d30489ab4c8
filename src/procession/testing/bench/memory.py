"""What an engine weighs: idle, and under load."""

import time
from pathlib import Path
from typing import Final

from procession.testing.bench.child import Child, engine, loaded
from procession.testing.bench.figures import Figures
from procession.testing.bench.ground import Ground
from procession.testing.bench.load import Order

IDLE_MB_MAX: Final = 64.0
LOADED_MB_MAX: Final = 96.0
_SETTLES_S: Final = 2.0
"""An engine that has just started has one pass of each loop before it, and is idle after that."""


def weigh(folder: Path, *, rate: int, seconds: float) -> Figures:
    ground = Ground(folder / "memory")
    with engine(ground) as child:
        time.sleep(_SETTLES_S)
        idle = child.rss_mb()
        answers = loaded(_order(child, rate, seconds))
        return {
            "idle_mb": idle,
            "loaded_mb": child.rss_mb(),
            "peak_mb": child.rss_peak_mb(),
            "per_second": answers["per_second"],
            "refused": answers["refused"] + answers["lost"],
            "idle_mb_max": IDLE_MB_MAX,
            "loaded_mb_max": LOADED_MB_MAX,
        }


def _order(child: Child, rate: int, seconds: float) -> Order:
    return Order(port=child.port, prefix="m", kind="quiet", seconds=seconds, connections=64, per_second=rate)


def is_kept(figures: Figures) -> bool:
    return figures["idle_mb"] <= IDLE_MB_MAX and figures["peak_mb"] <= LOADED_MB_MAX
