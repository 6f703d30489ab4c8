"""The book of one transaction: what it holds is locked, and what it knows is forgotten when the transaction ends.

Rows that several processes write are taken before they are believed: a lane by its row, an effect by its lane's, an
outlet when it is written (it is read once more then, and has to be what it was). Whatever is needed beyond what the
batch has locked at its beginning is only taken if nobody has it, so nobody waits for a lock while he holds one out of
order.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import psycopg.errors

from procession.core.ids import TenantId
from procession.storage.ledger.book import LANE_VALUES, Book
from procession.storage.ledger.effect import EFFECT_VALUES, Sent
from procession.storage.ledger.lane import SENDS, TURNS, Lane
from procession.storage.ledger.outlet import Outlet
from procession.storage.ledger.shares import Share
from procession.storage.postgres.contended import Contended, Needed
from procession.storage.postgres.names import PostgresNames
from procession.storage.postgres.rows import PostgresRows
from procession.storage.postgres.shares import PostgresShares
from procession.storage.rows import Arguments

_TAKEN: Final = psycopg.errors.LockNotAvailable

_BLIND: Final = frozenset(
    {
        *("book.hold", "book.load_lane", "book.load_lane_numbered", "book.load_effect", "book.load_effect_at"),
        *("book.load_outlet", "book.outlet_as_read", "book.save_outlet", "book.insert_outlet", "store.steps"),
        *("claim.payload", "claim.state", "claim.steps", "settle.effect", "settle.effect_known", "settle.step"),
        *("settle.forget_steps", "settle.try", "settle.reminder", "settle.reminder_off", "accept.known"),
        *("accept.quarantine", "accept.keep_sighting", "accept.take_sighting", "accept.effect_of_ref"),
    }
)
"""Statements that see neither events nor states, or only those that nobody has in hand."""
_OF_EVENTS: Final = frozenset({"claim.events", "claim.window_run", "rest.windows"})
"""And those that see events alone."""


class PostgresBook(Book):
    shares: PostgresShares
    rows: PostgresRows

    def __init__(self, rows: PostgresRows, shares: PostgresShares, slot: int) -> None:
        self._step: int | None = None
        super().__init__(rows, shares)
        self.names = PostgresNames(rows, self.step)
        self._slot = slot
        self._outlets_read: dict[tuple[int, str], tuple[Any, ...] | None] = {}
        self._absent: set[tuple[int, str, str]] = set()
        """Lanes that were looked for, and are not there."""
        self._by_no: dict[int, Lane] = {}
        self._waiting: dict[str, list[tuple[Any, ...]]] = {}
        """Rows to be written, by statement: at the end of the batch, or when somebody is going to look for them."""
        self._events: dict[tuple[int, str], bool] = {}
        """Events that were asked for: whether they are here."""
        self._states: dict[int, tuple[int, int, bytes]] = {}
        self._held: set[str] = set()
        self.execute = self._execute

    def _execute(self, name: str, arguments: Arguments = (), /) -> Any:  # noqa: ANN401  # as `Rows` has it
        if (self._states or self._waiting) and name not in _BLIND:
            self._send_events()
            if name not in _OF_EVENTS:
                self._send_states()
        return self.rows.execute(name, arguments)

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
            for side in (TURNS, SENDS):
                if (tenant, lane, side) not in self._lanes:
                    self._absent.add((tenant, lane, side))
        self._hold_all({_making(tenant, lane) for tenant, lane, _ in self._absent})

    def _hold_all(self, wanted: set[str]) -> None:
        """Who makes lanes has to be alone with that; asked for together, since a batch may bring many that are new."""
        if not wanted:
            return
        self._held = {name for (name,) in self.execute("book.hold_all", (sorted(wanted),)).fetchall()}
        if self._held != wanted:
            raise Contended(Needed(holds=frozenset(wanted - self._held)))

    def take_events(self, events: Iterable[tuple[int, str]]) -> None:
        """Those that are going to be written: which of them are here already. Their lanes are taken."""
        self._events = dict.fromkeys(events, False)
        if self._events:
            for row in self.execute("accept.known_of", _columns(self._events, 2)).fetchall():
                self._events[row] = True

    # --- locks ---

    def hold(self, what: str) -> None:
        if what in self._held:
            return
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
            self.hold(_making(tenant, lane))
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

    # --- events and states: written together, at the end ---

    def insert_event(self, row: tuple[Any, ...]) -> bool:
        is_here = self._events.get(row[:2])
        if is_here is None:
            return super().insert_event(row)
        if not is_here:
            self._events[row[:2]] = True
            self._write("accept.events", row)
        return not is_here

    def insert_whole_event(self, row: tuple[Any, ...]) -> None:
        _all_written(self.execute("accept.event_whole", row).rowcount, 1)
        self._events[row[:2]] = True

    def knows_event(self, tenant: int, event: str) -> bool:
        is_here = self._events.get((tenant, event))
        return super().knows_event(tenant, event) if is_here is None else is_here

    def keep_state(self, lane: Lane, state: bytes) -> None:
        self._states[lane.no] = (lane.no, lane.tenant, state)

    def state_of(self, lane: Lane) -> bytes | None:
        kept = self._states.get(lane.no)
        return super().state_of(lane) if kept is None else kept[2]

    def take_ready(self, statement: str, counts: Mapping[int, int]) -> dict[int, list[tuple[Any, ...]]]:
        """Of all tenants at once. What another has locked by now is passed over, so there may be fewer."""
        found: dict[int, list[tuple[Any, ...]]] = {}
        if counts:
            for row in self.execute(statement, _columns(counts.items(), 2)).fetchall():
                found.setdefault(row[1], []).append(row)
        return found

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
        self._waiting.clear()
        self._events.clear()
        self._states.clear()
        self._held.clear()
        self._step = None
        self.ready_pos = self.lane_no = self.asked = self.names.newest = 0

    def flush(self) -> None:
        super().flush()
        self._send_events()
        self._send_states()
        self._send("book.save_effect")

    def _flush_lanes(self) -> None:
        super()._flush_lanes()
        self._send_lanes()

    def flush_effects(self) -> None:
        super().flush_effects()
        self._send("book.save_effect")

    def _write(self, statement: str, row: tuple[Any, ...]) -> None:
        self._waiting.setdefault(statement, []).append(row)

    def _write_new(self, lane: Lane) -> None:
        named = (lane.tenant, lane.lane, lane.side, lane.key, lane.channel)
        self._write("book.insert_lane", (*LANE_VALUES(lane), *named))
        self._absent.discard((lane.tenant, lane.lane, lane.side))

    def _write_changes(self, lane: Lane) -> None:
        self._write("book.save_lane", (*LANE_VALUES(lane), *self._fence(lane)))

    def _write_growth(self, lane: Lane) -> None:
        self._write("book.grow_lane", (lane.next_seq, lane.heard_at, lane.no, *self._fence(lane)))

    def _write_effect(self, sent: Sent) -> None:
        *values, _ = EFFECT_VALUES(sent)
        self._write("book.save_effect", (*values, sent.id, sent.tenant))

    def _fence(self, lane: Lane) -> tuple[int, int, int]:
        """What the row has to be under still, compared by the statement that writes it."""
        return lane.tenant, lane.kept_epoch, self.era

    def _send_lanes(self) -> None:
        for statement in ("book.insert_lane", "book.save_lane", "book.grow_lane"):
            self._send(statement)

    def _send_events(self) -> None:
        """Also lanes that have only grown: where they are, their events may be looked for."""
        events = self._waiting.pop("accept.events", None)
        if events:
            columns = [list(column) for column in zip(*events, strict=True)]
            _all_written(self.rows.execute("accept.events", columns).rowcount, len(events))
        self._send_lanes()

    def _send_states(self) -> None:
        if self._states:
            states, self._states = list(self._states.values()), {}
            self.rows.executemany("settle.state", states)

    def _send(self, statement: str) -> None:
        """All that wait for one statement, in one round trip."""
        rows = self._waiting.pop(statement, None)
        if rows:
            _all_written(self.rows.executemany(statement, rows), len(rows))

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


def _making(tenant: int, lane: str) -> str:
    return f"lane/{tenant}/{lane}"


def _columns(rows: Iterable[tuple[Any, ...]], width: int) -> tuple[list[Any], ...]:
    sorted_rows = sorted(rows)
    return tuple([row[at] for row in sorted_rows] for at in range(width))


def _all_written(count: int, wanted: int) -> None:
    if count != wanted:
        raise Contended  # a new era has begun meanwhile, or another wrote the same event in another lane
