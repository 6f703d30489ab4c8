"""What an operation is going to lock, as far as its arguments say: taken in one order, before it runs.

Only a saving: what is forgotten here is met on the way, and if somebody else has it just then, the batch begins anew.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from procession.core.effect import EffectDraft
from procession.core.event import Intake
from procession.core.ids import LaneId, TenantId
from procession.core.lane import Lease
from procession.core.turn import Settlement
from procession.storage.ledger.shares import Share
from procession.storage.postgres.contended import Needed

Place = tuple[TenantId, LaneId]


def needs(works: Iterable[Callable[..., Any]], share_of: Callable[[TenantId], Share | None]) -> Needed:
    lanes = set()
    for work in works:
        for tenant, lane in _places(work):
            share = share_of(tenant)
            if share is not None:
                lanes.add((share.no, lane))
    return Needed(lanes=frozenset(lanes))


def tenants(works: Iterable[Callable[..., Any]]) -> set[TenantId]:
    """Those that the works may be the first to name."""
    intakes = _intakes(works)
    named = {event.tenant for intake in intakes for event in intake.events}
    return named | {sighting.tenant for intake in intakes for sighting in intake.sightings}


def events(works: Iterable[Callable[..., Any]], share_of: Callable[[TenantId], Share | None]) -> set[tuple[int, str]]:
    """Those that the works are going to write."""
    return {
        (share.no, event.id)
        for intake in _intakes(works)
        for event in intake.events
        if (share := share_of(event.tenant)) is not None
    }


def _intakes(works: Iterable[Callable[..., Any]]) -> list[Intake]:
    return [
        argument
        for work in works
        if isinstance(work, partial)
        for argument in work.keywords.values()
        if isinstance(argument, Intake)
    ]


def _places(work: Callable[..., Any]) -> Iterator[Place]:
    if not isinstance(work, partial):
        return
    for argument in work.keywords.values():
        match argument:
            case Intake():
                yield from ((new.tenant, new.lane) for new in argument.events)
            case Lease():
                yield argument.tenant, argument.lane
                yield from _of_drafts(argument.tenant, work.keywords.get("flush", ()))
            case Settlement():
                yield argument.lease.tenant, argument.lease.lane
                yield from _of_drafts(argument.lease.tenant, argument.effects)
            case _:
                pass
    yield from ((lease.tenant, lease.lane) for lease in work.keywords.get("leases", ()))


def _of_drafts(tenant: TenantId, drafts: Iterable[EffectDraft]) -> Iterator[Place]:
    return ((tenant, draft.lane) for draft in drafts)
