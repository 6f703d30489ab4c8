"""The directory as this process has last seen it.

Whoever reads the directory here (the doors, the outlets, a command) leaves what it read behind, so that those who
cannot wait (a handler's reply, the claiming of turns) never know less than the others: a channel whose event has been
accepted in this process can be replied to.
"""

from procession.core.ids import TenantId
from procession.ports.directory import Change, Directory, Snapshot


class SeenDirectory:
    """Implements `ports.directory.Directory` over that of the store."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self.newest = Snapshot()

    async def snapshot(self) -> Snapshot:
        found = await self._directory.snapshot()
        # Two reads may come back in the other order than they were sent.
        if found.version >= self.newest.version:
            self.newest = found
        return found

    async def change(self, wanted: Snapshot, *, actor: str, dry_run: bool = False) -> tuple[Change, ...]:
        changes = await self._directory.change(wanted, actor=actor, dry_run=dry_run)
        if changes and not dry_run:
            await self.snapshot()
        return changes

    def has_share(self, tenant: TenantId) -> bool:
        found = self.newest.tenants.get(tenant)
        return found is not None and found.lanes_max is not None
