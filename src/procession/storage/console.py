"""The operator's side of a store with rows: what is read, and the verbs."""

from datetime import timedelta
from functools import partial

from procession.core.errors import BadRequest
from procession.core.event import Intake
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, QuarantineId, TenantId
from procession.core.lane import PauseDraft, Phase, Side
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
from procession.storage import kept_apart, views
from procession.storage.instants import instant
from procession.storage.ledger import operate
from procession.storage.reach import Reach


class StoredConsole:
    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    # --- reading ---

    async def counts(self, tenant: TenantId | None = None) -> Counts:
        return await self._reach.read(lambda rows: views.counts(rows, tenant))

    async def why(self, what: str, tenant: TenantId | None = None) -> tuple[EventView, ...]:
        return await self._reach.read(lambda rows: views.why(rows, what, tenant))

    async def lanes(
        self, tenant: TenantId | None = None, phase: Phase | None = None, side: Side | None = None, limit: int = 50
    ) -> tuple[LaneView, ...]:
        return await self._reach.read(lambda rows: views.lanes(rows, tenant, phase, side, limit))

    async def lane(self, tenant: TenantId, lane: str) -> tuple[tuple[LaneView, ...], tuple[EventView, ...]]:
        return await self._reach.read(lambda rows: views.lane(rows, tenant, lane))

    async def asides(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[AsideView, ...]:
        return await self._reach.read(lambda rows: kept_apart.asides(rows, tenant, None, limit, with_payload=False))

    async def aside_show(self, tenant: TenantId, event: EventId, *, actor: str) -> AsideView:
        found = await self._reach.read(lambda rows: kept_apart.asides(rows, tenant, event, 1, with_payload=True))
        if not found:
            raise BadRequest(f"no set-aside event {event} of tenant {tenant}: `procession aside list` shows them")
        await self._reach.write(lambda book: operate.audit(book, actor, tenant, "aside show", event))
        return found[0]

    async def quarantine(self, limit: int = 50) -> tuple[QuarantineView, ...]:
        return await self._reach.read(lambda rows: kept_apart.quarantine(rows, limit))

    async def quarantine_show(self, kept: QuarantineId, *, actor: str) -> QuarantineView:
        found = await self._reach.read(lambda rows: kept_apart.quarantined(rows, kept))
        if found is None:
            raise BadRequest(f"nothing in quarantine is called {kept}: `procession quarantine list` shows what is")
        await self._reach.write(lambda book: operate.audit(book, actor, None, "quarantine show", kept))
        return found

    async def doubts(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[EffectView, ...]:
        return await self._reach.read(lambda rows: views.doubts(rows, tenant, limit))

    async def halts(self, tenant: TenantId | None = None) -> tuple[HaltView, ...]:
        now = instant(self._reach.now())
        return await self._reach.read(lambda rows: views.halts(rows, tenant, now))

    async def shown(self, tenant: TenantId | None = None) -> frozenset[tuple[TenantId, ChannelName]]:
        found = await self._reach.read(lambda rows: views.shown(rows, tenant))
        return frozenset((TenantId(own), ChannelName(channel)) for own, channel in found)

    async def audit(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[AuditRow, ...]:
        return await self._reach.read(lambda rows: kept_apart.audit(rows, tenant, limit))

    # --- the operator's hand ---

    async def pause(
        self,
        tenant: TenantId,
        lane: LaneId,
        duration: timedelta | None,
        *,
        actor: str,
        keep_effects: bool = False,
        reason: str = "",
    ) -> bool:
        draft = PauseDraft(duration=duration, keep_effects=keep_effects, reason=reason)
        return await self._reach.write(partial(operate.pause, tenant=tenant, lane=lane, actor=actor, draft=draft))

    async def resume(self, tenant: TenantId, lane: LaneId, *, actor: str) -> bool:
        return await self._reach.write(partial(operate.resume, tenant=tenant, lane=lane, actor=actor))

    async def skip(
        self, tenant: TenantId, lane: LaneId, *, actor: str, side: Side = Side.TURNS
    ) -> EventId | EffectId | None:
        return await self._reach.write(partial(operate.skip, tenant=tenant, lane=lane, actor=actor, side=side))

    async def replay(self, tenant: TenantId, event: EventId, *, actor: str) -> bool:
        return await self._reach.write(partial(operate.replay, tenant=tenant, event=event, actor=actor))

    async def aside_drop(self, tenant: TenantId, event: EventId, *, actor: str) -> bool:
        return await self._reach.write(partial(operate.drop_aside, tenant=tenant, event=event, actor=actor))

    async def quarantine_drop(self, kept: QuarantineId, *, actor: str) -> bool:
        return await self._reach.write(partial(operate.drop_quarantined, kept=kept, actor=actor))

    async def quarantine_routed(self, kept: QuarantineId, intake: Intake, *, actor: str) -> bool:
        return await self._reach.write(partial(operate.route_quarantined, kept=kept, intake=intake, actor=actor))

    async def resolve(self, tenant: TenantId, effect: EffectId, how: str, *, actor: str) -> bool:
        return await self._reach.write(partial(operate.resolve, tenant=tenant, effect=effect, how=how, actor=actor))

    async def release(self, tenant: TenantId, channel: ChannelName | None = None, *, actor: str) -> bool:
        return await self._reach.write(partial(operate.release, tenant=tenant, channel=channel, actor=actor))

    async def cancel(self, tenant: TenantId, effect: EffectId, *, actor: str) -> bool:
        return await self._reach.write(partial(operate.cancel, tenant=tenant, effect=effect, actor=actor))

    async def sending(self, *, paused: bool, actor: str) -> bool:
        return await self._reach.write(partial(operate.sending, paused=paused, actor=actor))

    async def new_era(self, *, actor: str, reason: str) -> int:
        return await self._reach.write(partial(operate.new_era, actor=actor, reason=reason))
