"""The operator's side of the SQLite store: reading on the reader, verbs on the writer."""

from datetime import timedelta
from functools import partial
from typing import Final

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
from procession.storage.sqlite import kept_apart, views
from procession.storage.sqlite.directory import Rows
from procession.storage.sqlite.instants import instant
from procession.storage.sqlite.ledger import operate
from procession.storage.sqlite.statements import statements

_SQL: Final = statements("console")


class SqliteConsole:
    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    # --- reading ---

    async def counts(self, tenant: TenantId | None = None) -> Counts:
        return await self._rows.read(lambda connection: views.counts(connection, tenant))

    async def why(self, what: str, tenant: TenantId | None = None) -> tuple[EventView, ...]:
        return await self._rows.read(lambda connection: views.why(connection, what, tenant))

    async def lanes(
        self, tenant: TenantId | None = None, phase: Phase | None = None, side: Side | None = None, limit: int = 50
    ) -> tuple[LaneView, ...]:
        return await self._rows.read(lambda connection: views.lanes(connection, tenant, phase, side, limit))

    async def lane(self, tenant: TenantId, lane: str) -> tuple[tuple[LaneView, ...], tuple[EventView, ...]]:
        return await self._rows.read(lambda connection: views.lane(connection, tenant, lane))

    async def asides(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[AsideView, ...]:
        return await self._rows.read(
            lambda connection: kept_apart.asides(connection, tenant, None, limit, with_payload=False)
        )

    async def aside_show(self, tenant: TenantId, event: EventId, *, actor: str) -> AsideView:
        found = await self._rows.read(
            lambda connection: kept_apart.asides(connection, tenant, event, 1, with_payload=True)
        )
        if not found:
            raise BadRequest(f"no set-aside event {event} of tenant {tenant}: `procession aside list` shows them")
        await self._rows.write(lambda book: operate.audit(book, actor, tenant, "aside show", event))
        return found[0]

    async def quarantine(self, limit: int = 50) -> tuple[QuarantineView, ...]:
        return await self._rows.read(lambda connection: kept_apart.quarantine(connection, limit))

    async def quarantine_show(self, kept: QuarantineId, *, actor: str) -> QuarantineView:
        found = await self._rows.read(lambda connection: kept_apart.quarantined(connection, kept))
        if found is None:
            raise BadRequest(f"nothing in quarantine is called {kept}: `procession quarantine list` shows what is")
        await self._rows.write(lambda book: operate.audit(book, actor, None, "quarantine show", kept))
        return found

    async def doubts(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[EffectView, ...]:
        return await self._rows.read(lambda connection: views.doubts(connection, tenant, limit))

    async def halts(self, tenant: TenantId | None = None) -> tuple[HaltView, ...]:
        now = instant(self._rows.now())
        return await self._rows.read(lambda connection: views.halts(connection, tenant, now))

    async def shown(self, tenant: TenantId | None = None) -> frozenset[tuple[TenantId, ChannelName]]:
        rows = await self._rows.read(
            lambda connection: connection.execute(
                _SQL["shown"], {"tenant": views.tenant_no(connection, tenant)}
            ).fetchall()
        )
        return frozenset((TenantId(own), ChannelName(channel)) for own, channel in rows)

    async def audit(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[AuditRow, ...]:
        return await self._rows.read(lambda connection: kept_apart.audit(connection, tenant, limit))

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
        return await self._rows.write(partial(operate.pause, tenant=tenant, lane=lane, actor=actor, draft=draft))

    async def resume(self, tenant: TenantId, lane: LaneId, *, actor: str) -> bool:
        return await self._rows.write(partial(operate.resume, tenant=tenant, lane=lane, actor=actor))

    async def skip(
        self, tenant: TenantId, lane: LaneId, *, actor: str, side: Side = Side.TURNS
    ) -> EventId | EffectId | None:
        return await self._rows.write(partial(operate.skip, tenant=tenant, lane=lane, actor=actor, side=side))

    async def replay(self, tenant: TenantId, event: EventId, *, actor: str) -> bool:
        return await self._rows.write(partial(operate.replay, tenant=tenant, event=event, actor=actor))

    async def aside_drop(self, tenant: TenantId, event: EventId, *, actor: str) -> bool:
        return await self._rows.write(partial(operate.drop_aside, tenant=tenant, event=event, actor=actor))

    async def quarantine_drop(self, kept: QuarantineId, *, actor: str) -> bool:
        return await self._rows.write(partial(operate.drop_quarantined, kept=kept, actor=actor))

    async def quarantine_routed(self, kept: QuarantineId, intake: Intake, *, actor: str) -> bool:
        return await self._rows.write(partial(operate.route_quarantined, kept=kept, intake=intake, actor=actor))

    async def resolve(self, tenant: TenantId, effect: EffectId, how: str, *, actor: str) -> bool:
        return await self._rows.write(partial(operate.resolve, tenant=tenant, effect=effect, how=how, actor=actor))

    async def release(self, tenant: TenantId, channel: ChannelName | None = None, *, actor: str) -> bool:
        return await self._rows.write(partial(operate.release, tenant=tenant, channel=channel, actor=actor))

    async def cancel(self, tenant: TenantId, effect: EffectId, *, actor: str) -> bool:
        return await self._rows.write(partial(operate.cancel, tenant=tenant, effect=effect, actor=actor))

    async def sending(self, *, paused: bool, actor: str) -> bool:
        return await self._rows.write(partial(operate.sending, paused=paused, actor=actor))

    async def new_era(self, *, actor: str, reason: str) -> int:
        return await self._rows.write(partial(operate.new_era, actor=actor, reason=reason))
