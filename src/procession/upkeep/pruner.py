"""What ended long ago is forgotten, a little at a time."""

from datetime import timedelta
from typing import Final

from procession.core.limits import DEDUP_KEEP, SWEEP_ROWS_MAX
from procession.ports.store import Store
from procession.ports.telemetry import Telemetry

PRUNE_EVERY: Final = timedelta(minutes=10)
_BREATH: Final = timedelta(milliseconds=50)
"""Between two bounded prunes, so that the line's own writes get their turn."""


class Pruner:
    def __init__(self, store: Store, telemetry: Telemetry, *, keep: timedelta = DEDUP_KEEP) -> None:
        self._store = store
        self._telemetry = telemetry
        self._keep = keep

    async def prune(self) -> timedelta:
        pruned = await self._store.prune(self._keep, SWEEP_ROWS_MAX)
        if pruned.rows:
            self._telemetry.count("upkeep.pruned", pruned.rows)
        return _BREATH if pruned.more else PRUNE_EVERY
