"""Looks again and again at what other processes do: there is nothing else to wait on."""

import time
from collections.abc import Callable
from typing import Final

_BETWEEN_S: Final = 0.05


def until(holds: Callable[[], bool], patience_s: float) -> None:
    """Until it holds; fails if it does not in time."""
    end = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < end, f"it did not come about within {patience_s} s"
        time.sleep(_BETWEEN_S)
