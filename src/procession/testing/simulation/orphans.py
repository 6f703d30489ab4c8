"""Lanes that nobody looks after in a world that is well again: L2 and L4."""

from datetime import timedelta
from typing import Final

from procession.testing.simulation.final_state import FinalState
from procession.testing.simulation.history import History

STUCK_FOR: Final = 14.0
"""A ready lane that nobody takes for so long, while nothing else of its tenant moves, is an orphan (L2, L4)."""


class Orphans:
    def __init__(self, history: History, lease_ttl: timedelta, healed_at: float) -> None:
        self._history = history
        self._takeover = lease_ttl.total_seconds() + 4
        self._healed_at = healed_at
        self._stuck: dict[tuple[str, str, str], tuple[object, float]] = {}

    def look(self, final: FinalState, alive: set[str], now: float) -> None:
        """L2: dead workers hold nothing. L4: what is ready is taken."""
        moves = tuple(sorted((lane.tenant, lane.side, lane.lane, lane.epoch, lane.cursor) for lane in final.lanes))
        for lane in final.lanes:
            if lane.phase == "held" and lane.worker not in alive and now - self._healed_at > self._takeover:
                self._history.fail("L2", f"its {lane.side} are held by {lane.worker}, which is dead", lane.lane)
            key = (lane.tenant, lane.lane, lane.side)
            if lane.phase != "ready":
                self._stuck.pop(key, None)
                continue
            own = tuple(move for move in moves if move[0] == lane.tenant and move[1] == lane.side)
            before = self._stuck.get(key)
            if before is None or before[0] != own:
                self._stuck[key] = (own, now)
            elif now - before[1] > STUCK_FOR:
                self._history.fail("L4", f"its {lane.side} are ready, and nobody takes them", lane.lane)
