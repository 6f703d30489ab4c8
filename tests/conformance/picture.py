"""All of a store that can be seen from outside, as one value: equal pictures mean that nothing happened."""

from collections.abc import Iterable

from procession.core.ids import TenantId
from procession.core.lane import Phase
from procession.ports.console import (
    AsideView,
    AuditRow,
    Counts,
    EffectView,
    EventView,
    HaltView,
    LaneView,
    QuarantineView,
)
from tests.conformance.builders import ACME, BOLT, MANY
from tests.conformance.harness import Harness

Picture = dict[str, object]


async def picture(harness: Harness, tenants: Iterable[TenantId] = (ACME, BOLT)) -> Picture:
    console = harness.console
    counts: dict[TenantId, Counts] = {tenant: await console.counts(tenant) for tenant in tenants}
    lanes: dict[object, list[LaneView]] = {}
    events: dict[object, tuple[EventView, ...]] = {}
    for tenant in tenants:
        for phase in Phase:
            for view in await console.lanes(tenant, phase, limit=MANY):
                lanes.setdefault((tenant, view.lane), []).append(view)
                _, events[tenant, view.lane] = await console.lane(tenant, view.lane)
    asides: tuple[AsideView, ...] = await console.asides(limit=MANY)
    quarantine: tuple[QuarantineView, ...] = await console.quarantine(limit=MANY)
    doubts: tuple[EffectView, ...] = await console.doubts(limit=MANY)
    audit: tuple[AuditRow, ...] = await console.audit(limit=MANY)
    halts: tuple[HaltView, ...] = await console.halts()
    return {
        "counts": counts,
        "lanes": {key: sorted(views, key=lambda view: view.side) for key, views in lanes.items()},
        "events": events,
        "asides": asides,
        "quarantine": quarantine,
        "doubts": doubts,
        "audit": audit,
        "halts": halts,
    }
