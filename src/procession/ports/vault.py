"""Secrets: sealed by whoever sets them, opened for one use, never shown."""

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
