"""A turn in flight: claimed, and on its way through a slot of this process."""

from procession.core.turn import HeldTurn
from procession.runtime.keepalive import Kept
from procession.runtime.trust import Trust
from procession.runtime.watch import Watched


class Flight(Kept):
    __slots__ = ("alone", "held", "row", "suspect", "watched")

    def __init__(
        self, held: HeldTurn, trust: Trust, *, row: int = 0, suspect: bool = False, alone: bool = False
    ) -> None:
        super().__init__(held.lease, trust)
        self.held = held
        self.row = row
        """How many turns of this lane were played in a row before this one, without giving the lane back."""
        self.suspect = suspect
        """It was in flight when a process died."""
        self.alone = alone
        """Nothing else is in flight in this process."""
        self.watched: Watched | None = None
        """The handler's call, while it runs."""
