"""Data keys: one for each tenant, in versions, each wrapped by a master key."""

from collections import Counter

from procession.core.ids import TenantId
from procession.core.limits import REWRAPS_MAX
from procession.ports.chance import Chance
from procession.ports.vault import KeysLook, KeyWrap, Masters, Rotated, SealedRows, WrappedKey
from procession.vault.envelope import KEY_BYTES, WrongKey
from procession.vault.master import OLD, VARIABLE


class TenantKeys:
    def __init__(self, rows: SealedRows, masters: Masters, chance: Chance, *, seals_max: int) -> None:
        self._rows = rows
        self._masters = masters
        self._chance = chance
        self._seals_max = seals_max
        self._adding = 0
        """Keys that were wrapped here and are not known to be stored."""

    async def newest(self, tenant: TenantId, actor: str) -> tuple[int, bytes]:
        """The version that seals, and its key; made anew if there is none, or it has sealed as much as it may."""
        while True:
            wrapped = await self._rows.keys(tenant)
            if wrapped and wrapped[-1].seals < self._seals_max:
                key = await self._unwrapped(tenant, wrapped[-1])
                if key is not None:
                    return wrapped[-1].version, key
            else:
                # Stored, or another was quicker: read again.
                await self.add(tenant, wrapped, actor)

    async def add(self, tenant: TenantId, there: tuple[WrappedKey, ...], actor: str) -> bool:
        """The next version. Refused while the newest one does not open: then it is the master key that is wrong."""
        if there and await self._unwrapped(tenant, there[-1]) is None:
            return False
        version = there[-1].version + 1 if there else 1
        self._adding += 1
        try:
            box = await self._masters.wraps[0].wrap(self._chance.token(KEY_BYTES), key_place(tenant, version))
            return await self._rows.add_key(tenant, WrappedKey(version=version, box=box), actor=actor)
        finally:
            self._adding -= 1

    async def unwrap(self, tenant: TenantId, wrapped: WrappedKey) -> bytes:
        return await self._knowing(wrapped.box).unwrap(wrapped.box, key_place(tenant, wrapped.version))

    async def _unwrapped(self, tenant: TenantId, wrapped: WrappedKey) -> bytes | None:
        """None: it has been wrapped anew, or removed, since it was read. Raises WrongKey if it has not."""
        try:
            return await self.unwrap(tenant, wrapped)
        except WrongKey:
            if any(each.box == wrapped.box for each in await self._rows.keys(tenant)):
                raise
            return None

    def _knowing(self, box: bytes) -> KeyWrap:
        for wrap in self._masters.wraps:
            if wrap.wrapped(box):
                return wrap
        origins = ", ".join(wrap.origin for wrap in self._masters.wraps)
        raise WrongKey(
            f"this was wrapped by a master key that is not known ({origins}): is {VARIABLE} the one that it was "
            f"wrapped by? An older one goes into {OLD}"
        )

    # --- the master key ---

    async def check(self) -> None:
        """Raises Misconfigured if not one key opens: then the master key is another one, and nothing may be written."""
        keys = await self._rows.all_keys()
        for tenant, key in keys:
            if any(wrap.wrapped(key.box) for wrap in self._masters.wraps):
                # Seen to open, too: a program that wraps may be the wrong one, or have no right to.
                await self._unwrapped(tenant, key)
                return
        if keys:
            self._knowing(keys[0][1].box)

    async def rotate_master(self, actor: str) -> Rotated:
        if not self._masters.is_renewing and not await self._stale():
            self._masters.renew()
        done = 0
        for tenant, key in (await self._stale())[:REWRAPS_MAX]:
            done += await self._rewrap(tenant, key, actor)
        # First this, then the look: a key that was wrapped by the old master before it changed, and is stored after the
        # look, would be seen by neither. What is wrapped from now on is wrapped by the new one.
        adding = self._adding
        left = len(await self._stale())
        if left or adding:
            return Rotated(keys=done, left=left + adding)
        self._masters.retire()
        return Rotated(keys=done)

    async def _stale(self) -> list[tuple[TenantId, WrappedKey]]:
        newest = self._masters.wraps[0]
        return [(tenant, key) for tenant, key in await self._rows.all_keys() if not newest.wrapped(key.box)]

    async def _rewrap(self, tenant: TenantId, before: WrappedKey, actor: str) -> bool:
        key = await self._unwrapped(tenant, before)
        if key is None:
            return False
        box = await self._masters.wraps[0].wrap(key, key_place(tenant, before.version))
        after = WrappedKey(version=before.version, box=box)
        return await self._rows.rewrap(tenant, before, after, actor=actor)

    async def look(self) -> KeysLook:
        keys = await self._rows.all_keys()
        newest, *older = self._masters.wraps
        behind = [key for _, key in keys if not newest.wrapped(key.box)]
        shut = [key for key in behind if not any(wrap.wrapped(key.box) for wrap in older)]
        versions = Counter(tenant for tenant, _ in keys)
        return KeysLook(
            keys=len(keys),
            secrets_behind=sum([len(await self._rows.behind(own)) for own, count in versions.items() if count > 1]),
            keys_behind=len(behind) - len(shut),
            keys_shut=len(shut),
        )


def key_place(tenant: TenantId, version: int) -> tuple[str, ...]:
    return "data key", tenant, str(version)


def gone(tenant: TenantId, version: int) -> WrongKey:
    return WrongKey(f"the data key {version} of tenant {tenant or 'platform'} is gone: restore it from a backup")
