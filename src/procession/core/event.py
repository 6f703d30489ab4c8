"""What comes in: deliveries become an intake of events, sightings and quarantined bodies."""

import json
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from procession.core.effect import Receipt
from procession.core.ids import ChannelName, EffectId, EndpointName, EventId, LaneId, QuarantineId, TenantId
from procession.core.lane import PauseDraft


class Ordering(StrEnum):
    """How a source numbers its own order, where it does."""

    NUMBER = "number"
    """1, 2, 3 without gaps: an early one waits for its predecessor."""
    VERSION = "version"
    """Grows, with gaps: what is not newer than the newest released is stale."""
    TIME = "time"
    """A timestamp: sorted within the window only."""


class Stale(StrEnum):
    """What becomes of an event that comes after its place in the source's order has passed."""

    LATE = "late"
    """It takes its place behind the others and says so (`event.late`)."""
    DROP = "drop"
    """It is kept for dedup and shown as dropped, and never played."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The source's own order of one event: resequencing holds an early event for at most `window`."""

    by: Ordering
    key: int
    window: timedelta
    stale: Stale = Stale.LATE
    first: int | None = None
    """NUMBER only: the number that a lane begins with. None: whichever is seen first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A collecting handler's window: events of a burst are played as one turn."""

    quiet: timedelta
    """The turn starts when nothing has come for so long."""
    wait_max: timedelta
    """It starts at the latest so long after its first event."""
    events_max: int
    """It starts at once when so many wait, and never holds more."""
    flushes: bool = False
    """This event ends the window at once (it holds a flush word)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEvent:
    """An event on its way in. `payload` is the source's JSON element, byte for byte."""

    tenant: TenantId
    channel: ChannelName
    lane: LaneId
    lane_key: str
    id: EventId
    provider_id: str
    kind: str
    payload: bytes
    occurred_at: datetime | None = None
    order: Order | None = None
    window: Window | None = None
    aliases: tuple[str, ...] = ()
    """Names of its subject (a phone number, a business-scoped id): any that the channel knows leads to its lane, and
    all lead there from now on. Without them `lane` is the lane."""
    retires: tuple[str, ...] = ()
    """Of `aliases`, those that are the subject's no more: they lead there for a while yet, for what comes late."""
    hears: bool = False
    """The subject itself has spoken: that opens its window (`Terms.window`)."""
    pause: PauseDraft | None = None
    """A person has taken over at the other end: both sides of the lane are to stop."""


LANE_MERGED: Final = "lane.merged"
"""The kind of the event that carries a merged lane's state to the lane that goes on."""


def merged_payload(lane_key: str, state: bytes) -> bytes:
    """What such an event says; a state is JSON already."""
    return b'{"lane_key":' + json.dumps(lane_key).encode() + b',"state":' + state + b"}"


class EventState(StrEnum):
    """Where an event stands. WAITING covers everything from its seq to its turn's end."""

    HELD = "held"
    WAITING = "waiting"
    DONE = "done"
    SET_ASIDE = "set_aside"
    DROPPED = "dropped"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """An event as the store has it, with its place."""

    tenant: TenantId
    channel: ChannelName
    lane: LaneId
    lane_key: str
    id: EventId
    provider_id: str
    kind: str
    payload: bytes
    seq: int
    accepted_at: datetime
    occurred_at: datetime | None = None
    late: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """Outside evidence about an effect: a status webhook, or an answer that came after its attempt was given up.

    It names the effect by our id (echoed by the provider) or by the provider's reference, and counts only for an
    effect of its own tenant and channel.
    """

    tenant: TenantId
    channel: ChannelName
    receipt: Receipt
    effect: EffectId | None = None
    ref: str | None = None
    failed: bool = False
    """The provider says that it did not reach the receiver; a flag beside the ladder, since both may come."""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quarantined:
    """A signed body, or an element of one, that could not be parsed or routed: kept with its reason, answered 2xx."""

    id: QuarantineId
    endpoint: EndpointName
    reason: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """All that one delivery holds; it is accepted as a whole or not at all."""

    endpoint: EndpointName
    events: tuple[NewEvent, ...] = ()
    sightings: tuple[Sighting, ...] = ()
    quarantined: tuple[Quarantined, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """What became of one event of an intake."""

    event: EventId
    fresh: bool
    """False: the event was here already, and nothing changed."""
    seq: int | None
    """None: not fresh, held for its predecessor, or dropped as stale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """The answer to an intake, in the order of its events."""

    placements: tuple[Placement, ...]
