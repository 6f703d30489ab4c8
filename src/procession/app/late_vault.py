"""A vault that is made when it is first needed: ciphers cost memory, and a master key is made only for secrets."""

from collections.abc import Awaitable, Callable

from procession.core.ids import EventId, TenantId
from procession.ports.vault import KeysLook, Rotated, SealedRows, SecretName, WholeVault


class LateVault:
    """`ports.vault.WholeVault`."""

    def __init__(self, rows: SealedRows, make: Callable[[], Awaitable[WholeVault]]) -> None:
        self._rows = rows
        self._make = make
        self._vault: WholeVault | None = None

    async def _made(self) -> WholeVault:
        if self._vault is None:
            made = await self._make()
            # Somebody else may have come first, and a vault knows how many keys it is just adding: there is one only.
            if self._vault is None:
                self._vault = made
        return self._vault

    async def check(self) -> None:
        """Raises Misconfigured if secrets are sealed that the master key does not open."""
        if await self._rows.all_keys():
            await self._made()

    async def seal(self, tenant: TenantId, name: SecretName, plain: bytes, actor: str) -> bool:
        return await (await self._made()).seal(tenant, name, plain, actor)

    async def open(self, tenant: TenantId, name: SecretName) -> bytes:
        return await (await self._made()).open(tenant, name)

    async def open_for(self, tenant: TenantId, name: SecretName, turn: EventId) -> bytes:
        return await (await self._made()).open_for(tenant, name, turn)

    async def forget(self, tenant: TenantId, name: SecretName, actor: str) -> None:
        await self._rows.remove(tenant, name, actor=actor)

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        return await self._rows.names(tenant)

    async def owners(self) -> tuple[TenantId, ...]:
        return tuple(dict.fromkeys(tenant for tenant, _ in await self._rows.all_keys()))

    async def rotate(self, tenant: TenantId, actor: str) -> Rotated:
        return await (await self._made()).rotate(tenant, actor)

    async def rotate_master(self, actor: str) -> Rotated:
        return await (await self._made()).rotate_master(actor)

    async def look(self) -> KeysLook:
        return await (await self._made()).look() if await self._rows.all_keys() else KeysLook()
