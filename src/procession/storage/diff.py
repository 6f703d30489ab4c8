"""What applying a directory changes: the same differences, in the same words, from every store."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import fields, replace
from typing import TypeVar

from procession.core.ids import ChannelName, TenantId
from procession.ports.directory import Change, Channel, Endpoint, Snapshot, Tenant

K = TypeVar("K", bound=str)
V = TypeVar("V", Tenant, Endpoint, Channel)


def merged(
    current: Snapshot, wanted: Snapshot, busy: AbstractSet[tuple[TenantId, ChannelName]]
) -> tuple[Snapshot, tuple[Change, ...]]:
    """The directory after `wanted` was applied, and the differences; the same version if there are none.

    `busy` are the channels that have unfinished events or effects: left out of `wanted`, they become inactive instead.
    """
    channels = dict(wanted.channels)
    for key, channel in current.channels.items():
        if key not in channels and key in busy:
            channels[key] = replace(channel, active=False)
    kept_tenants = {tenant for tenant, _ in channels}
    kept_endpoints = {channel.endpoint for channel in channels.values()}
    tenants = dict(wanted.tenants)
    for tenant, settings in current.tenants.items():
        if tenant not in tenants and tenant in kept_tenants:
            tenants[tenant] = replace(settings, active=False)
    endpoints = dict(wanted.endpoints)
    for name, endpoint in current.endpoints.items():
        if name not in endpoints and name in kept_endpoints:
            endpoints[name] = endpoint
    changes = (
        *_differences("tenant", current.tenants, tenants),
        *_differences("endpoint", current.endpoints, endpoints),
        *_differences("channel", _named(current.channels), _named(channels)),
        *_collects(current, wanted),
    )
    if not changes:
        return current, ()
    return (
        Snapshot(
            version=current.version + 1,
            tenants=tenants,
            endpoints=endpoints,
            channels=channels,
            collects=wanted.collects,
        ),
        changes,
    )


def _named(channels: Mapping[tuple[TenantId, ChannelName], Channel]) -> dict[str, Channel]:
    return {f"{tenant}/{name}": channel for (tenant, name), channel in channels.items()}


def _differences(what: str, before: Mapping[K, V], after: Mapping[K, V]) -> list[Change]:
    changes = [Change(sign="+", what=f"{what} {key}") for key in sorted(after.keys() - before.keys())]
    for key in sorted(after.keys() & before.keys()):
        detail = _detail(before[key], after[key])
        if detail:
            changes.append(Change(sign="~", what=f"{what} {key}", detail=detail))
    changes.extend(Change(sign="-", what=f"{what} {key}") for key in sorted(before.keys() - after.keys()))
    return changes


def _detail(before: Tenant | Endpoint | Channel, after: Tenant | Endpoint | Channel) -> str:
    names = [field.name for field in fields(before) if getattr(before, field.name) != getattr(after, field.name)]
    return ", ".join(f"{name}: {getattr(before, name)!r} -> {getattr(after, name)!r}" for name in names)


def _collects(current: Snapshot, wanted: Snapshot) -> list[Change]:
    if current.collects == wanted.collects:
        return []
    return [Change(sign="~", what="collect rules", detail=f"{len(current.collects)} -> {len(wanted.collects)}")]
