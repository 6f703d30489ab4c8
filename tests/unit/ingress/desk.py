"""A receiver over the reference store, with one plain endpoint of one tenant; and a way to post without sockets."""

from dataclasses import dataclass

from procession.connectors.plain import PlainConnector
from procession.core.errors import SecretMissing
from procession.core.ids import ChannelName, EndpointName, TenantId
from procession.ingress.asgi import IngressApp
from procession.ingress.doors import Doors
from procession.ingress.receive import Receiver
from procession.ports.connector import Delivery
from procession.ports.directory import Channel, CollectRule, Endpoint, Snapshot, Tenant
from procession.ports.store import Store
from procession.ports.vault import SecretName
from procession.storage.memory import MemoryStore
from procession.testing.stand_ins import ManualClock, NobodyListens, Notebook
from tests.unit.connectors.deliveries import NOW, SECRET, channel, endpoint


class OneSecret:
    """A vault with a single signing secret; none, where a test takes it away."""

    def __init__(self) -> None:
        self.plain: bytes | None = SECRET

    async def open(self, tenant: TenantId, name: SecretName) -> bytes:
        del tenant
        if self.plain is None:
            raise SecretMissing(name)
        return self.plain

    async def seal(self, tenant: TenantId, name: SecretName, plain: bytes, actor: str) -> bool:
        raise NotImplementedError

    async def forget(self, tenant: TenantId, name: SecretName, actor: str) -> None:
        raise NotImplementedError

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        raise NotImplementedError


@dataclass(slots=True, kw_only=True)
class Answered:
    status: int
    headers: dict[bytes, bytes]
    body: bytes


class Desk:
    def __init__(self, store: Store | None = None, **endpoint_settings: str) -> None:
        self.clock = ManualClock(NOW)
        self.memory = MemoryStore(clock=self.clock)
        self.vault = OneSecret()
        self.notebook = Notebook()
        self.snapshot = Snapshot(
            tenants={TenantId("acme"): Tenant(id=TenantId("acme"))},
            endpoints=_by_name(endpoint(**endpoint_settings)),
            channels=_by_key(channel()),
        )
        self.doors = Doors(self.memory.directory, self.vault, {"plain": PlainConnector(self.clock)}, self.notebook)
        receiver = Receiver(store=store or self.memory, doors=self.doors, bell=NobodyListens(), telemetry=self.notebook)
        self.app = IngressApp(receiver, self.clock)

    async def open(self, *collects: CollectRule, **changes: object) -> "Desk":
        from dataclasses import replace

        wanted = replace(self.snapshot, collects=collects, **changes)  # type: ignore[arg-type]  # a test's own fields
        await self.memory.directory.change(wanted, actor="tester")
        await self.doors.refresh()
        return self

    async def post(self, delivery: Delivery, path: str | None = None) -> Answered:
        sent: list[dict[str, object]] = []
        scope: dict[str, object] = {
            "type": "http",
            "method": delivery.method,
            "path": path or delivery.path,
            "query_string": b"",
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in delivery.headers],
        }

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": delivery.body}

        async def send(event: object) -> None:
            assert isinstance(event, dict)
            sent.append(event)

        await self.app(scope, receive, send)
        start, end = sent
        headers, status, body = start["headers"], start["status"], end["body"]
        assert isinstance(headers, list)
        assert isinstance(status, int)
        assert isinstance(body, bytes)
        return Answered(status=status, headers=dict(headers), body=body)


def _by_name(only: Endpoint) -> dict[EndpointName, Endpoint]:
    return {only.name: only}


def _by_key(only: Channel) -> dict[tuple[TenantId, ChannelName], Channel]:
    return {(only.tenant, only.name): only}
