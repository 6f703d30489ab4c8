"""Files of channels: finds the channel and its connector, and opens its credential for the one call."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from procession.app.seen import SeenDirectory
from procession.core.errors import BadRequest, FileFailed, Misconfigured, SecretMissing, StoreError
from procession.core.limits import FILE_BYTES_MAX
from procession.ports.connector import FileCall, KeepsFiles
from procession.ports.directory import Channel
from procession.ports.files import Errand, File
from procession.ports.vault import Vault
from procession.ports.wire import WirePort

T = TypeVar("T")


class ChannelFiles:
    """Implements `ports.files.Files`."""

    def __init__(
        self, directory: SeenDirectory, vault: Vault, connectors: Mapping[str, KeepsFiles], wire: WirePort
    ) -> None:
        self._directory = directory
        self._vault = vault
        self._connectors = connectors
        self._wire = wire

    async def upload(self, errand: Errand, file: File) -> str:
        if len(file.content) > FILE_BYTES_MAX:
            raise BadRequest(f"a file of {len(file.content):,} bytes; at most {FILE_BYTES_MAX:,} are uploaded")
        return await self._called(errand, lambda own, call: own.upload(call, file, self._wire))

    async def download(self, errand: Errand, file_id: str) -> bytes:
        return await self._called(errand, lambda own, call: own.download(call, file_id, self._wire))

    async def _called(self, errand: Errand, calling: Callable[[KeepsFiles, FileCall], Awaitable[T]]) -> T:
        channel = self._directory.newest.channels.get((errand.tenant, errand.channel))
        if channel is None:
            raise BadRequest(f"tenant {errand.tenant} has no channel {errand.channel!r}")
        connector = self._connectors.get(channel.connector)
        if connector is None:
            raise BadRequest(f"channel {channel.name!r} speaks {channel.connector}, which keeps no files")
        call = FileCall(
            channel=channel,
            secrets=await self._secrets(channel),
            deadline=errand.deadline,
            may_begin=errand.may_begin,
        )
        return await calling(connector, call)

    async def _secrets(self, channel: Channel) -> Mapping[str, bytes]:
        try:
            return {field: await self._vault.open(channel.tenant, name) for field, name in channel.secrets.items()}
        except (SecretMissing, Misconfigured, StoreError) as error:
            # Whose trouble it is, the log and `doctor` say; a handler is told no more than that.
            raise FileFailed(f"a secret of channel {channel.name} cannot be opened: {type(error).__name__}") from None
