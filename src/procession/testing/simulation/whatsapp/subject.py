"""Whoever a conversation is with, as far as anybody can know it by what came so far: one, or one of several parts of a
person of whom it is not known yet that they are one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from procession.core.ids import ChannelName, EventId, LaneId, TenantId
from procession.testing.simulation.whatsapp.said import EventKey, Said
from procession.testing.simulation.whatsapp.sent import Sent
from procession.testing.whatsapp.quota import Pair


@dataclass(slots=True, kw_only=True, eq=False)
class Known:
    """An event that the store has taken."""

    said: Said
    subject: "Subject"
    fate: str = "waiting"
    """waiting, done, set_aside, skipped."""
    merge: "Merge | None" = None
    """By which it came to its subject, if it moved."""


@dataclass(slots=True, kw_only=True, eq=False)
class Pause:
    begun_at: datetime
    until: datetime
    keeps: bool


@dataclass(slots=True, kw_only=True, eq=False)
class Merge:
    """One subject that has become part of another."""

    loser: "Subject"
    at: datetime
    had_open: bool
    is_told: bool = False
    """Its state has been handed over."""


@dataclass(slots=True, kw_only=True, eq=False)
class Subject:
    tenant: TenantId
    channel: ChannelName
    label: str
    no: int
    """The older of two has the lower number."""
    lane: LaneId | None = None
    """Once it was claimed."""
    replays: list[EventKey] = field(default_factory=list[EventKey])
    waiting: list[EventKey] = field(default_factory=list[EventKey])
    open: tuple[EventId, ...] = ()
    has_state: bool = False
    heir: "Subject | None" = None
    merges: list[Merge] = field(default_factory=list[Merge])
    pauses: list[Pause] = field(default_factory=list[Pause])
    effects: list[Sent] = field(default_factory=list[Sent])
    cursor: int = 0
    """Effects before it have ended, and their gates are open."""
    owes: Pair = field(default_factory=Pair)

    @property
    def last(self) -> "Subject":
        """Where it goes on."""
        return self if self.heir is None else self.heir.last

    def family(self) -> Iterator["Subject"]:
        """It, and all that were merged into it."""
        yield self
        for merge in self.merges:
            yield from merge.loser.family()

    def pause_at(self, at: datetime) -> Pause | None:
        newest = self.pauses[-1] if self.pauses else None
        return newest if newest is not None and newest.begun_at <= at < newest.until else None

    def drops(self, asked_at: datetime, at: datetime) -> bool:
        """Whether the end of a pause may have dropped what was asked for before that (S4)."""
        return any(not pause.keeps and asked_at <= pause.until <= at for pause in self.pauses)


def pause(subject: Subject, new: Pause) -> None:
    """It replaces the one before, which has no end then that would drop anything."""
    for each in subject.pauses:
        if each.until > new.begun_at:
            each.until, each.keeps = new.begun_at, True
    subject.pauses.append(new)


def end_pause(subject: Subject, at: datetime) -> None:
    for each in subject.pauses:
        each.until = min(each.until, at)


def precedes(first: Sent, second: Sent) -> bool:
    """Whether the one had to be on the handset before the other was begun: in one line, or in one that was merged."""
    if not first.no or not second.no or first.no > second.no or first.track is None or second.track is None:
        return False
    if first.track is second.track:
        return True
    merges = {merge.loser: merge for merge in second.track.merges}
    found = merges.get(first.track)
    # One that was claimed before the merge comes to its end beside the other's.
    return found is not None and second.claimed_at is not None and second.claimed_at > found.at
