"""The product's own ingress over a store that keeps nothing: what reading, verifying and routing cost by themselves."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, cast

from procession.connectors.plain import PlainConnector
from procession.core.event import Acceptance, Intake, Placement
from procession.core.ids import ChannelName, EndpointName, TenantId
from procession.ingress.asgi import IngressApp
from procession.ingress.doors import Doors
from procession.ingress.receive import Receiver
from procession.ingress.server import HttpServer
from procession.ports.clock import Clock
from procession.ports.directory import Channel, Directory, Endpoint, Snapshot, Tenant
from procession.ports.store import Store
from procession.ports.vault import SecretName, Vault
from procession.runtime.bell import InnerBell
from procession.telemetry import QuietTelemetry
from procession.testing.bench.deliveries import ACCOUNTS, SECRET

_ENDPOINT: Final = EndpointName("bench")


class WallClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return 0.0


class KeepsNothing:
    async def accept(self, intake: Intake) -> Acceptance:
        placed = [Placement(event=new.id, fresh=True, seq=1) for new in intake.events]
        return Acceptance(placements=tuple(placed))


class OneDirectory:
    async def snapshot(self) -> Snapshot:
        tenants = {TenantId(account): Tenant(id=TenantId(account)) for account in ACCOUNTS}
        channels = {(TenantId(account), ChannelName("main")): _channel(account) for account in ACCOUNTS}
        endpoint = Endpoint(
            name=_ENDPOINT, connector="plain", signing=(SecretName("s"),), settings={"account": "/account"}
        )
        return Snapshot(version=1, tenants=tenants, endpoints={_ENDPOINT: endpoint}, channels=channels)


class OneSecret:
    async def open(self, _tenant: TenantId, _name: SecretName) -> bytes:
        return SECRET


def _channel(account: str) -> Channel:
    return Channel(
        tenant=TenantId(account),
        name=ChannelName("main"),
        endpoint=_ENDPOINT,
        connector="plain",
        account=account,
        settings={"id": "/id", "lane": "/who", "kind": "/kind", "text": "/text"},
    )


async def serve(announce: Callable[[int], None]) -> None:
    clock: Clock = WallClock()
    telemetry = QuietTelemetry(clock)
    connectors = {"plain": PlainConnector(clock)}
    # Of these ports nothing else is asked here.
    directory, vault = cast("Directory", OneDirectory()), cast("Vault", OneSecret())
    doors = Doors(directory, vault, connectors, telemetry)
    await doors.refresh()
    store = cast("Store", KeepsNothing())
    receiver = Receiver(store=store, doors=doors, bell=InnerBell(), telemetry=telemetry)
    await HttpServer(IngressApp(receiver, clock), host="127.0.0.1", port=0, on_listening=announce).run()
