"""A credential that was replaced ends what its provider's refusal of the old one has held back."""

from collections.abc import Collection

from procession.core.ids import TenantId
from procession.ports.console import Console
from procession.ports.directory import Snapshot
from procession.ports.vault import SecretName


async def release_renewed(
    console: Console, snapshot: Snapshot, sealed: Collection[tuple[TenantId, SecretName]], *, actor: str
) -> bool:
    """Release the channels that these secrets are of, and their tenants, as far as they are held back until somebody
    acts: this is the act. A back-off that ends by itself is none of it. False: nothing was.
    """
    released = False
    for channel in snapshot.channels.values():
        if any((channel.tenant, name) in sealed for name in channel.secrets.values()):
            for halt in await console.halts(channel.tenant):
                if halt.until is None and halt.channel in (None, channel.name):
                    released |= await console.release(channel.tenant, halt.channel, actor=actor)
    return released
