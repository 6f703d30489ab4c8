"""What the stores hold after healing and quiet, as a fresh process reads it back."""

from dataclasses import dataclass
from enum import StrEnum


class EventEnd(StrEnum):
    WAITING = "waiting"
    DONE = "done"
    SET_ASIDE = "set_aside"
    DROPPED = "dropped"
    """By an operator, with an audit row."""
    QUARANTINED = "quarantined"


class EffectEnd(StrEnum):
    PENDING = "pending"
    ARMED = "armed"
    CONFIRMED = "confirmed"
    REFUSED = "refused"
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    """By an operator or by the doubt policy: what stands behind it may pass."""
    IN_DOUBT = "in_doubt"
    """Parked, waiting for proof or for an operator; what stands behind it waits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    event: str
    lane: str
    seq: int
    end: EventEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEffect:
    effect: str
    event: str
    lane: str
    oseq: int
    end: EffectEnd


@dataclass(frozen=True, slots=True, kw_only=True)
class FinalState:
    """Sequences, not mappings by id: a store that holds an id twice must be able to say so."""

    events: tuple[StoredEvent, ...]
    effects: tuple[StoredEffect, ...]
