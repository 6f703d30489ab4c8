"""Names: which lane an event, or an effect, belongs to (A10, T3)."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from procession.core.ids import ChannelName, LaneId, TenantId, namesake_id
from procession.core.lane import Side
from procession.core.limits import ALIAS_RETIRED_KEEP
from procession.storage.memory.merge import merge
from procession.storage.memory.rows import LaneRow, NameRow, Tables

Place = tuple[TenantId, ChannelName, LaneId, str]
"""Tenant, channel, and the lane that is meant where no name says otherwise, with its key."""


def find_lane(
    tables: Tables, place: Place, names: Sequence[str], retires: Sequence[str], side: Side, now: datetime
) -> LaneRow:
    """The side of the lane that goes on, made on first use."""
    tenant, channel, lane, key = place
    if names:
        turns = _led(tables, place, names, retires, now)
        lane, key = turns.lane, turns.key
    return tables.heir(tables.lane(tenant, lane, side, key, channel))


def names_of(tables: Tables, row: LaneRow) -> tuple[str, ...]:
    """Those that lead to the lane now, the newest first."""
    found = [
        (known.newest, name)
        for (tenant, _, name), known in tables.names.items()
        if tenant == row.tenant and known.lane == row.lane and known.retired_at is None
    ]
    return tuple(name for _, name in sorted(found, reverse=True))


def forget_retired(tables: Tables, rows_max: int, now: datetime) -> int:
    """P2."""
    old = [key for key, known in tables.names.items() if known.retired_at is not None and not _leads(known, now)]
    for key in old[:rows_max]:
        del tables.names[key]
    return len(old)


def _led(tables: Tables, place: Place, names: Sequence[str], retires: Sequence[str], now: datetime) -> LaneRow:
    tenant, channel, lane, key = place
    known = {name: found for name in names if (found := tables.names.get((tenant, channel, name))) is not None}
    leading = {name: found for name, found in known.items() if _leads(found, now)}
    firm = [found.lane for name, found in leading.items() if found.retired_at is None or name in retires]
    if not firm and all(name in leading for name in names):
        return tables.lanes[tenant, leading[names[0]].lane, Side.TURNS]
    row = _one(tables, tenant, firm, now) if firm else _unled(tables, tenant, channel, lane, key)
    row.named = True
    if not retires and names_of(tables, row)[: len(names)] == tuple(names):
        return row  # as the last time: nothing is news
    for name in reversed(names):
        tables.name_no += 1
        retired_at = now if name in retires else None
        tables.names[tenant, channel, name] = NameRow(lane=row.lane, newest=tables.name_no, retired_at=retired_at)
    return row


def _leads(known: NameRow, now: datetime) -> bool:
    return known.retired_at is None or now - known.retired_at < ALIAS_RETIRED_KEEP


def _one(tables: Tables, tenant: TenantId, lanes: Iterable[LaneId], now: datetime) -> LaneRow:
    """Of several that turn out to be one subject's, the oldest; the others go on in it."""
    order = list(tables.lanes)
    rows = {lane: tables.lanes[tenant, lane, Side.TURNS] for lane in lanes}
    first, *others = sorted(rows.values(), key=lambda row: order.index(row.id))
    for other in others:
        merge(tables, other, first, now)
    return first


def _unled(tables: Tables, tenant: TenantId, channel: ChannelName, lane: LaneId, key: str) -> LaneRow:
    """The lane that is meant; or, if names have led another subject there, one of its own."""
    number, free = 1, lane
    while (row := tables.lanes.get((tenant, free, Side.TURNS))) is not None and row.named:
        number += 1
        free = namesake_id(lane, number)
    return tables.heir(tables.lane(tenant, free, Side.TURNS, key, channel))
