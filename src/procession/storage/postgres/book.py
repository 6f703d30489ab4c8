"""The book of one transaction: what it holds is locked, and what it knows is forgotten when the transaction ends.

Rows that several processes write are taken before they are believed: a lane by its row, an effect by its lane's, an
outlet when it is written (it is read once more then, and has to be what it was). Whatever is needed beyond what the
batch has locked at its beginning is only taken if nobody has it, so nobody waits for a lock while he holds one out of
order.
"""

from collections.abc import Iterable
from typing import Any, Final

import psycopg.errors

from procession.core.ids import TenantId
from procession.storage.ledger.book import EFFECT_VALUES, LANE_VALUES, Book
from procession.storage.ledger.effect import Sent
from procession.storage.ledger.lane import Lane
from procession.storage.ledger.outlet import Outlet
from procession.storage.ledger.shares import Share
from procession.storage.postgres.contended import Contended, Needed
from procession.storage.postgres.names import PostgresNames
from procession.storage.postgres.rows import PostgresRows
from procession.storage.postgres.shares import PostgresShares

_TAKEN: Final = psycopg.errors.LockNotAvailable


class PostgresBook(Book):
    shares: PostgresShares

    def __init__(self, rows: PostgresRows, shares: PostgresShares, slot: int) -> None:
        self._step: int | None = None
        super().__init__(rows, shares)
        self.alone = False
        self.names = PostgresNames(rows, self.step)
        self._slot = slot
        self._outlets_read: dict[tuple[int, str], tuple[Any, ...] | None] = {}
        self._absent: set[tuple[int, str, str]] = set()
        """Lanes that were looked for, and are not there."""
        self._by_no: dict[int, Lane] = {}

    def step(self) -> int:
        """What this transaction counts from: later ones count from more."""
        if self._step is None:
            (self._step,) = self.execute("store.steps").fetchone()
        return self._step

    def take(self, needed: Needed) -> None:
        """The beginning of a batch: wait for all that it is known to need, each kind in one order."""
        if needed.holds:
            self.execute("book.wait_for", (sorted(needed.holds),)).fetchall()
        if needed.lanes or needed.lane_numbers:
            self._take_lanes(needed)
        if needed.outlets:
            tenants, channels = _columns(needed.outlets, 2)
            for row in self.execute("book.lock_outlets", (tenants, channels)).fetchall():
                self._outlets[row[0], row[1]] = Outlet(row)
                self._outlets_read[row[0], row[1]] = row

    def _take_lanes(self, needed: Needed) -> None:
        named, numbered = _columns(needed.lanes, 2), _columns(needed.lane_numbers, 2)
        for row in self.execute("book.lock_lanes", (*named, *numbered)).fetchall():
            self.adopt(row)
        for tenant, lane in needed.lanes:
            for side in ("turns", "sends"):
                if (tenant, lane, side) not in self._lanes:
                    self._absent.add((tenant, lane, side))

    # --- locks ---

    def hold(self, what: str) -> None:
        (got,) = self.execute("book.hold", (what,)).fetchone()
        if not got:
            raise Contended(Needed(holds=frozenset({what})))

    # --- tenants ---

    def tenant(self, tenant: TenantId) -> Share:
        share = self.shares.find(tenant)
        if share is None:
            share = self.shares.made(self.execute("book.insert_tenant", (tenant,)).fetchone())
        return share

    def reload_tenants(self) -> None:
        for no, tenant, weight, lanes_max, pool, active in self.execute("book.tenants").fetchall():
            self.shares.know(no, tenant)
            self.shares.configure(no, weight=weight, lanes_max=lanes_max, pool=pool, active=bool(active))

    # --- lanes ---

    def lane(self, tenant: int, lane: str, side: str) -> Lane | None:
        if (tenant, lane, side) in self._absent:
            return self._lanes.get((tenant, lane, side))
        try:
            found = super().lane(tenant, lane, side)
        except _TAKEN as error:
            raise Contended(Needed(lanes=frozenset({(tenant, lane)}))) from error
        if found is not None:
            self._by_no[found.no] = found
        return found

    def lane_numbered(self, tenant: int, no: int) -> Lane:
        known = self._by_no.get(no)
        if known is not None:
            return known
        try:
            return super().lane_numbered(tenant, no)
        except _TAKEN as error:
            raise Contended(Needed(lane_numbers=frozenset({(tenant, no)}))) from error

    def adopt(self, row: tuple[Any, ...]) -> Lane:
        found = super().adopt(row)
        self._by_no[found.no] = found
        return found

    def lane_made(self, tenant: int, lane: str, side: str, key: str, channel: str) -> Lane:
        if self.lane(tenant, lane, side) is None:
            # Two that make the same lanes would wait for one another at their keys, in whatever order they make them.
            self.hold(f"lane/{tenant}/{lane}")
        made = super().lane_made(tenant, lane, side, key, channel)
        self._by_no[made.no] = made
        return made

    def discard(self, lane: Lane) -> None:
        super().discard(lane)
        self._by_no.pop(lane.no, None)

    # --- effects ---

    def effect(self, tenant: int, effect: str) -> Sent | None:
        """Its lane is taken first: whoever has that may be changing it."""
        while True:
            row = self.execute("book.load_effect", (tenant, effect)).fetchone()
            if row is None or row[0] in self._effects or row[3] in self._by_no:
                return self._effect(row)
            self.lane_numbered(tenant, row[3])

    # --- outlets ---

    def outlet(self, tenant: int, channel: str) -> Outlet:
        key = (tenant, channel)
        known = self._outlets.get(key)
        if known is None:
            known = super().outlet(tenant, channel)
            self._outlets_read[key] = known.row
        return known

    # --- counting: places among the ready, numbers of lanes and reminders ---

    @property
    def ready_pos(self) -> int:
        return self._ready_pos or self.step()

    @ready_pos.setter
    def ready_pos(self, value: int) -> None:
        self._ready_pos = value

    @property
    def lane_no(self) -> int:
        return self._lane_no or self.step()

    @lane_no.setter
    def lane_no(self, value: int) -> None:
        self._lane_no = value

    @property
    def asked(self) -> int:
        return self._asked or self.step()

    @asked.setter
    def asked(self, value: int) -> None:
        self._asked = value

    # --- how rows are written ---

    def forget(self) -> None:
        super().forget()
        self._outlets_read.clear()
        self._absent.clear()
        self._by_no.clear()
        self._step = None
        self.ready_pos = self.lane_no = self.asked = self.names.newest = 0

    def _write_new(self, lane: Lane) -> None:
        super()._write_new(lane)
        self._absent.discard((lane.tenant, lane.lane, lane.side))

    def _write_changes(self, lane: Lane) -> None:
        self._is_written(self.execute("book.save_lane", (*LANE_VALUES(lane), *self._fence(lane))).rowcount)

    def _write_growth(self, lane: Lane) -> None:
        values = (lane.next_seq, lane.heard_at, lane.no)
        self._is_written(self.execute("book.grow_lane", (*values, *self._fence(lane))).rowcount)

    def _fence(self, lane: Lane) -> tuple[int, int, int]:
        """What the row has to be under still, compared by the statement that writes it."""
        return lane.tenant, lane.kept_epoch, self.era

    @staticmethod
    def _is_written(count: int) -> None:
        if count != 1:
            raise Contended  # a new era has begun meanwhile

    def _write_effect(self, sent: Sent) -> None:
        *values, _ = EFFECT_VALUES(sent)
        self.execute("book.save_effect", (*values, sent.id, sent.tenant))

    def _write_outlets(self) -> None:
        for key, outlet in sorted(self._changed_outlets.items()):
            self._take_outlet(key)
            self.execute("book.save_outlet", outlet.row)
            self._outlets_read[key] = outlet.row

    def _take_outlet(self, key: tuple[int, str]) -> None:
        """What was read has to be there still."""
        try:
            there = self.execute("book.outlet_as_read", key).fetchone()
        except _TAKEN as error:
            raise Contended(Needed(outlets=frozenset({key}))) from error
        if there is None:
            if self.execute("book.insert_outlet", self._changed_outlets[key].row).rowcount != 1:
                raise Contended(Needed(outlets=frozenset({key})))
        elif there != self._outlets_read[key]:
            raise Contended(Needed(outlets=frozenset({key})))

    def _write_tallies(self, rows: dict[int, dict[str, int]]) -> None:
        """In the tenants' order, since these rows are waited for."""
        self.rows.executemany("book.tally", [{**rows[tenant], "slot": self._slot} for tenant in sorted(rows)])


def _columns(rows: Iterable[tuple[Any, ...]], width: int) -> tuple[list[Any], ...]:
    sorted_rows = sorted(rows)
    return tuple([row[at] for row in sorted_rows] for at in range(width))
