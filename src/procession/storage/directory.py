"""The directory in rows. The newest version stays in memory for as long as it is the newest."""

from functools import partial
from typing import Final

import msgspec

from procession.core.ids import ChannelName, TenantId
from procession.ports.directory import Change, Channel, CollectRule, Endpoint, Snapshot, Tenant
from procession.storage.diff import merged
from procession.storage.ledger.book import Book
from procession.storage.reach import Reach
from procession.storage.rows import Rows

_ENDPOINTS: Final = msgspec.json.Decoder(tuple[Endpoint, ...])
_CHANNELS: Final = msgspec.json.Decoder(tuple[Channel, ...])
_COLLECTS: Final = msgspec.json.Decoder(tuple[CollectRule, ...])


class StoredDirectory:
    def __init__(self, reach: Reach, *, alone: bool = False) -> None:
        """`alone`: no other process changes it."""
        self._reach = reach
        self._alone = alone
        self._newest: Snapshot | None = None

    async def snapshot(self) -> Snapshot:
        if self._newest is None or not self._alone:
            self._newest = await self._reach.read(partial(_renewed, self._newest))
        return self._newest

    async def change(self, wanted: Snapshot, *, actor: str, dry_run: bool = False) -> tuple[Change, ...]:
        if dry_run:
            return await self._reach.read(lambda rows: merged(_load(rows), wanted, _busy(rows))[1])
        after, changes = await self._reach.write(lambda book: _apply(book, wanted, actor))
        self._newest = after
        return changes


def _renewed(known: Snapshot | None, rows: Rows) -> Snapshot:
    """Another process may have changed it."""
    row = rows.execute("directory.version").fetchone()
    return known if known is not None and row is not None and row[0] == known.version else _load(rows)


def _load(rows: Rows) -> Snapshot:
    tenants = {
        TenantId(name): Tenant(id=TenantId(name), weight=weight, lanes_max=lanes_max, pool=pool, active=bool(active))
        for name, weight, lanes_max, pool, active in rows.execute("directory.tenants")
    }
    row = rows.execute("directory.load").fetchone()
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
    rows = book.rows
    book.hold("directory")
    after, changes = merged(_load(rows), wanted, _busy(rows))
    if changes:
        _save(rows, after)
        for change in changes:
            rows.execute(
                "directory.audit", (book.now, actor, None, "apply", f"{change.sign} {change.what}", change.detail)
            )
        book.reload_tenants()
    return after, changes


def _save(rows: Rows, after: Snapshot) -> None:
    documents = (tuple(after.endpoints.values()), tuple(after.channels.values()), after.collects)
    rows.execute("directory.save", (after.version, *(msgspec.json.encode(each).decode() for each in documents)))
    rows.execute("directory.unlist")
    for tenant in after.tenants.values():
        settings = (tenant.id, tenant.weight, tenant.lanes_max, tenant.pool, int(tenant.active))
        rows.execute("directory.list", settings)


def _busy(rows: Rows) -> set[tuple[TenantId, ChannelName]]:
    return {(TenantId(tenant), ChannelName(channel)) for tenant, channel in rows.execute("directory.busy")}
