"""Reads what SQLite holds, from outside, by plain SQL: the engine's own code is what is on trial."""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from procession.testing.chaos.checker import Finding
from procession.testing.chaos.final_state import EffectEnd, EventEnd, FinalState, StoredEffect, StoredEvent

DATABASE: Final = "procession.db"

_EVENTS: Final = """
SELECT event.provider_id, lane.key, event.seq, event.state, lane.cursor
FROM procession_event AS event JOIN procession_lane AS lane ON lane.no = event.lane
"""
_EFFECTS: Final = """
SELECT effect.id, event.provider_id, lane.key, effect.oseq, effect.state
FROM procession_effect AS effect
JOIN procession_lane AS lane ON lane.no = effect.lane
JOIN procession_event AS event ON event.tenant = effect.tenant AND event.id = effect.turn
"""
_LEFT: Final = """
SELECT
    (SELECT count(*) FROM procession_lane WHERE side = 'turns' AND next_seq > cursor + 1),
    (SELECT count(*) FROM procession_effect WHERE ended_at IS NULL)
"""
_IN_FLIGHT: Final = "SELECT count(*) FROM procession_lane WHERE phase = 'held' AND side = 'turns' AND try_open > 0"
_ARMED: Final = "SELECT id FROM procession_effect WHERE state = 'armed' AND ended_at IS NULL"
_PLAYED: Final = "SELECT lane, n, played FROM chaos_played ORDER BY rowid"
_STATES: Final = """
SELECT lane.key, state.state, lane.cursor
FROM procession_state AS state JOIN procession_lane AS lane ON lane.no = state.lane
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AtDeath:
    """What a process left when it was killed."""

    turns_in_flight: int
    armed: frozenset[str]
    """Effects that were begun and not answered for: in doubt."""


def at_death(data: Path) -> AtDeath:
    """Read from a copy: opening the file itself would recover its log before the engine does."""
    with tempfile.TemporaryDirectory(prefix="procession-chaos-") as folder:
        for path in data.glob(f"{DATABASE}*"):
            if not path.name.endswith("-shm"):
                shutil.copy(path, folder)
        with _reading(Path(folder) / DATABASE) as connection:
            (turns,) = connection.execute(_IN_FLIGHT).fetchone()
            armed = frozenset(effect for (effect,) in connection.execute(_ARMED))
    return AtDeath(turns_in_flight=turns, armed=armed)


def left_to_do(data: Path) -> int:
    """Lanes with unplayed events, and effects that have not ended."""
    with _reading(data / DATABASE) as connection:
        turns, effects = connection.execute(_LEFT).fetchone()
    return int(turns) + int(effects)


def final_state(data: Path) -> FinalState:
    with _reading(data / DATABASE) as connection:
        return FinalState(
            events=tuple(
                StoredEvent(event=event, lane=lane, seq=seq or 0, end=_event_end(state, seq, cursor))
                for event, lane, seq, state, cursor in connection.execute(_EVENTS)
            ),
            effects=tuple(
                StoredEffect(effect=effect, event=event, lane=lane, oseq=oseq, end=_effect_end(state))
                for effect, event, lane, oseq, state in connection.execute(_EFFECTS)
            ),
        )


def wholeness(data: Path) -> Iterator[Finding]:
    """P5: a turn, its lane's state and the application's own row were kept together, each turn once, in order."""
    with _reading(data / DATABASE) as connection:
        (integrity,) = connection.execute("PRAGMA integrity_check").fetchone()
        if integrity != "ok":
            yield Finding(rule="integrity", why=str(integrity))
        played: dict[str, int] = {}
        for lane, n, count in connection.execute(_PLAYED):
            expected = played.get(lane, 0) + 1
            if (n, count) != (expected, expected):
                yield Finding(
                    rule="P5", why=f"{lane}: row {n} was written as the {count}., after {expected - 1} others"
                )
            played[lane] = expected
        for lane, state, cursor in connection.execute(_STATES):
            if state != b'{"played":%d}' % cursor or played.get(lane) != cursor:
                rows = played.get(lane)
                yield Finding(rule="P5", why=f"{lane}: {cursor} turns, {rows} rows, and a state of {state!r}")


def _event_end(state: str | None, seq: int | None, cursor: int) -> EventEnd:
    if state is None:
        return EventEnd.DONE if seq is not None and seq <= cursor else EventEnd.WAITING
    return {"set_aside": EventEnd.SET_ASIDE, "dropped": EventEnd.DROPPED, "skipped": EventEnd.DROPPED}.get(
        state, EventEnd.WAITING
    )


def _effect_end(state: str) -> EffectEnd:
    return EffectEnd.IN_DOUBT if state == "doubt" else EffectEnd(state)


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        yield connection
