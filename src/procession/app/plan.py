"""A plan: what tenants, endpoints and channels there are to be, with the secrets that came along."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from procession.core.ids import ChannelName, EndpointName, TenantId
from procession.ports.directory import Setting, Tenant


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEndpoint:
    name: EndpointName
    connector: str
    tenant: TenantId | None = None
    signing: tuple[bytes, ...] = field(default=(), repr=False)
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
