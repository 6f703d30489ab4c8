"""The vault: each tenant's secrets under the tenant's own data key, the data keys under the master key."""

from procession.core.errors import Misconfigured, SecretMissing
from procession.core.ids import TenantId
from procession.ports.chance import Chance
from procession.ports.vault import Sealed, SealedRows, SecretName, WrappedKey
from procession.vault.envelope import KEY_BYTES, NONCE_BYTES, fingerprint, open_box, seal
from procession.vault.master import MasterKey


class EnvelopeVault:
    def __init__(self, rows: SealedRows, master: MasterKey, chance: Chance) -> None:
        self._rows = rows
        self._master = master
        self._chance = chance

    async def seal(self, tenant: TenantId, name: SecretName, plain: bytes, actor: str) -> bool:
        if not plain:
            raise Misconfigured(f"the secret {name} is empty")
        version, key = await self._newest_key(tenant)
        mark = fingerprint(key, plain)
        there = await self._rows.sealed(tenant, name)
        if there is not None and there.key_version == version and there.fingerprint == mark:
            return False
        box = seal(key, self._chance.token(NONCE_BYTES), plain, _place(tenant, name, version))
        await self._rows.put(tenant, name, Sealed(key_version=version, box=box, fingerprint=mark), actor=actor)
        return True

    async def open(self, tenant: TenantId, name: SecretName) -> bytes:
        sealed = await self._rows.sealed(tenant, name)
        if sealed is None:
            raise SecretMissing(f"the secret {name} is not in the vault: `procession apply` sets it")
        key = await self._key(tenant, sealed.key_version)
        return open_box(key, sealed.box, _place(tenant, name, sealed.key_version))

    async def forget(self, tenant: TenantId, name: SecretName, actor: str) -> None:
        await self._rows.remove(tenant, name, actor=actor)

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        return await self._rows.names(tenant)

    # --- data keys ---

    async def _newest_key(self, tenant: TenantId) -> tuple[int, bytes]:
        wrapped = await self._rows.keys(tenant)
        if not wrapped:
            await self._rows.add_key(tenant, self._wrap(tenant, 1, self._chance.token(KEY_BYTES)))
            # Read back, whoever was quicker: the one that is stored is the one.
            wrapped = await self._rows.keys(tenant)
        return wrapped[-1].version, self._unwrap(tenant, wrapped[-1])

    async def _key(self, tenant: TenantId, version: int) -> bytes:
        for wrapped in await self._rows.keys(tenant):
            if wrapped.version == version:
                return self._unwrap(tenant, wrapped)
        raise Misconfigured(
            f"the data key {version} of tenant {tenant or 'platform'} is gone: restore it from a backup"
        )

    def _wrap(self, tenant: TenantId, version: int, key: bytes) -> WrappedKey:
        box = seal(self._master.key, self._chance.token(NONCE_BYTES), key, _key_place(tenant, version))
        return WrappedKey(version=version, box=box)

    def _unwrap(self, tenant: TenantId, wrapped: WrappedKey) -> bytes:
        return open_box(self._master.key, wrapped.box, _key_place(tenant, wrapped.version))


def _place(tenant: TenantId, name: SecretName, version: int) -> tuple[str, ...]:
    return "secret", tenant, name, str(version)


def _key_place(tenant: TenantId, version: int) -> tuple[str, ...]:
    return "data key", tenant, str(version)
