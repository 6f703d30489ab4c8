"""What a node is handed in place of the world: its vault, replies, threads and log."""

from collections.abc import Callable, Mapping
from typing import Final, TypeVar

from procession.core.errors import BadRequest, SecretMissing
from procession.core.ids import ChannelName, EventId, TenantId
from procession.ports.connector import Outbound, Whom
from procession.ports.directory import Snapshot
from procession.ports.replies import Asked
from procession.ports.vault import SecretName
from procession.runtime import document
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.history import History
from procession.testing.simulation.nodes import Node

T = TypeVar("T")

_OURS: Final = frozenset(
    {"loop.failed", "turn.broken", "outbox.failed", "ingress.parse_failed", "outbox.connector_failed"}
)
"""What is said when our own code fails. In a simulated world nothing else fails, so each is a bug."""


class SimulatedVault:
    """Opens what the world's shape has put in."""

    def __init__(self, secrets: Mapping[tuple[TenantId, SecretName], bytes]) -> None:
        self._secrets = secrets

    async def open(self, tenant: TenantId, name: SecretName) -> bytes:
        await sleep(0.0005)
        if (tenant, name) not in self._secrets:
            raise SecretMissing(f"{tenant} has no secret {name}")
        return self._secrets[tenant, name]

    async def open_for(self, tenant: TenantId, name: SecretName, turn: EventId) -> bytes:
        del turn
        return await self.open(tenant, name)

    async def seal(self, tenant: TenantId, name: SecretName, plain: bytes, actor: str) -> bool:
        raise NotImplementedError(f"{actor} seals {name} of {tenant}: {len(plain)} bytes")

    async def forget(self, tenant: TenantId, name: SecretName, actor: str) -> None:
        raise NotImplementedError(f"{actor} forgets {name} of {tenant}")

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        return tuple((name, "") for own, name in self._secrets if own == tenant)


class SimulatedReplies:
    """What each connector makes of a reply, by the directory that the world was set up with."""

    def __init__(self, snapshot: Snapshot, connectors: Mapping[str, Outbound]) -> None:
        self._snapshot = snapshot
        self._connectors = connectors

    def ask(self, tenant: TenantId, channel: ChannelName, whom: Whom, action: str | None, value: object) -> Asked:
        found = self._snapshot.channels.get((tenant, channel))
        if found is None:
            raise BadRequest(f"{tenant} has no channel {channel}")
        connector = self._connectors[found.connector]
        shaped = connector.shape(found, whom, action, value)
        payload = document.encode(shaped.value, "a reply", 100_000)
        connector.check_payload(shaped.action, payload)
        terms = connector.terms(found.settings, shaped.action)
        return Asked(action=shaped.action, payload=payload, terms=terms, aliases=shaped.aliases)


class InlineThreads:
    """Plain functions, called where they stand: they do not wait for anything here."""

    async def run(self, call: Callable[[], T]) -> T:
        await sleep(0.001)
        return call()


class Witness:
    """Telemetry of a node. What it says about our own failures is a violation."""

    def __init__(self, node: Node, history: History) -> None:
        self._node = node
        self._history = history

    def count(self, name: str, amount: int = 1, *, tenant: str = "") -> None:
        """Nobody reads it."""

    def note(self, what: str, /, **fields: str | float | bool | None) -> None:
        """Likewise."""

    def warn(self, what: str, /, **fields: str | float | bool | None) -> None:
        if self._node.dead:
            return
        if what in _OURS:
            words = ", ".join(f"{name}={value}" for name, value in fields.items())
            self._history.fail("E", f"{what} in {self._node!r}: {words}")
