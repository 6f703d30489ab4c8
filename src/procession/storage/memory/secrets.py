"""Where a vault keeps what it sealed, in the reference store."""

from collections.abc import Callable
from datetime import datetime

from procession.core.ids import TenantId
from procession.ports.console import AuditRow
from procession.ports.vault import Sealed, SecretName, WrappedKey
from procession.storage.memory.rows import Tables


class MemorySecrets:
    """Implements `ports.vault.SealedRows`."""

    def __init__(self, tables: Tables, now: Callable[[], datetime]) -> None:
        self._tables = tables
        self._now = now
        self._sealed: dict[tuple[TenantId, SecretName], Sealed] = {}
        self._keys: dict[TenantId, tuple[WrappedKey, ...]] = {}

    async def sealed(self, tenant: TenantId, name: SecretName) -> Sealed | None:
        return self._sealed.get((tenant, name))

    async def put(self, tenant: TenantId, name: SecretName, sealed: Sealed, *, actor: str) -> None:
        self._sealed[tenant, name] = sealed
        self._audit(actor, tenant, "secret set", name)

    async def remove(self, tenant: TenantId, name: SecretName, *, actor: str) -> None:
        if self._sealed.pop((tenant, name), None) is not None:
            self._audit(actor, tenant, "secret forget", name)

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        found = [(name, sealed.fingerprint) for (own, name), sealed in self._sealed.items() if own == tenant]
        return tuple(sorted(found))

    async def keys(self, tenant: TenantId) -> tuple[WrappedKey, ...]:
        return self._keys.get(tenant, ())

    async def add_key(self, tenant: TenantId, key: WrappedKey) -> bool:
        there = self._keys.get(tenant, ())
        if any(own.version == key.version for own in there):
            return False
        self._keys[tenant] = tuple(sorted((*there, key), key=lambda own: own.version))
        return True

    def _audit(self, actor: str, tenant: TenantId, verb: str, about: str) -> None:
        self._tables.audit.append(
            AuditRow(at=self._now(), actor=actor, tenant=tenant, verb=verb, about=about, detail="")
        )
