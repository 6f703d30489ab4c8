"""What an event says about its lane beside being played there: that its subject spoke, that a person takes over."""

from datetime import datetime

from procession.core.event import NewEvent
from procession.core.lane import LaneMove, PauseDraft, Phase
from procession.storage.memory.rest import rest
from procession.storage.memory.rows import LaneRow, Tables, plus


def hear(tables: Tables, row: LaneRow, new: NewEvent, now: datetime) -> None:
    """A11, A12; of a fresh event only."""
    if new.hears:
        spoke = now if new.occurred_at is None else min(new.occurred_at, now)
        row.heard_at = spoke if row.heard_at is None else max(row.heard_at, spoke)
    if new.pause is not None and not _is_paused_as_long(row, new.pause, now):
        pause_both(tables, row, new.pause, now)


def _is_paused_as_long(row: LaneRow, pause: PauseDraft, now: datetime) -> bool:
    return row.paused and row.paused_until >= plus(now, pause.duration)


def pause_both(tables: Tables, turns: LaneRow, pause: PauseDraft, now: datetime) -> None:
    """At once: only what has been begun comes to its end."""
    for row in tables.both_families(turns):
        row.paused, row.paused_until, row.pause_keep = True, plus(now, pause.duration), pause.keep_effects
        row.pause_cover = row.cursor
        if row.phase is not Phase.HELD:
            rest(tables, row, LaneMove.PAUSE, now)
