"""The vault's rows."""

from typing import Final

from procession.core.ids import TenantId
from procession.core.limits import SECRET_OPENS_KEEP
from procession.ports.vault import Found, Sealed, SecretName, WrappedKey
from procession.storage.instants import micros
from procession.storage.ledger.book import Book
from procession.storage.reach import Reach
from procession.storage.rows import Rows

_AUDIT: Final = "directory.audit"
_OPENS_KEEP: Final = micros(SECRET_OPENS_KEEP)


class StoredSecrets:
    """`ports.vault.SealedRows`."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def find(self, tenant: TenantId, name: SecretName) -> Found | None:
        row = await self._reach.read(lambda rows: rows.execute("secrets.find", (tenant, name)).fetchone())
        if row is None:
            return None
        sealed = Sealed(key_version=row[0], box=row[1], fingerprint=row[2])
        key = None if row[3] is None else WrappedKey(version=row[3], box=row[4], seals=row[5])
        return Found(sealed=sealed, key=key)

    async def put(self, tenant: TenantId, name: SecretName, sealed: Sealed, *, seals_max: int, actor: str) -> bool:
        def write(book: Book) -> bool:
            _hold(book, tenant)
            if not _count(book, tenant, sealed.key_version, seals_max):
                return False
            _store(book, tenant, name, sealed)
            _audit(book, actor, tenant, "secret set", name, sealed.fingerprint)
            return True

        return await self._reach.write(write)

    async def replace(
        self, tenant: TenantId, name: SecretName, before: Sealed, after: Sealed, *, seals_max: int
    ) -> bool:
        def write(book: Book) -> bool:
            _hold(book, tenant)
            there = book.execute("secrets.is_there", (tenant, name, before.key_version, before.box)).fetchone()
            if there is None or not _count(book, tenant, after.key_version, seals_max):
                return False
            _store(book, tenant, name, after)
            return True

        return await self._reach.write(write)

    async def remove(self, tenant: TenantId, name: SecretName, *, actor: str) -> None:
        def write(book: Book) -> None:
            if book.execute("secrets.remove", (tenant, name)).rowcount:
                _audit(book, actor, tenant, "secret forget", name)

        await self._reach.write(write)

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        rows = await self._reach.read(lambda rows: rows.execute("secrets.names", (tenant,)).fetchall())
        return tuple((SecretName(name), fingerprint) for name, fingerprint in rows)

    async def behind(self, tenant: TenantId) -> tuple[SecretName, ...]:
        rows = await self._reach.read(lambda rows: rows.execute("secrets.behind", {"tenant": tenant}).fetchall())
        return tuple(SecretName(name) for (name,) in rows)

    # --- data keys ---

    async def keys(self, tenant: TenantId) -> tuple[WrappedKey, ...]:
        rows = await self._reach.read(lambda rows: rows.execute("secrets.keys", (tenant,)).fetchall())
        return tuple(WrappedKey(version=version, box=box, seals=seals) for version, box, seals in rows)

    async def all_keys(self) -> tuple[tuple[TenantId, WrappedKey], ...]:
        return await self._reach.read(_all_keys)

    async def add_key(self, tenant: TenantId, key: WrappedKey, *, actor: str) -> bool:
        def write(book: Book) -> bool:
            _hold(book, tenant)
            row = {"tenant": tenant, "version": key.version, "box": key.box}
            added = book.execute("secrets.add_key", row).rowcount == 1
            if added:
                _audit(book, actor, tenant, "key add", f"data key {key.version}")
            return added

        return await self._reach.write(write)

    async def rewrap(self, tenant: TenantId, before: WrappedKey, after: WrappedKey, *, actor: str) -> bool:
        def write(book: Book) -> bool:
            row = {"tenant": tenant, "version": before.version, "before": before.box, "after": after.box}
            wrapped = book.execute("secrets.rewrap", row).rowcount == 1
            if wrapped:
                _audit(book, actor, tenant, "key rewrap", f"data key {before.version}")
            return wrapped

        return await self._reach.write(write)

    async def remove_key(self, tenant: TenantId, version: int) -> bool:
        def write(book: Book) -> bool:
            _hold(book, tenant)
            return book.execute("secrets.remove_key", {"tenant": tenant, "version": version}).rowcount == 1

        return await self._reach.write(write)

    # --- opening ---

    async def opened(self, tenant: TenantId, name: SecretName, *, actor: str) -> None:
        def write(book: Book) -> None:
            _audit(book, actor, tenant, "secret open", name)
            book.execute("secrets.forget_opens", (book.now - _OPENS_KEEP,))

        await self._reach.write(write)


def _hold(book: Book, tenant: TenantId) -> None:
    """A key is not removed while something is being sealed under it, and no version is given twice."""
    book.hold(f"secrets/{tenant}")


def _count(book: Book, tenant: TenantId, version: int, seals_max: int) -> bool:
    row = {"tenant": tenant, "version": version, "seals_max": seals_max}
    return book.execute("secrets.count", row).rowcount == 1


def _store(book: Book, tenant: TenantId, name: SecretName, sealed: Sealed) -> None:
    book.execute("secrets.put", (tenant, name, sealed.key_version, sealed.box, sealed.fingerprint))


def _audit(book: Book, actor: str, tenant: TenantId, verb: str, about: str, detail: str = "") -> None:
    book.execute(_AUDIT, (book.now, actor, tenant or None, verb, about, detail))


def _all_keys(rows: Rows) -> tuple[tuple[TenantId, WrappedKey], ...]:
    found = rows.execute("secrets.all_keys")
    return tuple((TenantId(row[0]), WrappedKey(version=row[1], box=row[2], seals=row[3])) for row in found)
