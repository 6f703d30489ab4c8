"""Makes the directory what a plan says: everything is checked first, then secrets are sealed, then it changes at once.

A signing secret keeps its name for as long as it is the same bytes, and a new one gets a new name: so a changed secret
is a changed endpoint, every process that follows the directory opens its door anew, and the old secret is forgotten
only when no door names it any more. A crash in between leaves a sealed secret that nobody names, and nothing else.
"""

import hmac
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from procession.app.costs import costs_of
from procession.app.plan import Amendment, Plan, PlannedChannel, PlannedEndpoint
from procession.app.releasing import release_renewed
from procession.core.errors import Misconfigured, SecretMissing
from procession.core.ids import EndpointName, TenantId
from procession.core.limits import SECRET_BYTES_MIN
from procession.ports.connector import Inbound
from procession.ports.console import Console
from procession.ports.directory import Change, Channel, Directory, Endpoint, Snapshot
from procession.ports.vault import PLATFORM, SecretName, Vault

Owned = tuple[TenantId, SecretName]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A plan against what there is: the directory to be, and the secrets that have to be sealed for it."""

    snapshot: Snapshot
    seals: Mapping[Owned, bytes]
    changes: tuple[Change, ...]
    """Of secrets only; never a value."""


class Applier:
    def __init__(self, directory: Directory, vault: Vault, connectors: Mapping[str, Inbound], console: Console) -> None:
        self._directory = directory
        self._vault = vault
        self._connectors = connectors
        self._console = console

    async def apply(self, plan: Plan, *, actor: str, dry_run: bool, keeps: bool = False) -> tuple[Change, ...]:
        """The differences, then those of secrets, then what they may cost. With `keeps`, secrets that the plan does not
        name stay.
        """
        check(plan, self._connectors)
        current = await self._directory.snapshot()
        wanted = await self._wanted(current, plan, keeps=keeps)
        costs = tuple(costs_of(current, wanted.snapshot))
        if dry_run:
            return (*await self._directory.change(wanted.snapshot, actor=actor, dry_run=True), *wanted.changes, *costs)
        for (tenant, name), plain in wanted.seals.items():
            await self._vault.seal(tenant, name, plain, actor)
        changes = await self._directory.change(wanted.snapshot, actor=actor)
        await self._forget(current, actor)
        await release_renewed(self._console, wanted.snapshot, wanted.seals.keys(), actor=actor)
        return (*changes, *wanted.changes, *costs)

    async def amend(self, wanted: Amendment, *, actor: str, dry_run: bool) -> tuple[Change, ...]:
        """Change a part, and leave everything else as it is."""
        current = await self._directory.snapshot()
        return await self.apply(amended(current, wanted), actor=actor, dry_run=dry_run, keeps=True)

    async def _wanted(self, current: Snapshot, plan: Plan, *, keeps: bool) -> Wanted:
        seals: dict[Owned, bytes] = {}
        changes: list[Change] = []
        endpoints: dict[EndpointName, Endpoint] = {}
        for planned in plan.endpoints:
            endpoint = await self._endpoint(current.endpoints.get(planned.name), planned, seals, changes, keeps=keeps)
            endpoints[planned.name] = endpoint
        channels = [await self._channel(current, planned, seals, changes, keeps=keeps) for planned in plan.channels]
        return Wanted(
            snapshot=Snapshot(
                tenants={tenant.id: tenant for tenant in plan.tenants},
                endpoints=endpoints,
                channels={(channel.tenant, channel.name): channel for channel in channels},
                collects=current.collects,
            ),
            seals=seals,
            changes=tuple(changes),
        )

    async def _endpoint(
        self,
        there: Endpoint | None,
        planned: PlannedEndpoint,
        seals: dict[Owned, bytes],
        changes: list[Change],
        *,
        keeps: bool,
    ) -> Endpoint:
        owner = owner_of(planned.tenant)
        kept = there.signing if there is not None and owner_of(there.tenant) == owner else ()
        opened = {name: await self._opened(owner, name) for name in kept}
        prefix = f"endpoint/{planned.name}/signing/"
        number = await self._newest(owner, prefix)
        names: list[SecretName] = []
        for plain in planned.signing:
            same = next((name for name, own in opened.items() if own is not None and _is_same(own, plain)), None)
            if same is None:
                number += 1
                same = SecretName(f"{prefix}{number}")
                seals[owner, same] = plain
                opened[same] = plain
                changes.append(Change(sign="+", what=f"secret {same}"))
            names.append(same)
        if keeps and not planned.signing:
            names = list(kept)
        changes.extend(Change(sign="-", what=f"secret {name}") for name in kept if name not in names)
        there_secrets = there.secrets if there is not None and owner_of(there.tenant) == owner else {}
        return Endpoint(
            name=planned.name,
            connector=planned.connector,
            tenant=planned.tenant,
            signing=tuple(dict.fromkeys(names)),
            secrets=await self._sealed(
                owner, f"endpoint/{planned.name}", planned.secrets, there_secrets, seals, changes, keeps=keeps
            ),
            settings=dict(planned.settings),
        )

    async def _channel(
        self,
        current: Snapshot,
        planned: PlannedChannel,
        seals: dict[Owned, bytes],
        changes: list[Change],
        *,
        keeps: bool,
    ) -> Channel:
        there = current.channels.get((planned.tenant, planned.name))
        kept = {} if there is None else there.secrets
        prefix = f"channel/{planned.name}"
        names = await self._sealed(planned.tenant, prefix, planned.secrets, kept, seals, changes, keeps=keeps)
        return Channel(
            tenant=planned.tenant,
            name=planned.name,
            endpoint=planned.endpoint,
            connector=planned.connector,
            account=planned.account,
            secrets=names,
            settings=dict(planned.settings),
            active=planned.active,
        )

    async def _sealed(
        self,
        owner: TenantId,
        prefix: str,
        planned: Mapping[str, bytes],
        kept: Mapping[str, SecretName],
        seals: dict[Owned, bytes],
        changes: list[Change],
        *,
        keeps: bool,
    ) -> Mapping[str, SecretName]:
        """One secret a field, under a name that stays: a new value replaces the old one."""
        whose = f"{owner}: " if owner else ""
        names = {field: SecretName(f"{prefix}/{field}") for field in planned}
        for field, plain in planned.items():
            opened = await self._opened(owner, kept[field]) if field in kept else None
            if opened is None or not _is_same(opened, plain):
                seals[owner, names[field]] = plain
                sign = "~" if field in kept else "+"
                changes.append(Change(sign=sign, what=f"secret {whose}{names[field]}"))
        if keeps:
            return {**kept, **names}
        changes.extend(
            Change(sign="-", what=f"secret {whose}{name}") for field, name in kept.items() if field not in names
        )
        return names

    async def _opened(self, owner: TenantId, name: SecretName) -> bytes | None:
        try:
            return await self._vault.open(owner, name)
        except SecretMissing:
            return None

    async def _newest(self, owner: TenantId, prefix: str) -> int:
        numbers = [name.removeprefix(prefix) for name, _ in await self._vault.names(owner) if name.startswith(prefix)]
        return max((int(number) for number in numbers if number.isdecimal()), default=0)

    async def _forget(self, before: Snapshot, actor: str) -> None:
        """What the directory named before and does not name now; a channel with work left is still there."""
        for tenant, name in named(before) - named(await self._directory.snapshot()):
            await self._vault.forget(tenant, name, actor)


def owner_of(tenant: TenantId | None) -> TenantId:
    return PLATFORM if tenant is None else tenant


def named(snapshot: Snapshot) -> set[Owned]:
    """All secrets that the directory needs."""
    found = {
        (owner_of(endpoint.tenant), name)
        for endpoint in snapshot.endpoints.values()
        for name in (*endpoint.signing, *endpoint.secrets.values())
    }
    found |= {(channel.tenant, name) for channel in snapshot.channels.values() for name in channel.secrets.values()}
    return found


def _is_same(one: bytes, other: bytes) -> bool:
    return hmac.compare_digest(one, other)


# --- a part ---


def amended(current: Snapshot, wanted: Amendment) -> Plan:
    """The whole plan that an amendment of the present directory is. `Misconfigured` names what is not there."""
    part = wanted.plan
    tenants = {tenant.id: tenant for tenant in (*current.tenants.values(), *part.tenants)}
    endpoints = {name: _planned_endpoint(own) for name, own in current.endpoints.items()}
    endpoints |= {planned.name: planned for planned in part.endpoints}
    channels = {(own.tenant, own.name): _planned_channel(own) for own in current.channels.values()}
    channels |= {(planned.tenant, planned.name): planned for planned in part.channels}
    there: dict[str, Callable[[], object]] = {
        **{f"tenant {name}": partial(tenants.pop, name) for name in tenants},
        **{f"endpoint {name}": partial(endpoints.pop, name) for name in endpoints},
        **{f"channel {key[0]}/{key[1]}": partial(channels.pop, key) for key in channels},
    }
    for what in wanted.removed:
        if what not in there:
            raise Misconfigured(f"there is no {what}")
        there[what]()
    return Plan(tenants=tuple(tenants.values()), endpoints=tuple(endpoints.values()), channels=tuple(channels.values()))


def _planned_endpoint(own: Endpoint) -> PlannedEndpoint:
    return PlannedEndpoint(name=own.name, connector=own.connector, tenant=own.tenant, settings=own.settings)


def _planned_channel(own: Channel) -> PlannedChannel:
    return PlannedChannel(
        tenant=own.tenant,
        name=own.name,
        endpoint=own.endpoint,
        connector=own.connector,
        account=own.account,
        settings=own.settings,
        active=own.active,
    )


# --- checking ---


def check(plan: Plan, connectors: Mapping[str, Inbound]) -> None:
    """`Misconfigured`, before anything is written."""
    for endpoint in plan.endpoints:
        _check_endpoint(plan, endpoint, connectors)
    for channel in plan.channels:
        _check_channel(plan, channel, connectors)
    _check_accounts(plan)


def _check_endpoint(plan: Plan, endpoint: PlannedEndpoint, connectors: Mapping[str, Inbound]) -> None:
    where = f"endpoint {endpoint.name}"
    connector = _connector(where, endpoint.connector, connectors)
    if endpoint.tenant is not None and endpoint.tenant not in {tenant.id for tenant in plan.tenants}:
        raise Misconfigured(f"{where}: there is no tenant {endpoint.tenant!r}: add a [[tenant]]")
    for number, secret in enumerate(endpoint.signing, 1):
        if len(secret) < SECRET_BYTES_MIN:
            raise Misconfigured(f"{where}: signing {number} has {len(secret)} bytes: at least {SECRET_BYTES_MIN}")
    _with_place(where, lambda: connector.check_endpoint(endpoint.settings))


def _check_channel(plan: Plan, channel: PlannedChannel, connectors: Mapping[str, Inbound]) -> None:
    where = f"channel {channel.tenant}/{channel.name}"
    connector = _connector(where, channel.connector, connectors)
    if channel.tenant not in {tenant.id for tenant in plan.tenants}:
        raise Misconfigured(f"{where}: there is no tenant {channel.tenant!r}: add a [[tenant]]")
    endpoint = next((own for own in plan.endpoints if own.name == channel.endpoint), None)
    if endpoint is None:
        raise Misconfigured(f"{where}: there is no endpoint {channel.endpoint!r}: add an [[endpoint]]")
    if endpoint.tenant not in (None, channel.tenant):
        # One tenant's own application must not speak for another's account.
        raise Misconfigured(f"{where}: endpoint {endpoint.name} belongs to tenant {endpoint.tenant}")
    if endpoint.connector != channel.connector:
        raise Misconfigured(f"{where}: endpoint {endpoint.name} speaks {endpoint.connector}, not {channel.connector}")
    _with_place(where, lambda: connector.check_channel(channel.settings))


def _check_accounts(plan: Plan) -> None:
    seen: dict[tuple[EndpointName, str], PlannedChannel] = {}
    for channel in plan.channels:
        key = (channel.endpoint, channel.account)
        if channel.active and key in seen:
            other = seen[key]
            raise Misconfigured(
                f"channels {other.tenant}/{other.name} and {channel.tenant}/{channel.name} of endpoint "
                f"{channel.endpoint} have the same account: give each its own `account`, and the endpoint's `account` "
                "setting the place where a delivery names it"
            )
        if channel.active:
            seen[key] = channel


def _connector(where: str, name: str, connectors: Mapping[str, Inbound]) -> Inbound:
    if name not in connectors:
        raise Misconfigured(f"{where}: there is no connector {name!r}; there are: {', '.join(sorted(connectors))}")
    return connectors[name]


def _with_place(where: str, checking: Callable[[], None]) -> None:
    try:
        checking()
    except Misconfigured as error:
        raise Misconfigured(f"{where}: {error}") from None
