"""One sweep after the other, each as soon as something is due."""

from datetime import timedelta

from procession.core.limits import POLL, SWEEP_ROWS_MAX
from procession.ports.bell import Bell, Ring
from procession.ports.store import Store, Swept
from procession.ports.telemetry import Telemetry
from procession.runtime.loop import AGAIN


class Sweeper:
    def __init__(self, store: Store, bell: Bell, telemetry: Telemetry, *, rows_max: int = SWEEP_ROWS_MAX) -> None:
        self._store = store
        self._bell = bell
        self._telemetry = telemetry
        self._rows_max = rows_max

    async def sweep(self) -> timedelta:
        """One pass of the upkeep loop: how long nothing will be due."""
        swept = await self._store.sweep(self._rows_max)
        self._tell(swept)
        if swept.more:
            return AGAIN
        return POLL if swept.next_after is None else min(swept.next_after, POLL)

    def _tell(self, swept: Swept) -> None:
        work = swept.leases_freed + swept.woken + swept.released + swept.reminded + swept.gates_expired
        work += swept.doubts_resent + swept.doubts_skipped
        if work:
            # Which side something woke on is not worth telling apart: a bell that rings in vain costs one claim.
            self._bell.ring(Ring.TURNS)
            self._bell.ring(Ring.SENDS)
        for name in _COUNTED:
            amount = getattr(swept, name)
            if amount:
                self._telemetry.count(f"upkeep.{name}", amount)
        if swept.deaths or swept.doubted or swept.doubts_parked:
            self._telemetry.warn(
                "upkeep.found", deaths=swept.deaths, doubted=swept.doubted, doubts_parked=swept.doubts_parked
            )


_COUNTED = (
    "leases_freed",
    "deaths",
    "doubted",
    "woken",
    "released",
    "reminded",
    "gates_expired",
    "doubts_parked",
    "doubts_resent",
    "doubts_skipped",
)
