"""Secrets: sealed by whoever sets them, opened for one use, never shown."""

from dataclasses import dataclass
from typing import NewType, Protocol

from procession.core.ids import EventId, TenantId

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


class TurnVault(Protocol):
    """What a handler's turn opens secrets by."""

    async def open_for(self, tenant: TenantId, name: SecretName, turn: EventId) -> bytes:
        """As `open`, and the audit names tenant, secret and turn; never the value.

        That row is written before the answer, but is waited for at most `AUDIT_WAIT`, and a store that cannot keep it
        does not fail the turn: then a warning in the log stands in its place.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotated:
    """What one call of a rotation came to."""

    keys: int = 0
    """Data keys that were made, or wrapped anew."""
    secrets: int = 0
    """Secrets that were sealed anew."""
    left: int = 0
    """What is still to be done: call again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysLook:
    """How the keys stand, for whoever examines."""

    keys: int = 0
    secrets_behind: int = 0
    """Sealed under a data key that is not their tenant's newest."""
    keys_behind: int = 0
    """Wrapped by a master key that is not the newest, but is known."""
    keys_shut: int = 0
    """Wrapped by a master key that is not known: what is sealed under these does not open."""


class Rotation(Protocol):
    """Keys are replaced while everything else goes on: at no moment is there a secret that does not open.

    Whatever stops a rotation in the middle, the next one brings it to its end.
    """

    async def owners(self) -> tuple[TenantId, ...]:
        """Whoever has a data key; the platform too."""
        ...

    async def rotate(self, tenant: TenantId, actor: str) -> Rotated:
        """A new data key, all of the tenant's secrets sealed under it, and the older ones removed. Audited."""
        ...

    async def rotate_master(self, actor: str) -> Rotated:
        """Wrap all data keys by the newest master key; a new one is made first, if the key is ours to make and no
        rotation is unfinished. Secrets are not touched. At most `REWRAPS_MAX` a call. Audited.
        """
        ...

    async def look(self) -> KeysLook:
        """Makes no key, and opens no secret."""
        ...


class WholeVault(Vault, TurnVault, Rotation, Protocol):
    """All sides of it: what an engine has."""


class KeyWrap(Protocol):
    """A master key, or somebody who has one: it wraps data keys, and never sees a secret."""

    @property
    def origin(self) -> str: ...

    def wrapped(self, box: bytes) -> bool:
        """Was this box wrapped by it? Told by the box's head; nothing is opened."""
        ...

    async def wrap(self, key: bytes, place: tuple[str, ...]) -> bytes:
        """Bound to the place. Raises Misconfigured."""
        ...

    async def unwrap(self, box: bytes, place: tuple[str, ...]) -> bytes:
        """Raises Misconfigured if it cannot, or if the box belongs to another place."""
        ...


class Masters(Protocol):
    """Who may unwrap data keys here."""

    @property
    def wraps(self) -> tuple[KeyWrap, ...]:
        """The first wraps what is new; all unwrap."""
        ...

    @property
    def is_renewing(self) -> bool:
        """A rotation was begun and has not ended."""
        ...

    def renew(self) -> None:
        """A new master key from now on, the older ones still accepted: durable before anything is wrapped by it.

        Raises BadRequest, with what to do instead, if the key is not ours to make.
        """
        ...

    def retire(self) -> None:
        """Nothing is wrapped by the older ones any more: forget those that are ours."""
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
    """A tenant's data key, wrapped by a master key."""

    version: int
    box: bytes
    seals: int = 0
    """How many boxes were sealed under it and stored."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A secret with the key that it was sealed under, as they stood at one moment."""

    sealed: Sealed
    key: WrappedKey | None
    """None: it is gone, which no rotation does."""


class SealedRows(Protocol):
    """Where a vault keeps what it sealed: the store's side of it. Knows no key and no plain byte.

    E1. A secret is stored only under its tenant's newest data key, and each storing is counted on that key, in the
        same write: so nothing is ever sealed under a key that is just being removed, and no key seals more than it may.
    E2. A data key is removed only while a newer one is there and nothing is sealed under it.
    E3. A secret, and its key, are read as they stood at one moment: a reader never meets half of a rotation.
    E4. A rotation replaces only what it has read: what was set or wrapped meanwhile stays.
    E5. Everything belongs to one tenant. Every change of a secret or of a key names its actor in an audit row of the
        same write, except a rotation's sealing anew: the row of its new key stands for all of those.
    """

    async def find(self, tenant: TenantId, name: SecretName) -> Found | None: ...

    async def put(self, tenant: TenantId, name: SecretName, sealed: Sealed, *, seals_max: int, actor: str) -> bool:
        """Replace what is there under the name. False: nothing was done, since its key is not the newest (any more) or
        has sealed `seals_max` already.
        """
        ...

    async def replace(
        self, tenant: TenantId, name: SecretName, before: Sealed, after: Sealed, *, seals_max: int
    ) -> bool:
        """As `put`, but only if `before` is still what is there."""
        ...

    async def remove(self, tenant: TenantId, name: SecretName, *, actor: str) -> None: ...

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]: ...

    async def behind(self, tenant: TenantId) -> tuple[SecretName, ...]:
        """Secrets that are not sealed under the tenant's newest data key."""
        ...

    async def keys(self, tenant: TenantId) -> tuple[WrappedKey, ...]:
        """All versions, oldest first."""
        ...

    async def all_keys(self) -> tuple[tuple[TenantId, WrappedKey], ...]:
        """Of everybody, in the order of their owners and versions."""
        ...

    async def add_key(self, tenant: TenantId, key: WrappedKey, *, actor: str) -> bool:
        """False: that version, or a newer one, is or was there already (another was quicker)."""
        ...

    async def rewrap(self, tenant: TenantId, before: WrappedKey, after: WrappedKey, *, actor: str) -> bool:
        """Replace the box of a key, if `before` is still the one that is there. Its count stays."""
        ...

    async def remove_key(self, tenant: TenantId, version: int) -> bool:
        """False: it is the newest, or something is sealed under it, or it is not there."""
        ...

    async def opened(self, tenant: TenantId, name: SecretName, *, actor: str) -> None:
        """Only the audit row, `secret open`. Rows of that kind that are older than `SECRET_OPENS_KEEP` are removed."""
        ...
