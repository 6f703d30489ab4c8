"""A turn: one or more events of a lane, played together once, and what comes of it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from procession.core.effect import Effect, EffectDraft
from procession.core.event import Event
from procession.core.ids import EffectId, EventId
from procession.core.lane import Lease, PauseDraft
from procession.core.verdict import Fate


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A remembered result of a handler's own call, under its name and how often that name has occurred in the turn."""

    name: str
    occurrence: int
    value: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldTurn:
    """A turn that was claimed: its try is counted and its events are frozen already, durably."""

    lease: Lease
    lane_key: str
    events: tuple[Event, ...]
    state: bytes | None
    steps: tuple[Step, ...]
    tries: int
    """Including this one."""
    deaths: int
    """Earlier tries that ended with their process (or outlived their lease) since this turn last ended a try by
    itself."""
    deaths_alone: int
    """Of these, the ones during which nothing else ran in that process."""
    first_try_at: datetime
    aliases: tuple[str, ...] = ()
    """The names that lead to this lane now, the newest first; one that is said again in the same place is no news."""
    heard_at: datetime | None = None
    """When its subject last spoke (`NewEvent.hears`)."""

    @property
    def id(self) -> EventId:
        return self.events[0].id


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """The turn is done; the lane goes on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """Not now: the head waits, and order holds."""

    after: timedelta
    reason: str
    counts: bool = True
    """False: the handler asked for it; it is no failure, and the try is taken back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Park:
    """The lane stops at this turn until an operator acts."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAside:
    """The turn's events go to the dead letters with this reason; the lane goes on."""

    reason: str


Outcome = Advance | Delay | Park | SetAside


@dataclass(frozen=True, slots=True, kw_only=True)
class ReminderDraft:
    """An event to this same lane, later. One of the same name replaces it."""

    name: str
    after: timedelta
    payload: bytes


SqlWork = Callable[[object], None]
"""The handler's own statements. The store calls it with a connection, inside the settling transaction, after the
fence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """All that a turn leaves behind; it is kept as a whole or not at all.

    With `Advance` everything counts. With any other outcome only the outcome itself does: effects, state, reminders,
    pause and SQL of a try that did not succeed are not kept (what was flushed before was kept already, by `remember`).
    """

    lease: Lease
    turn: EventId
    outcome: Outcome
    state: bytes | None = None
    """None: unchanged."""
    effects: tuple[EffectDraft, ...] = ()
    cancel_effects: tuple[EffectId, ...] = ()
    """Those of this tenant that are still pending are cancelled; others are left alone."""
    reminders: tuple[ReminderDraft, ...] = ()
    cancel_reminders: tuple[str, ...] = ()
    pause: PauseDraft | None = None
    sql: tuple[SqlWork, ...] = ()
    keep_for: timedelta | None = None
    """Not None: claim the lane's next turn in the same write, if it is ready, for so long. Fairness is the caller's
    affair: it may do so KEEP_TURNS_MAX times in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The answer to a settlement."""

    fate: Fate
    next: HeldTurn | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldEffect:
    """A conversation's head effect, claimed. PENDING: to be begun; DOUBT: to be probed."""

    lease: Lease
    effect: Effect


@dataclass(frozen=True, slots=True, kw_only=True)
class Began:
    """The effect is armed, durably: now, and only under this attempt, the first byte may be written."""

    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotBegun:
    """It may not be sent now. LOST: the lane is another's. KEPT: the store has moved it on (cancelled, too old,
    paused, already proven), and given the lane back.
    """

    fate: Fate
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The answer to a verdict. `next` is the conversation's next effect, still claimed, if it may be begun at once."""

    fate: Fate
    next: HeldEffect | None = None
