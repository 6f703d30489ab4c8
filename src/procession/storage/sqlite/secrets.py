"""The vault's rows in SQLite."""

from typing import Final

from procession.core.ids import TenantId
from procession.ports.vault import Sealed, SecretName, WrappedKey
from procession.storage.sqlite.directory import Rows
from procession.storage.sqlite.ledger.book import Book
from procession.storage.sqlite.statements import statements

_SQL: Final = statements("secrets")
_AUDIT: Final = statements("directory")["audit"]


class SqliteSecrets:
    """`ports.vault.SealedRows`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def sealed(self, tenant: TenantId, name: SecretName) -> Sealed | None:
        row = await self._rows.read(lambda connection: connection.execute(_SQL["secret"], (tenant, name)).fetchone())
        return None if row is None else Sealed(key_version=row[0], box=row[1], fingerprint=row[2])

    async def put(self, tenant: TenantId, name: SecretName, sealed: Sealed, *, actor: str) -> None:
        def write(book: Book) -> None:
            book.execute(_SQL["put"], (tenant, name, sealed.key_version, sealed.box, sealed.fingerprint))
            book.execute(_AUDIT, (book.now, actor, tenant or None, "secret set", name, sealed.fingerprint))

        await self._rows.write(write)

    async def remove(self, tenant: TenantId, name: SecretName, *, actor: str) -> None:
        def write(book: Book) -> None:
            if book.execute(_SQL["remove"], (tenant, name)).rowcount:
                book.execute(_AUDIT, (book.now, actor, tenant or None, "secret forget", name, ""))

        await self._rows.write(write)

    async def names(self, tenant: TenantId) -> tuple[tuple[SecretName, str], ...]:
        rows = await self._rows.read(lambda connection: connection.execute(_SQL["names"], (tenant,)).fetchall())
        return tuple((SecretName(name), fingerprint) for name, fingerprint in rows)

    async def keys(self, tenant: TenantId) -> tuple[WrappedKey, ...]:
        rows = await self._rows.read(lambda connection: connection.execute(_SQL["keys"], (tenant,)).fetchall())
        return tuple(WrappedKey(version=version, box=box) for version, box in rows)

    async def add_key(self, tenant: TenantId, key: WrappedKey) -> bool:
        row = (tenant, key.version, key.box)
        return await self._rows.write(lambda book: book.execute(_SQL["add_key"], row).rowcount == 1)
