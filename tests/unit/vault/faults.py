"""Rows that stop a rotation between any two of its steps, and rows that let another step in between."""

from collections.abc import Awaitable, Callable

from procession.core.ids import TenantId
from procession.ports.vault import Found, Sealed, SealedRows, SecretName, WrappedKey


class Stopped(BaseException):
    """The process is gone: nothing that catches errors may go on."""


class SteppedRows:
    """`ports.vault.SealedRows` that calls `step` before and after each of its operations."""

    def __init__(self, rows: SealedRows, step: Callable[[], Awaitable[None]]) -> None:
        self._rows = rows
        self._step = step

    async def find(self, tenant: TenantId, name: SecretName) -> Found | None:
        await self._step()
        found = await self._rows.find(tenant, name)
        await self._step()
        return found

    async def put(self, tenant: TenantId, name: SecretName, sealed: Sealed, *, seals_max: int, actor: str) -> bool:
        await self._step()
        kept = await self._rows.put(tenant, name, sealed, seals_max=seals_max, actor=actor)
        await self._step()
        return kept

    async def replace(
        self, tenant: TenantId, name: SecretName, before: Sealed, after: Sealed, *, seals_max: int
    ) -> bool:
        await self._step()
        kept = await self._rows.replace(tenant, name, before, after, seals_max=seals_max)
        await self._step()
        return kept

    async def remove(self, tenant: TenantId, name: SecretName, *, actor: str) -> None:
        await self._step()
        await self._rows.remove(tenant, name, actor=actor)
        await self._step()

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        return await self._rows.names(tenant)

    async def behind(self, tenant: TenantId) -> tuple[SecretName, ...]:
        await self._step()
        found = await self._rows.behind(tenant)
        await self._step()
        return found

    async def keys(self, tenant: TenantId) -> tuple[WrappedKey, ...]:
        await self._step()
        found = await self._rows.keys(tenant)
        await self._step()
        return found

    async def all_keys(self) -> tuple[tuple[TenantId, WrappedKey], ...]:
        await self._step()
        found = await self._rows.all_keys()
        await self._step()
        return found

    async def add_key(self, tenant: TenantId, key: WrappedKey, *, actor: str) -> bool:
        await self._step()
        added = await self._rows.add_key(tenant, key, actor=actor)
        await self._step()
        return added

    async def rewrap(self, tenant: TenantId, before: WrappedKey, after: WrappedKey, *, actor: str) -> bool:
        await self._step()
        wrapped = await self._rows.rewrap(tenant, before, after, actor=actor)
        await self._step()
        return wrapped

    async def remove_key(self, tenant: TenantId, version: int) -> bool:
        await self._step()
        removed = await self._rows.remove_key(tenant, version)
        await self._step()
        return removed

    async def opened(self, tenant: TenantId, name: SecretName, *, actor: str) -> None:
        await self._rows.opened(tenant, name, actor=actor)


class Fuse:
    """Stops at the given step; later ones pass, so that a test may go on with the same rows."""

    def __init__(self, at: int) -> None:
        self.left = at

    async def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise Stopped


class Between:
    """Does something else at the given step."""

    def __init__(self, at: int, act: Callable[[], Awaitable[object]]) -> None:
        self.left = at
        self._act = act

    @property
    def came(self) -> bool:
        return self.left <= 0

    async def __call__(self) -> None:
        self.left -= 1
        if self.left == 0:
            await self._act()
