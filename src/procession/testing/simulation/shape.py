"""The shape of a world: everything about it that does not change while it runs, drawn from its seed."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final

from procession.core.ids import ChannelName, EndpointName, TenantId
from procession.ports.directory import Channel, CollectRule, Endpoint, Setting, Snapshot, Tenant
from procession.ports.vault import PLATFORM, SecretName
from procession.testing.simulation.chance import SeededChance

HOOKS: Final = EndpointName("hooks")
"""The platform's endpoint of the plain connector: channels of all tenants."""
TALK: Final = EndpointName("talk")
"""The platform's endpoint of the messenger: events and statuses."""
ELEMENTS: Final = "/items"

SHOP: Final = ChannelName("shop")
"""Plain, without an order of its own; sends by `http`, which drops repeats."""
CHAT: Final = ChannelName("chat")
"""Of the messenger: sends that are UNSAFE, PROBED or KEYED."""
NUMBERED: Final = ChannelName("numbered")
VERSIONED: Final = ChannelName("versioned")
TIMED: Final = ChannelName("timed")

ORDER_WINDOW: Final = 3.0
QUIET: Final = timedelta(seconds=1.5)
WAIT_MAX: Final = timedelta(seconds=5)
COLLECTED_MAX: Final = 4
FLUSH_WORD: Final = "send"


