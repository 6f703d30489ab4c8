"""A desk over the reference store, with real connectors and a real vault: what a command or an engine has."""

from collections.abc import Mapping
from pathlib import Path

from procession.app.config import load
from procession.app.desk import Desk
from procession.app.plan import Plan, PlannedChannel, PlannedEndpoint
from procession.app.wiring import World, desk_of, open_world
from procession.core.ids import ChannelName, EndpointName, TenantId
from procession.ports.directory import Setting, Tenant

ACME = TenantId("acme")
SHOP = EndpointName("shop")
SECRET = b"a-signing-secret-of-the-shop"
OTHER = b"another-signing-secret-of-it"
FIELDS: dict[str, Setting] = {"id": "/id", "lane": "/who", "kind": "=text", "url": "https://shop.example/in"}


async def world_in_memory() -> World:
    return await open_world(load({"store": "memory:", "log": "silent"}, folder=Path("nowhere"), environment={}))


async def scene() -> tuple[World, Desk]:
    world = await world_in_memory()
    return world, desk_of(world)


def plan(
    *,
    signing: tuple[bytes, ...] = (SECRET,),
    sending: bytes | None = None,
    endpoint: Mapping[str, Setting] | None = None,
    channel: Mapping[str, Setting] | None = None,
    tenants: tuple[Tenant, ...] = (Tenant(id=ACME),),
) -> Plan:
    return Plan(
        tenants=tenants,
        endpoints=(PlannedEndpoint(name=SHOP, connector="plain", signing=signing, settings=endpoint or {}),),
        channels=(
            PlannedChannel(
                tenant=ACME,
                name=ChannelName("shop"),
                endpoint=SHOP,
                connector="plain",
                secrets={} if sending is None else {"signing": sending},
                settings=channel or FIELDS,
            ),
        ),
    )
