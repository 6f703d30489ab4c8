"""Where effects go: the newest channels, each with the connector that speaks for it."""

from collections.abc import Mapping
from dataclasses import dataclass

from procession.core.ids import ChannelName, TenantId
from procession.ports.connector import Outbound
from procession.ports.directory import Channel, Directory, Snapshot
from procession.ports.vault import Vault


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlet:
    channel: Channel
    connector: Outbound


class Outlets:
    def __init__(self, directory: Directory, vault: Vault, connectors: Mapping[str, Outbound]) -> None:
        self._directory = directory
        self._vault = vault
        self._connectors = connectors
        self._snapshot = Snapshot()

    async def refresh(self) -> None:
        self._snapshot = await self._directory.snapshot()

    async def find(self, tenant: TenantId, channel: ChannelName) -> Outlet | None:
        """The outlet of a channel; one that is not known yet is looked for once in the newest directory."""
        found = self._snapshot.channels.get((tenant, channel))
        if found is None:
            await self.refresh()
            found = self._snapshot.channels.get((tenant, channel))
        connector = None if found is None else self._connectors.get(found.connector)
        return None if found is None or connector is None else Outlet(channel=found, connector=connector)

    async def secrets(self, channel: Channel) -> Mapping[str, bytes]:
        """The channel's own, opened for one call. Raises SecretMissing."""
        return {field: await self._vault.open(channel.tenant, name) for field, name in channel.secrets.items()}
