"""Who there is: tenants, endpoints, channels. Read often, as one immutable snapshot; changed seldom, as a whole."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

from procession.core.ids import ChannelName, EndpointName, TenantId
from procession.ports.vault import SecretName

Setting = str | int | float | bool | tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    id: TenantId
    weight: int = 1
    """Its part of the turns when there are more ready lanes than slots, against the others' weights. 1 to 1,000."""
    lanes_max: int | None = None
    """Lanes held at once, over all workers. None: no bound of its own."""
    pool: str = ""
    active: bool = True
    """False: its deliveries are quarantined and nothing of it is claimed; nothing is lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A URL (`/hooks/{name}`) with one provider's verification."""

    name: EndpointName
    connector: str
    tenant: TenantId | None = None
    """None: of the platform; several tenants' channels may be bound to it."""
    signing: tuple[SecretName, ...] = ()
    """Several are valid at once, so that a secret can be changed without losing a delivery."""
    secrets: Mapping[str, SecretName] = field(default_factory=dict[str, SecretName])
    """Further ones, by field: what a handshake is checked against (`verify_token`)."""
    settings: Mapping[str, Setting] = field(default_factory=dict[str, Setting])
    """Of the connector: header names, pointers, tolerances. The connector checks them when they are applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """One tenant's account at a provider, bound to the endpoint that its deliveries come through."""

    tenant: TenantId
    name: ChannelName
    endpoint: EndpointName
    connector: str
    account: str = ""
    """How the signed body names it (`phone_number_id`); "" where the endpoint has a single channel."""
    secrets: Mapping[str, SecretName] = field(default_factory=dict[str, SecretName])
    settings: Mapping[str, Setting] = field(default_factory=dict[str, Setting])
    active: bool = True
    """False: its deliveries are quarantined; what it has unfinished is still played and sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectRule:
    """Events of these kinds are collected into one turn: what the application's `@app.on(…, collect=…)` declares."""

    kinds: tuple[str, ...]
    """Exact kinds, or a prefix ending in `*`."""
    quiet: timedelta
    wait_max: timedelta
    events_max: int
    flush_words: tuple[str, ...] = ()
    tenant: TenantId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The whole directory at one version."""

    version: int = 0
    tenants: Mapping[TenantId, Tenant] = field(default_factory=dict[TenantId, Tenant])
    endpoints: Mapping[EndpointName, Endpoint] = field(default_factory=dict[EndpointName, Endpoint])
    channels: Mapping[tuple[TenantId, ChannelName], Channel] = field(
        default_factory=dict[tuple[TenantId, ChannelName], Channel]
    )
    collects: tuple[CollectRule, ...] = ()

    def channels_of(self, endpoint: EndpointName) -> tuple[Channel, ...]:
        return tuple(channel for channel in self.channels.values() if channel.endpoint == endpoint)


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One line of a diff: what would be, or was, added (+), changed (~) or removed (-), or what that may cost (!)."""

    sign: str
    what: str
    """`tenant acme`, `endpoint hooks`, `channel acme/main`."""
    detail: str = ""


class Directory(Protocol):
    async def snapshot(self) -> Snapshot:
        """The newest version."""
        ...

    async def change(self, wanted: Snapshot, *, actor: str, dry_run: bool = False) -> tuple[Change, ...]:
        """Make the directory what `wanted` says (its version is ignored), in one write, audited; answer the
        differences.

        Y1. Nothing is removed that has unfinished events or effects: a removed tenant or channel becomes inactive
            instead.
        Y2. Applying the same again answers no change and writes nothing.
        """
        ...