class StoreKind(StrEnum):
    MEMORY = "memory"
    """A server that all nodes call over a network: the reference store."""
    SQLITE = "sqlite"
    """The same server, with the SQLite store in it: several holders over one ledger, so that its fences are tried."""
    EMBEDDED = "embedded"
    """SQLite as it is shipped: within the one engine process, whose death takes the open transaction along."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    seed: int
    store: StoreKind
    nodes: int
    lease_ttl: timedelta
    slots: int
    sends: int
    events: int
    """Unique events that the workload posts."""
    spread: float
    """Seconds of virtual time over which they come."""
    tenants: Mapping[TenantId, Tenant]
    snapshot: Snapshot
    secrets: Mapping[tuple[TenantId, SecretName], bytes]
    trouble: float
    """How much goes wrong, from 0 to 1: a world in which everything fails shows as little as one in which nothing does.
    """
    has_new_era: bool


def draw_shape(seed: int, chance: SeededChance, store: StoreKind | None = None) -> Shape:
    kind = store or _store_of(seed)
    tenants = _tenants(chance)
    snapshot, secrets = _directory(tenants, chance)
    return Shape(
        seed=seed,
        store=kind,
        nodes=1 if kind is StoreKind.EMBEDDED else chance.pick((1, 2, 2, 3)),
        lease_ttl=timedelta(seconds=chance.pick((3, 4, 6))),
        slots=chance.pick((3, 8, 32)),
        sends=chance.pick((3, 8, 32)),
        events=204 + chance.below(16),
        spread=chance.uniform(14, 30),
        tenants=tenants,
        snapshot=snapshot,
        secrets=secrets,
        trouble=chance.pick((0.15, 0.5, 1.0)),
        has_new_era=chance.happens(0.06),
    )


def _store_of(seed: int) -> StoreKind:
    return (StoreKind.MEMORY, StoreKind.EMBEDDED, StoreKind.MEMORY, StoreKind.SQLITE)[seed % 4]


def _tenants(chance: SeededChance) -> dict[TenantId, Tenant]:
    names = ("acme", "bright", "corner")[: chance.pick((1, 2, 2, 3))]
    return {
        TenantId(name): Tenant(
            id=TenantId(name), weight=chance.pick((1, 1, 2, 5)), lanes_max=chance.pick((None, None, 1, 3))
        )
        for name in names
    }


def canary(tenant: TenantId) -> str:
    """Stands in every body and secret of the tenant, and nowhere else."""
    return f"canary-of-{tenant}"


def own_endpoint(tenant: TenantId) -> EndpointName:
    return EndpointName(f"own-{tenant}")


def account(tenant: TenantId, channel: ChannelName) -> str:
    return f"{tenant}.{channel}"


def _directory(
    tenants: Mapping[TenantId, Tenant], chance: SeededChance
) -> tuple[Snapshot, dict[tuple[TenantId, SecretName], bytes]]:
    secrets: dict[tuple[TenantId, SecretName], bytes] = {}
    endpoints: dict[EndpointName, Endpoint] = {}
    channels: dict[tuple[TenantId, ChannelName], Channel] = {}

    def endpoint(name: EndpointName, connector: str, tenant: TenantId | None) -> None:
        signing = (SecretName(f"endpoint/{name}/signing/0"), SecretName(f"endpoint/{name}/signing/1"))
        endpoints[name] = Endpoint(
            name=name,
            connector=connector,
            tenant=tenant,
            signing=signing,
            settings={"elements": ELEMENTS, "account": "/account"},
        )
        owner = tenant if tenant is not None else PLATFORM
        for number, secret in enumerate(signing):
            secrets[owner, secret] = f"{name} signs with {number} {canary(owner)} and more".encode()

    endpoint(HOOKS, "plain", None)
    endpoint(TALK, "messenger", None)
    for tenant in tenants:
        endpoint(own_endpoint(tenant), "plain", tenant)
        for name in (SHOP, CHAT, NUMBERED, VERSIONED, TIMED):
            connector = "messenger" if name == CHAT else "plain"
            field = "token" if name == CHAT else "signing"
            secret = SecretName(f"channel/{name}/{field}")
            secrets[tenant, secret] = f"{canary(tenant)} for {name} only, long enough".encode()
            plain = own_endpoint(tenant) if chance.happens(0.4) else HOOKS
            channels[tenant, name] = Channel(
                tenant=tenant,
                name=name,
                endpoint=TALK if name == CHAT else plain,
                connector=connector,
                account=account(tenant, name),
                secrets={field: secret},
                settings=_settings(tenant, name, chance),
            )
    snapshot = Snapshot(
        tenants=dict(tenants), endpoints=endpoints, channels=channels, collects=(_collect_rule(),), version=0
    )
    return snapshot, secrets


def _collect_rule() -> CollectRule:
    return CollectRule(
        kinds=("chat.*",), quiet=QUIET, wait_max=WAIT_MAX, events_max=COLLECTED_MAX, flush_words=(FLUSH_WORD,)
    )


def _settings(tenant: TenantId, name: ChannelName, chance: SeededChance) -> dict[str, Setting]:
    found: dict[str, Setting] = {
        "id": "/id",
        "lane": "/lane",
        "kind": "/kind",
        "text": "/text",
        "time": "/at",
        "tries_max": chance.pick((20, 20, 4)),
        "on_refused": chance.pick(("continue", "continue", "park")),
        "url": f"https://{tenant}.test/{name}",
        "timeout": chance.pick((1.0, 3.0)),
    }
    if name == CHAT:
        found |= {
            "gate": chance.pick(("accepted", "accepted", "delivered")),
            "gate_wait": chance.pick((1.0, 4.0)),
            "gate_gap": chance.pick((0, 0, 0.5)),
            "doubt_policy": chance.pick(("park", "park", "resend", "skip")),
            "doubt_wait": chance.pick((2.0, 6.0)),
            "resends_max": chance.pick((1, 3)),
        }
    if name in (NUMBERED, VERSIONED, TIMED):
        found |= {
            "order": "/at" if name == TIMED else "/n",
            "order_by": {NUMBERED: "number", VERSIONED: "version", TIMED: "time"}[name],
            "order_window": chance.pick((ORDER_WINDOW, ORDER_WINDOW, 0.0)) if name != NUMBERED else ORDER_WINDOW,
            "order_stale": chance.pick(("late", "drop")),
        }
        if name == NUMBERED and chance.happens(0.5):
            found["order_first"] = 1
    return found
