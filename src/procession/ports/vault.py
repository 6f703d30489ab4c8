"""Secrets: sealed by whoever sets them, opened for one use, never shown."""

from dataclasses import dataclass
from typing import NewType, Protocol

from procession.core.ids import TenantId

SecretName = NewType("SecretName", str)
"""`endpoint/<name>/signing/<n>`, `channel/<name>/<field>`, or a name that the tenant gave (`model-key`)."""

PLATFORM = TenantId("")
"""The owner of the secrets of endpoints that belong to no single tenant."""


class Vault(Protocol):
    """Write-only for everybody but the engine.

    V1. A secret belongs to one tenant (or the platform) and is found by (tenant, name) only.
    V2. What is stored is sealed, bound to tenant, name and version: moved to another place, it does not open.
    V3. `open` is the only way to the plain bytes; they appear in no log, error, repr or view.
    """

    async def seal(self, tenant: TenantId, name: SecretName, plain: bytes, actor: str) -> bool:
        """Store a secret under the name, replacing the one there. False: the same bytes were there already. Audited."""
        ...

    async def open(self, tenant: TenantId, name: SecretName) -> bytes:
        """The plain bytes. Raises `SecretMissing` with the name."""
        ...

    async def forget(self, tenant: TenantId, name: SecretName, actor: str) -> None:
        """Remove a secret. Audited."""
        ...

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        """Names, each with a fingerprint that tells two secrets apart and reveals neither."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Sealed:
    """A secret as it is stored."""

    key_version: int
    """Of the tenant's data key that sealed it."""
    box: bytes
    fingerprint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WrappedKey:
    """A tenant's data key, wrapped by the master key."""

    version: int
    box: bytes


class SealedRows(Protocol):
    """Where a vault keeps what it sealed: the store's side of it. Knows no key and no plain byte."""

    async def sealed(self, tenant: TenantId, name: SecretName) -> Sealed | None: ...

    async def put(self, tenant: TenantId, name: SecretName, sealed: Sealed, *, actor: str) -> None:
        """Replace what is there under the name; audited in the same write, without the value."""
        ...

    async def remove(self, tenant: TenantId, name: SecretName, *, actor: str) -> None: ...

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]: ...

    async def keys(self, tenant: TenantId) -> tuple[WrappedKey, ...]:
        """All versions, oldest first."""
        ...

    async def add_key(self, tenant: TenantId, key: WrappedKey) -> bool:
        """False: that version is there already (another was quicker)."""
        ...
