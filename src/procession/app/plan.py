"""A plan: what tenants, endpoints and channels there are to be, with the secrets that came along."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from procession.core.ids import ChannelName, EndpointName, TenantId
from procession.ports.directory import Channel, Endpoint, Setting, Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEndpoint:
    name: EndpointName
    connector: str
    tenant: TenantId | None = None
    signing: tuple[bytes, ...] = field(default=(), repr=False)
    secrets: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    settings: Mapping[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedChannel:
    tenant: TenantId
    name: ChannelName
    endpoint: EndpointName
    connector: str
    account: str = ""
    secrets: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    active: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The whole directory as it is to be: what is not in it is removed (or, with work left, becomes inactive)."""

    tenants: tuple[Tenant, ...] = ()
    endpoints: tuple[PlannedEndpoint, ...] = ()
    channels: tuple[PlannedChannel, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """A part of the directory as it is to be; everything else stays, also secrets that it does not name."""

    plan: Plan = Plan()
    removed: tuple[str, ...] = ()
    """`tenant acme`, `endpoint hooks`, `channel acme/main`: as a `Change` names them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Who there is."""

    tenants: tuple[Tenant, ...] = ()
    endpoints: tuple[Endpoint, ...] = ()
    channels: tuple[Channel, ...] = ()
    silent: tuple[str, ...] = ()
    """Channels (`acme/main`) that wait for statuses and have never shown one."""
