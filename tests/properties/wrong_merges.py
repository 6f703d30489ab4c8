"""Stores that differ from the reference in what they make of two lanes that turn out to be one."""

from dataclasses import replace
from datetime import datetime

from procession.core.event import Acceptance, Intake
from procession.core.ids import EventId
from procession.core.lane import LaneMove, Phase, Side
from procession.storage.memory import MemoryStore
from procession.storage.memory.rest import rest
from procession.storage.memory.rows import EventRow, LaneRow


class MergesWrong(MemoryStore):
    async def accept(self, intake: Intake) -> Acceptance:
        before = {row.id for row in self.tables.lanes.values() if row.merged_into is not None}
        accepted = await super().accept(intake)
        merged = [row for row in self.tables.lanes.values() if row.merged_into is not None and row.id not in before]
        for row in merged:
            self.spoil(row, self.tables.heir(row), self.now())
        return accepted

    def spoil(self, row: LaneRow, heir: LaneRow, now: datetime) -> None:
        """A side that was merged just now."""
        raise NotImplementedError

    def waiting(self, heir: LaneRow) -> list[EventRow]:
        """What waits behind the head."""
        places = range(heir.cursor + 2, heir.last + 1)
        found = [self.tables.events[heir.tenant, self.tables.places[heir.tenant, heir.lane, seq]] for seq in places]
        return [event for event in found if event.new.id not in heir.frozen]


class LosesAWaitingEvent(MergesWrong):
    """The last but one of what waits is gone, and the last has its place."""

    def spoil(self, row: LaneRow, heir: LaneRow, now: datetime) -> None:
        waiting = self.waiting(heir) if row.side is Side.TURNS else []
        if len(waiting) > 1:
            lost, last = waiting[-2:]
            assert lost.seq is not None
            del self.tables.events[heir.tenant, lost.new.id]
            del self.tables.places[heir.tenant, heir.lane, heir.last]
            heir.last, last.seq = lost.seq, lost.seq
            self.tables.places[heir.tenant, heir.lane, lost.seq] = last.new.id


class PlaysBothAtOnce(MergesWrong):
    """The lane that goes on does not wait for the end of the other."""

    def spoil(self, row: LaneRow, heir: LaneRow, now: datetime) -> None:
        if heir.merging > 0:
            heir.merging = 0
            if heir.phase is not Phase.HELD:
                rest(self.tables, heir, LaneMove.MERGE, now)


class RenamesWhatMoves(MergesWrong):
    """As if an id came from where its event is."""

    def spoil(self, row: LaneRow, heir: LaneRow, now: datetime) -> None:
        waiting = self.waiting(heir) if row.side is Side.TURNS else []
        if len(waiting) > 1:
            event = waiting[-2]
            assert event.seq is not None
            del self.tables.events[heir.tenant, event.new.id]
            event.new = replace(event.new, id=EventId(f"{event.new.id}/{heir.lane}"))
            self.tables.events[heir.tenant, event.new.id] = event
            self.tables.places[heir.tenant, heir.lane, event.seq] = event.new.id


class MovesInAnyOrder(MergesWrong):
    """The last two of what waits have changed places."""

    def spoil(self, row: LaneRow, heir: LaneRow, now: datetime) -> None:
        waiting = self.waiting(heir) if row.side is Side.TURNS else []
        if len(waiting) > 1:
            one, other = waiting[-2:]
            one.seq, other.seq = other.seq, one.seq
            for event in (one, other):
                assert event.seq is not None
                self.tables.places[heir.tenant, heir.lane, event.seq] = event.new.id


class TakesNewEventsAfterAll(MergesWrong):
    """The other lane goes on as well."""

    def spoil(self, row: LaneRow, heir: LaneRow, now: datetime) -> None:
        row.merged_into = None if row.phase is Phase.IDLE else row.merged_into


class ForgetsNames(MemoryStore):
    """Whatever an event says beside its first name."""

    async def accept(self, intake: Intake) -> Acceptance:
        heard = tuple(replace(event, aliases=event.aliases[:1], retires=()) for event in intake.events)
        return await super().accept(replace(intake, events=heard))
