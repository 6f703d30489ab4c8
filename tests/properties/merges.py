"""What must hold of lanes that were merged: one person never has two live lanes (X1 to X3)."""

from collections.abc import Iterable

from procession.core.event import EventState
from procession.core.ids import LaneId, TenantId
from procession.core.lane import Phase, Side
from procession.ports.console import EventView, LaneView

SideKey = tuple[TenantId, LaneId, Side]


class Merges:
    """All sides of all lanes at one moment, and which wait for which."""

    def __init__(self, sides: Iterable[LaneView]) -> None:
        self.sides: dict[SideKey, LaneView] = {(view.tenant, view.lane, view.side): view for view in sides}
        self._waited_for: dict[SideKey, set[SideKey]] = {}
        for key, view in self.sides.items():
            if view.merged_into is not None and view.phase is not Phase.IDLE:
                for heir in self._heirs(view):
                    self._waited_for.setdefault(heir, set()).add(key)

    def is_waited_for(self, view: LaneView) -> bool:
        """Some lane that was merged into this one has something open."""
        return (view.tenant, view.lane, view.side) in self._waited_for

    def hold(self, events: Iterable[EventView]) -> None:
        """By themselves."""
        for key, view in self.sides.items():
            if view.merged_into is not None:
                assert (view.tenant, view.merged_into, view.side) in self.sides, "it goes on somewhere"
                assert view.side is Side.TURNS or view.waiting <= 1, "only what was begun ends where it is"
            if self._waited_for.get(key):
                assert view.phase is not Phase.READY, "nobody claims a lane that waits for a merge"
        for event in events:
            turns = self.sides[event.tenant, event.lane, Side.TURNS]
            if event.state is EventState.WAITING and turns.merged_into is not None:
                assert event.turn is not None, "what no open turn holds has moved"
            assert event.state is not EventState.HELD or turns.merged_into is None

    def follow(self, before: "Merges") -> None:
        """Since a moment before: nothing is undone, and nobody has claimed what had to wait all the time."""
        for key, view in before.sides.items():
            now = self.sides[key]
            assert view.merged_into in (None, now.merged_into), "a merge is for ever"
            all_the_time = before._waited_for.get(key, set()) & self._waited_for.get(key, set())
            assert now.epoch == view.epoch or not all_the_time, "nobody claims a lane that waits for a merge"

    def _heirs(self, view: LaneView) -> Iterable[SideKey]:
        while view.merged_into is not None:
            key = (view.tenant, view.merged_into, view.side)
            yield key
            view = self.sides[key]
