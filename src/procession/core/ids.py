"""Names of things, and how the derived ones are made.

An id that has to be the same after a crash is derived from what it names, never drawn (rule 7 of the line): a
redelivered webhook, a repeated settle and a second try of a handler all arrive at the same ids, so the store's unique
keys absorb them.
"""

from functools import lru_cache
from hashlib import blake2b
from typing import NewType

TenantId = NewType("TenantId", str)
EndpointName = NewType("EndpointName", str)
ChannelName = NewType("ChannelName", str)
"""Unique within its tenant."""
LaneId = NewType("LaneId", str)
EventId = NewType("EventId", str)
"""Also the id of the turn whose first event it is."""
EffectId = NewType("EffectId", str)
QuarantineId = NewType("QuarantineId", str)
WorkerId = NewType("WorkerId", str)
"""One running engine process; drawn anew at each start."""

_DIGEST_BYTES = 16
"""128 bits: two of 10^15 ids collide with a chance below 10^-8, so an id may stand for its text."""


def _derive(prefix: str, *parts: str) -> str:
    # Each part is preceded by its length, so that ("ab", "c") and ("a", "bc") differ.
    text = "".join([f"{len(part)}:{part}" for part in parts])
    return prefix + blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()


@lru_cache(maxsize=4096)
def lane_id(tenant: TenantId, channel: ChannelName, key: str) -> LaneId:
    """The lane of one subject (a conversation, an order) of one channel. Those that are busy are known by heart."""
    return LaneId(_derive("ln_", tenant, channel, key))


def event_id(tenant: TenantId, channel: ChannelName, provider_id: str) -> EventId:
    """The event that the provider calls `provider_id`: the same however often it is delivered."""
    return EventId(_derive("ev_", tenant, channel, provider_id))


def effect_id(tenant: TenantId, turn: EventId, key: str) -> EffectId:
    """The effect that a turn asks for under `key` (its index in the turn, or a name that the handler gave)."""
    return EffectId(_derive("ef_", tenant, turn, key))


def reminder_event_id(tenant: TenantId, lane: LaneId, name: str, generation: int) -> EventId:
    """The event that a reminder becomes; `generation` counts how often the reminder of this name was set."""
    return EventId(_derive("ev_", tenant, lane, "reminder", name, str(generation)))


def namesake_id(lane: LaneId, number: int) -> LaneId:
    """A lane with the same key as another subject's, whose name has come to somebody else; the first is number 2."""
    return LaneId(_derive("ln_", lane, "namesake", str(number)))


def merged_event_id(tenant: TenantId, lane: LaneId) -> EventId:
    """The event that carries the state of a lane that was merged into another; that happens to a lane once."""
    return EventId(_derive("ev_", tenant, lane, "merged"))


def quarantine_id(endpoint: EndpointName, body: bytes) -> QuarantineId:
    """What was kept aside of an endpoint; the same bytes delivered again are the same row."""
    digest = blake2b(body, digest_size=_DIGEST_BYTES).hexdigest()
    return QuarantineId(_derive("qu_", endpoint, digest))
