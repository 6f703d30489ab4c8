"""The desk: all that an operator may ask and do, in one place, here or at the running engine's.

Commands talk to a desk and do not know where it stands: over the line of an engine that runs on the data folder, or
over a store that the command has opened itself because none runs.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from procession.app.applying import Applier
from procession.app.health import Finding, findings, keys_finding
from procession.app.plan import Amendment, Listing, Plan
from procession.app.releasing import release_renewed
from procession.app.routing import intake_again
from procession.app.silent import silent_channels
from procession.app.verbs import Line, verb
from procession.core.errors import BadRequest
from procession.core.ids import ChannelName, EffectId, EndpointName, EventId, LaneId, QuarantineId, TenantId
from procession.core.lane import Phase, Side
from procession.ingress.doors import Doors
from procession.ports.bell import Bell, Ring
from procession.ports.clock import Clock
from procession.ports.connector import Inbound, Outbound
from procession.ports.console import (
    AsideView,
    AuditRow,
    Console,
    Counts,
    EffectView,
    EventView,
    HaltView,
    LaneView,
    QuarantineView,
)
from procession.ports.directory import Change, Directory, Snapshot
from procession.ports.telemetry import Telemetry
from procession.ports.vault import PLATFORM, Rotated, SecretName, WholeVault


async def _nobody() -> None:
    """Nobody in this process keeps anything open that would have to be read anew."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskMeans:
    console: Console
    directory: Directory
    vault: WholeVault
    inbound: Mapping[str, Inbound]
    outbound: Mapping[str, Outbound]
    bell: Bell
    clock: Clock
    telemetry: Telemetry
    examine: Callable[[], Awaitable[tuple[Finding, ...]]]
    """What the store finds when it looks at itself."""
    reopened: Callable[[], Awaitable[None]] = _nobody
    """Called when the directory or a secret has changed."""


