"""The directory in SQLite. One process owns the file, so the newest version is kept in memory once it was read."""

import sqlite3
from collections.abc import Callable
from datetime import datetime
from typing import Final, Protocol, TypeVar

import msgspec

from procession.core.ids import ChannelName, TenantId
from procession.ports.directory import Change, Channel, CollectRule, Endpoint, Snapshot, Tenant
from procession.storage.diff import merged
from procession.storage.sqlite.ledger.book import Book
from procession.storage.sqlite.reader import Reading
from procession.storage.sqlite.statements import statements

T = TypeVar("T")

_SQL: Final = statements("directory")
_ENDPOINTS: Final = msgspec.json.Decoder(tuple[Endpoint, ...])
_CHANNELS: Final = msgspec.json.Decoder(tuple[Channel, ...])
_COLLECTS: Final = msgspec.json.Decoder(tuple[CollectRule, ...])


class Rows(Protocol):
    """What the store offers to what stands beside the line."""

    async def write(self, do: Callable[[Book], T]) -> T: ...

    async def read(self, do: Reading[T]) -> T: ...

    def now(self) -> datetime:
        """The store's own clock."""
        ...


class SqliteDirectory:
    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._newest: Snapshot | None = None

    async def snapshot(self) -> Snapshot:
        if self._newest is None:
            self._newest = await self._rows.read(_load)
        return self._newest

    async def change(self, wanted: Snapshot, *, actor: str, dry_run: bool = False) -> tuple[Change, ...]:
        if dry_run:
            return await self._rows.read(lambda connection: merged(_load(connection), wanted, _busy(connection))[1])
        after, changes = await self._rows.write(lambda book: _apply(book, wanted, actor))
        self._newest = after
        return changes


def _load(connection: sqlite3.Connection) -> Snapshot:
    tenants = {
        TenantId(name): Tenant(id=TenantId(name), weight=weight, lanes_max=lanes_max, pool=pool, active=bool(active))
        for name, weight, lanes_max, pool, active in connection.execute(_SQL["tenants"])
    }
    row = connection.execute(_SQL["load"]).fetchone()
    if row is None:
        return Snapshot(tenants=tenants)
    version, endpoints, channels, collects = row
    return Snapshot(
        version=version,
        tenants=tenants,
        endpoints={endpoint.name: endpoint for endpoint in _ENDPOINTS.decode(endpoints)},
        channels={(channel.tenant, channel.name): channel for channel in _CHANNELS.decode(channels)},
        collects=_COLLECTS.decode(collects),
    )


def _apply(book: Book, wanted: Snapshot, actor: str) -> tuple[Snapshot, tuple[Change, ...]]:
    connection = book.connection
    after, changes = merged(_load(connection), wanted, _busy(connection))
    if changes:
        _save(connection, after)
        for change in changes:
            connection.execute(
                _SQL["audit"], (book.now, actor, None, "apply", f"{change.sign} {change.what}", change.detail)
            )
        book.reload_tenants()
    return after, changes


def _save(connection: sqlite3.Connection, after: Snapshot) -> None:
    documents = (tuple(after.endpoints.values()), tuple(after.channels.values()), after.collects)
    connection.execute(_SQL["save"], (after.version, *(msgspec.json.encode(each).decode() for each in documents)))
    connection.execute(_SQL["unlist"])
    for tenant in after.tenants.values():
        settings = (tenant.id, tenant.weight, tenant.lanes_max, tenant.pool, int(tenant.active))
        connection.execute(_SQL["list"], settings)


def _busy(connection: sqlite3.Connection) -> set[tuple[TenantId, ChannelName]]:
    return {(TenantId(tenant), ChannelName(channel)) for tenant, channel in connection.execute(_SQL["busy"])}
