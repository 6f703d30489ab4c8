"""Where a vault keeps what it sealed, in the reference store."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from procession.core.ids import TenantId
from procession.core.limits import SECRET_OPENS_KEEP
from procession.ports.console import AuditRow
from procession.ports.vault import Found, Sealed, SecretName, WrappedKey
from procession.storage.memory.rows import Tables

_OPEN = "secret open"


class MemorySecrets:
    """Implements `ports.vault.SealedRows`."""

    def __init__(self, tables: Tables, now: Callable[[], datetime]) -> None:
        self._tables = tables
        self._now = now

    async def find(self, tenant: TenantId, name: SecretName) -> Found | None:
        sealed = self._tables.secrets.get((tenant, name))
        if sealed is None:
            return None
        return Found(sealed=sealed, key=self._tables.sealing_keys.get((tenant, sealed.key_version)))

    async def put(self, tenant: TenantId, name: SecretName, sealed: Sealed, *, seals_max: int, actor: str) -> bool:
        if not self._count(tenant, sealed.key_version, seals_max):
            return False
        self._tables.secrets[tenant, name] = sealed
        self._audit(actor, tenant, "secret set", name, sealed.fingerprint)
        return True

    async def replace(
        self, tenant: TenantId, name: SecretName, before: Sealed, after: Sealed, *, seals_max: int
    ) -> bool:
        if self._tables.secrets.get((tenant, name)) != before:
            return False
        if not self._count(tenant, after.key_version, seals_max):
            return False
        self._tables.secrets[tenant, name] = after
        return True

    async def remove(self, tenant: TenantId, name: SecretName, *, actor: str) -> None:
        if self._tables.secrets.pop((tenant, name), None) is not None:
            self._audit(actor, tenant, "secret forget", name)

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        found = [(name, sealed.fingerprint) for (own, name), sealed in self._tables.secrets.items() if own == tenant]
        return tuple(sorted(found))

    async def behind(self, tenant: TenantId) -> tuple[SecretName, ...]:
        newest = self._newest(tenant)
        secrets = self._tables.secrets.items()
        return tuple(sorted(name for (own, name), sealed in secrets if own == tenant and sealed.key_version < newest))

    # --- data keys ---

    async def keys(self, tenant: TenantId) -> tuple[WrappedKey, ...]:
        return tuple(key for own, key in await self.all_keys() if own == tenant)

    async def all_keys(self) -> tuple[tuple[TenantId, WrappedKey], ...]:
        return tuple((own, key) for (own, _), key in sorted(self._tables.sealing_keys.items()))

    async def add_key(self, tenant: TenantId, key: WrappedKey, *, actor: str) -> bool:
        if self._newest(tenant) >= key.version:
            return False
        self._tables.sealing_keys[tenant, key.version] = replace(key, seals=0)
        self._audit(actor, tenant, "key add", f"data key {key.version}")
        return True

    async def rewrap(self, tenant: TenantId, before: WrappedKey, after: WrappedKey, *, actor: str) -> bool:
        there = self._tables.sealing_keys.get((tenant, before.version))
        if there is None or there.box != before.box:
            return False
        self._tables.sealing_keys[tenant, before.version] = replace(there, box=after.box)
        self._audit(actor, tenant, "key rewrap", f"data key {before.version}")
        return True

    async def remove_key(self, tenant: TenantId, version: int) -> bool:
        if version >= self._newest(tenant) or (tenant, version) not in self._tables.sealing_keys:
            return False
        secrets = self._tables.secrets.items()
        if any(own == tenant and sealed.key_version == version for (own, _), sealed in secrets):
            return False
        del self._tables.sealing_keys[tenant, version]
        return True

    # --- opening ---

    async def opened(self, tenant: TenantId, name: SecretName, *, actor: str) -> None:
        self._audit(actor, tenant, _OPEN, name)
        since = self._now() - SECRET_OPENS_KEEP
        self._tables.audit[:] = [row for row in self._tables.audit if row.verb != _OPEN or row.at >= since]

    def _newest(self, tenant: TenantId) -> int:
        return max((version for own, version in self._tables.sealing_keys if own == tenant), default=0)

    def _count(self, tenant: TenantId, version: int, seals_max: int) -> bool:
        key = self._tables.sealing_keys.get((tenant, version))
        if key is None or version != self._newest(tenant) or key.seals >= seals_max:
            return False
        self._tables.sealing_keys[tenant, version] = replace(key, seals=key.seals + 1)
        return True

    def _audit(self, actor: str, tenant: TenantId, verb: str, about: str, detail: str = "") -> None:
        self._tables.audit.append(
            AuditRow(at=self._now(), actor=actor, tenant=tenant or None, verb=verb, about=about, detail=detail)
        )