class Desk:
    def __init__(self, *, means: DeskMeans | None = None, line: Line | None = None) -> None:
        """One of them: means to do it here, or a line to where it is done."""
        assert (means is None) != (line is None)
        self._means_here = means
        self.line = line

    @property
    def _means(self) -> DeskMeans:
        assert self._means_here is not None
        return self._means_here

    @property
    def _console(self) -> Console:
        return self._means.console

    # --- reading ---

    @verb
    async def counts(self, tenant: TenantId | None = None) -> Counts:
        return await self._console.counts(tenant)

    @verb
    async def why(self, what: str, tenant: TenantId | None = None) -> tuple[EventView, ...]:
        return await self._console.why(what, tenant)

    @verb
    async def lanes(
        self, tenant: TenantId | None = None, phase: Phase | None = None, side: Side | None = None, limit: int = 50
    ) -> tuple[LaneView, ...]:
        return await self._console.lanes(tenant, phase, side, limit)

    @verb
    async def lane(
        self, lane: str, tenant: TenantId | None = None
    ) -> tuple[tuple[LaneView, ...], tuple[EventView, ...]]:
        own, _ = await self._lane(lane, tenant)
        return await self._console.lane(own, lane)

    @verb
    async def asides(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[AsideView, ...]:
        return await self._console.asides(tenant, limit)

    @verb
    async def aside_show(self, event: EventId, tenant: TenantId | None = None, *, actor: str) -> AsideView:
        return await self._console.aside_show(await self._tenant_of_event(event, tenant), event, actor=actor)

    @verb
    async def quarantine(self, limit: int = 50) -> tuple[QuarantineView, ...]:
        return await self._console.quarantine(limit)

    @verb
    async def quarantine_show(self, kept: QuarantineId, *, actor: str) -> QuarantineView:
        return await self._console.quarantine_show(kept, actor=actor)

    @verb
    async def doubts(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[EffectView, ...]:
        return await self._console.doubts(tenant, limit)

    @verb
    async def audit(self, tenant: TenantId | None = None, limit: int = 50) -> tuple[AuditRow, ...]:
        return await self._console.audit(tenant, limit)

    @verb
    async def halts(self, tenant: TenantId | None = None) -> tuple[HaltView, ...]:
        return await self._console.halts(tenant)

    @verb
    async def findings(self) -> tuple[Finding, ...]:
        means = self._means
        found = await findings(means.console, means.directory, means.outbound)
        return (*await means.examine(), *found, await keys_finding(means.vault))

    # --- the operator's hand ---

    @verb
    async def pause(
        self,
        lane: str,
        tenant: TenantId | None = None,
        duration: timedelta | None = None,
        *,
        keep_effects: bool = False,
        reason: str = "",
        actor: str,
    ) -> bool:
        own, lane_id = await self._lane(lane, tenant)
        return await self._console.pause(own, lane_id, duration, actor=actor, keep_effects=keep_effects, reason=reason)

    @verb
    async def resume(self, lane: str, tenant: TenantId | None = None, *, actor: str) -> bool:
        own, lane_id = await self._lane(lane, tenant)
        return self._woken(await self._console.resume(own, lane_id, actor=actor))

    @verb
    async def skip(
        self, lane: str, tenant: TenantId | None = None, *, side: Side = Side.TURNS, actor: str
    ) -> str | None:
        own, lane_id = await self._lane(lane, tenant)
        skipped = await self._console.skip(own, lane_id, actor=actor, side=side)
        self._woken(skipped is not None)
        return skipped

    @verb
    async def replay(self, event: EventId, tenant: TenantId | None = None, *, actor: str) -> bool:
        own = await self._tenant_of_event(event, tenant)
        return self._woken(await self._console.replay(own, event, actor=actor))

    @verb
    async def replay_lane(self, lane: str, tenant: TenantId | None = None, *, actor: str) -> tuple[EventId, ...]:
        """All set-aside events of a lane, in their order."""
        own, lane_id = await self._lane(lane, tenant)
        found = [view for view in await self._console.asides(own, _ASIDES_MAX) if view.lane == lane_id]
        found.sort(key=lambda view: view.seq)
        replayed = [view.id for view in found if await self._console.replay(own, view.id, actor=actor)]
        self._woken(bool(replayed))
        return tuple(replayed)

    @verb
    async def aside_drop(self, event: EventId, tenant: TenantId | None = None, *, actor: str) -> bool:
        return await self._console.aside_drop(await self._tenant_of_event(event, tenant), event, actor=actor)

    @verb
    async def quarantine_route(
        self, kept: QuarantineId, endpoint: EndpointName | None = None, *, actor: str
    ) -> tuple[EventId, ...]:
        """Read a quarantined body once more, with the directory as it is now, and accept it. Answers its events."""
        means = self._means
        view = await means.console.quarantine_show(kept, actor=actor)
        doors = Doors(means.directory, means.vault, means.inbound, means.telemetry)
        await doors.refresh()
        intake = intake_again(doors, view, endpoint, means.clock.now())
        if not await means.console.quarantine_routed(kept, intake, actor=actor):
            raise BadRequest(f"{kept} has left the quarantine meanwhile")
        self._woken(bool(intake.events))
        return tuple(event.id for event in intake.events)

    @verb
    async def quarantine_drop(self, kept: QuarantineId, *, actor: str) -> bool:
        return await self._console.quarantine_drop(kept, actor=actor)

    @verb
    async def resolve(self, effect: EffectId, how: str, tenant: TenantId | None = None, *, actor: str) -> bool:
        own = tenant if tenant is not None else await self._tenant_of_effect(effect)
        return self._woken(await self._console.resolve(own, effect, how, actor=actor))

    @verb
    async def cancel(self, effect: EffectId, tenant: TenantId | None = None, *, actor: str) -> bool:
        own = tenant if tenant is not None else await self._tenant_of_effect(effect)
        return self._woken(await self._console.cancel(own, effect, actor=actor))

    @verb
    async def sending(self, *, paused: bool, actor: str) -> bool:
        return self._woken(await self._console.sending(paused=paused, actor=actor))

    @verb
    async def release(self, tenant: TenantId, channel: ChannelName | None = None, *, actor: str) -> bool:
        await self._check_tenant(tenant)
        return self._woken(await self._console.release(tenant, channel, actor=actor))

    @verb
    async def new_era(self, *, reason: str, actor: str) -> int:
        return await self._console.new_era(actor=actor, reason=reason)

    # --- who there is ---

    @verb
    async def apply(self, plan: Plan, *, dry_run: bool = False, actor: str) -> tuple[Change, ...]:
        applier = Applier(self._means.directory, self._means.vault, self._means.inbound, self._console)
        return await self._changed(await applier.apply(plan, actor=actor, dry_run=dry_run), dry_run=dry_run)

    @verb
    async def amend(self, wanted: Amendment, *, dry_run: bool = False, actor: str) -> tuple[Change, ...]:
        """A part of the directory; the rest stays."""
        applier = Applier(self._means.directory, self._means.vault, self._means.inbound, self._console)
        return await self._changed(await applier.amend(wanted, actor=actor, dry_run=dry_run), dry_run=dry_run)

    @verb
    async def listing(self) -> Listing:
        snapshot = await self._means.directory.snapshot()
        return Listing(
            silent=tuple(await silent_channels(self._means.console, snapshot, self._means.outbound)),
            tenants=tuple(sorted(snapshot.tenants.values(), key=lambda own: own.id)),
            endpoints=tuple(sorted(snapshot.endpoints.values(), key=lambda own: own.name)),
            channels=tuple(sorted(snapshot.channels.values(), key=lambda own: (own.tenant, own.name))),
        )

    async def _changed(self, changes: tuple[Change, ...], *, dry_run: bool) -> tuple[Change, ...]:
        if changes and not dry_run:
            await self._means.reopened()
            self._means.bell.ring(Ring.DIRECTORY)
            # A credential that was replaced may have let sends go on.
            self._means.bell.ring(Ring.SENDS)
        return changes

    @verb
    async def secret_set(self, tenant: TenantId, name: SecretName, plain: bytes, *, actor: str) -> bool:
        await self._check_tenant(tenant)
        changed = await self._means.vault.seal(tenant, name, plain, actor)
        if changed:
            await self._means.reopened()
            snapshot = await self._means.directory.snapshot()
            self._woken(await release_renewed(self._console, snapshot, {(tenant, name)}, actor=actor))
        return changed

    @verb
    async def secret_forget(self, tenant: TenantId, name: SecretName, *, actor: str) -> None:
        await self._means.vault.forget(tenant, name, actor)
        # It may be one that deliveries are verified with: from now on it verifies none.
        await self._means.reopened()

    @verb
    async def secrets(self, tenant: TenantId | None = None) -> tuple[tuple[TenantId, SecretName, str], ...]:
        """Names and fingerprints, of one tenant or of all."""
        snapshot = await self._means.directory.snapshot()
        owners = (PLATFORM, *sorted(snapshot.tenants)) if tenant is None else (tenant,)
        found: list[tuple[TenantId, SecretName, str]] = []
        for owner in owners:
            found.extend((owner, name, mark) for name, mark in await self._means.vault.names(owner))
        return tuple(found)

    @verb
    async def secret_owners(self) -> tuple[TenantId, ...]:
        """Whoever has secrets, or had some: each has a data key."""
        return await self._means.vault.owners()

    @verb
    async def secret_rotate(self, tenant: TenantId, *, actor: str) -> Rotated:
        """One tenant's data key: what takes long is asked for in parts."""
        return await self._means.vault.rotate(tenant, actor)

    @verb
    async def master_rotate(self, *, actor: str) -> Rotated:
        """A part of it: ask again for as long as something is left."""
        return await self._means.vault.rotate_master(actor)

    # --- finding ---

    async def _lane(self, lane: str, tenant: TenantId | None) -> tuple[TenantId, LaneId]:
        """A lane by its id or its key; of any tenant, if only one has it."""
        owners = [tenant] if tenant is not None else sorted((await self._means.directory.snapshot()).tenants)
        found: list[tuple[TenantId, LaneId]] = []
        for owner in owners:
            views, _ = await self._console.lane(owner, lane)
            found.extend(dict.fromkeys((owner, view.lane) for view in views))
        if not found:
            raise BadRequest(f"there is no lane {lane!r}: `procession lanes` shows those that have something to do")
        if len(found) > 1:
            where = ", ".join(f"{owner}: {own}" for owner, own in found[:_NAMED_MAX])
            raise BadRequest(f"several lanes are called {lane!r} ({where}): name the lane's id, and --tenant")
        return found[0]

    async def _tenant_of_event(self, event: EventId, tenant: TenantId | None) -> TenantId:
        if tenant is not None:
            return tenant
        owners = {view.tenant for view in await self._console.why(event)}
        return _only(owners, f"event {event}")

    async def _tenant_of_effect(self, effect: EffectId) -> TenantId:
        owners = {view.tenant for view in await self._console.why(effect)}
        return _only(owners, f"effect {effect}")

    async def _check_tenant(self, tenant: TenantId) -> None:
        snapshot: Snapshot = await self._means.directory.snapshot()
        if tenant not in snapshot.tenants:
            raise BadRequest(f"there is no tenant {tenant!r}: `procession apply` adds tenants")

    def _woken(self, changed: bool) -> bool:
        if changed:
            for ring in (Ring.TURNS, Ring.SENDS, Ring.UPKEEP):
                self._means.bell.ring(ring)
        return changed


_ASIDES_MAX = 1_000
"""Of one replay: more than that is replayed by asking again."""
_NAMED_MAX = 5


def _only(owners: set[TenantId], what: str) -> TenantId:
    if len(owners) == 1:
        return next(iter(owners))
    if not owners:
        raise BadRequest(f"there is no {what}")
    raise BadRequest(f"several tenants have {what}: name one by --tenant")
