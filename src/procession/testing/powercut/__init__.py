"""Simulated power cuts: a preload library that keeps only what was synced, and the folder that it keeps it in."""

from procession.testing.powercut.build import PowercutUnavailable, build_shim
from procession.testing.powercut.disk import (
    Counts,
    PowerCut,
    PowercutBlind,
    PowercutError,
    counts_of,
    environment,
    restart_on,
    settle_shadow,
)

__all__ = [
    "Counts",
    "PowerCut",
    "PowercutBlind",
    "PowercutError",
    "PowercutUnavailable",
    "build_shim",
    "counts_of",
    "environment",
    "restart_on",
    "settle_shadow",
]
