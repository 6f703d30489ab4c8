"""Log lines of a handler, bound to their turn."""

from procession.core.turn import HeldTurn
from procession.ports.telemetry import Telemetry


class TurnLog:
    """What it is given is shown as it is: give it ids, counts and reasons, never a text that a person wrote."""

    __slots__ = ("_held", "_telemetry")

    def __init__(self, telemetry: Telemetry, held: HeldTurn) -> None:
        self._telemetry = telemetry
        self._held = held

    def note(self, what: str, /, **fields: str | float | bool | None) -> None:
        """A line of ordinary life."""
        self._telemetry.note(what, **self._bound(fields))

    def warn(self, what: str, /, **fields: str | float | bool | None) -> None:
        """A line that an operator should see."""
        self._telemetry.warn(what, **self._bound(fields))

    def count(self, name: str, amount: int = 1) -> None:
        """Add to a counter of your own; it is counted for the turn's tenant."""
        self._telemetry.count(f"handler.{name}", amount, tenant=self._held.lease.tenant)

    def _bound(self, fields: dict[str, str | float | bool | None]) -> dict[str, str | float | bool | None]:
        lease = self._held.lease
        return {**fields, "tenant": lease.tenant, "lane": lease.lane, "turn": self._held.id, "try": self._held.tries}
