"""The vault: each tenant's secrets under the tenant's own data key, the data keys under a master key.

Whatever is read may be replaced before it is used: a rotation seals a secret anew, wraps its key by another master and
forgets the old ones. So whoever finds that something does not open reads it again, and believes it only if it is still
the same.
"""

import asyncio
import hmac

from procession.core.errors import Misconfigured, SecretMissing, StoreError
from procession.core.ids import EventId, TenantId
from procession.core.limits import AUDIT_WAIT, SEALS_MAX
from procession.ports.chance import Chance
from procession.ports.telemetry import Telemetry
from procession.ports.vault import Found, KeysLook, Masters, Rotated, Sealed, SealedRows, SecretName
from procession.vault.envelope import NONCE_BYTES, WrongKey, fingerprint, open_box, seal
from procession.vault.keys import TenantKeys, gone


class EnvelopeVault:
    """`ports.vault.WholeVault`."""

    def __init__(
        self,
        rows: SealedRows,
        masters: Masters,
        chance: Chance,
        telemetry: Telemetry,
        *,
        seals_max: int = SEALS_MAX,
    ) -> None:
        """`seals_max` has to be larger than the number of secrets that a tenant has: a rotation seals each once."""
        self._rows = rows
        self._chance = chance
        self._telemetry = telemetry
        self._seals_max = seals_max
        self._keys = TenantKeys(rows, masters, chance, seals_max=seals_max)

    async def check(self) -> None:
        """Raises Misconfigured if the master key is another than the one that all data keys were wrapped by."""
        await self._keys.check()

    async def seal(self, tenant: TenantId, name: SecretName, plain: bytes, actor: str) -> bool:
        if not plain:
            raise Misconfigured(f"the secret {name} is empty")
        if await self._is_there(tenant, name, plain):
            return False
        while True:
            sealed = await self._sealed(tenant, name, plain, actor)
            if await self._rows.put(tenant, name, sealed, seals_max=self._seals_max, actor=actor):
                break
        if sealed.key_version > 1:
            # Its key may have taken over from one that was used up just now.
            await self._seal_anew(tenant, actor)
        return True

    async def open(self, tenant: TenantId, name: SecretName) -> bytes:
        opened = await self._opened(tenant, name)
        if opened is None:
            raise SecretMissing(f"the secret {name} is not in the vault: `procession apply` sets it")
        return opened[1]

    async def open_for(self, tenant: TenantId, name: SecretName, turn: EventId) -> bytes:
        plain = await self.open(tenant, name)
        try:
            async with asyncio.timeout(AUDIT_WAIT.total_seconds()):
                await self._rows.opened(tenant, name, actor=f"turn {turn}")
        except (StoreError, TimeoutError) as error:
            self._telemetry.warn(
                "vault.open_not_audited", tenant=tenant, secret=name, turn=turn, error=type(error).__name__
            )
        return plain

    async def forget(self, tenant: TenantId, name: SecretName, actor: str) -> None:
        await self._rows.remove(tenant, name, actor=actor)

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        return await self._rows.names(tenant)

    # --- rotation ---

    async def owners(self) -> tuple[TenantId, ...]:
        return tuple(dict.fromkeys(tenant for tenant, _ in await self._rows.all_keys()))

    async def rotate(self, tenant: TenantId, actor: str) -> Rotated:
        there = await self._rows.keys(tenant)
        if not there:
            return Rotated()
        made = await self._keys.add(tenant, there, actor)
        done, shut = await self._seal_anew(tenant, actor)
        if shut:
            raise WrongKey(
                f"these do not open, and stay as they are: {', '.join(sorted(shut))}. Set or forget each, then rotate "
                "again; all others are sealed anew"
            )
        return Rotated(keys=int(made), secrets=done)

    async def rotate_master(self, actor: str) -> Rotated:
        return await self._keys.rotate_master(actor)

    async def look(self) -> KeysLook:
        return await self._keys.look()

    async def _seal_anew(self, tenant: TenantId, actor: str) -> tuple[int, set[SecretName]]:
        """Bring all secrets under the newest key, and remove the others. Answers how many, and which do not open."""
        done, shut = 0, set[SecretName]()
        while names := set(await self._rows.behind(tenant)) - shut:
            for name in sorted(names):
                try:
                    done += await self._seal_one_anew(tenant, name, actor)
                except WrongKey:
                    shut.add(name)
        for key in (await self._rows.keys(tenant))[:-1]:
            await self._rows.remove_key(tenant, key.version)
        return done, shut

    async def _seal_one_anew(self, tenant: TenantId, name: SecretName, actor: str) -> bool:
        opened = await self._opened(tenant, name)
        if opened is None:
            return False
        found, plain = opened
        after = await self._sealed(tenant, name, plain, actor)
        if after.key_version <= found.sealed.key_version:
            return False
        return await self._rows.replace(tenant, name, found.sealed, after, seals_max=self._seals_max)

    # --- boxes ---

    async def _sealed(self, tenant: TenantId, name: SecretName, plain: bytes, actor: str) -> Sealed:
        version, key = await self._keys.newest(tenant, actor)
        box = seal(key, self._chance.token(NONCE_BYTES), plain, _place(tenant, name, version))
        return Sealed(key_version=version, box=box, fingerprint=fingerprint(key, plain))

    async def _is_there(self, tenant: TenantId, name: SecretName, plain: bytes) -> bool:
        """Are these the bytes that are there? A box that was damaged holds none, and may be replaced."""
        try:
            opened = await self._opened(tenant, name)
        except WrongKey:
            return False
        return opened is not None and hmac.compare_digest(opened[1], plain)

    async def _opened(self, tenant: TenantId, name: SecretName) -> tuple[Found, bytes] | None:
        found = await self._rows.find(tenant, name)
        while found is not None:
            try:
                return found, await self._plain(tenant, name, found)
            except WrongKey:
                again = await self._rows.find(tenant, name)
                if again is not None and _is_same(found, again):
                    raise
                found = again
        return None

    async def _plain(self, tenant: TenantId, name: SecretName, found: Found) -> bytes:
        version = found.sealed.key_version
        if found.key is None:
            raise gone(tenant, version)
        key = await self._keys.unwrap(tenant, found.key)
        return open_box(key, found.sealed.box, _place(tenant, name, version))


def _is_same(one: Found, other: Found) -> bool:
    boxes = [None if found.key is None else found.key.box for found in (one, other)]
    return one.sealed == other.sealed and boxes[0] == boxes[1]


def _place(tenant: TenantId, name: SecretName, version: int) -> tuple[str, ...]:
    return "secret", tenant, name, str(version)
