"""The book: what an operation works with, inside a transaction of the writer.

It holds the way to the rows, the store's time, and the rows that are being changed. An operation asks for lanes and
effects, changes them in place, says so (`changed`), and the rows are written once, when it ends (`flush`). Where one
process owns the file, and one connection writes to it, lanes stay in memory after that, so that a lane that is claimed,
settled and claimed again is read once. Whatever goes wrong (a rollback, another's statement on these tables) makes the
book forget.

The write of a lane compares the epoch that the row had when it was read, in the same statement (G6); since all of this
happens inside one write transaction, a row that did not match would be an error of ours, and raises.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any, Final

from procession.core.ids import LaneId, TenantId, WorkerId
from procession.core.lane import Lease, Side
from procession.storage.instants import moment
from procession.storage.ledger import lane as lanes
from procession.storage.ledger.effect import EFFECT_VALUES, Sent
from procession.storage.ledger.lane import HELD, Lane
from procession.storage.ledger.names import Names
from procession.storage.ledger.outlet import Outlet, new_outlet
from procession.storage.ledger.shares import Share, Shares
from procession.storage.ledger.tally import ENDED_AS, NO_TALLY
from procession.storage.rows import Rows

_LOAD_LANE: Final = "book.load_lane"
_INSERT_LANE: Final = "book.insert_lane"
_SAVE_LANE: Final = "book.save_lane"
_GROW_LANE: Final = "book.grow_lane"
_CLOSING: Final = "merge.closing"

LANE_VALUES: Final[Callable[[Lane], tuple[Any, ...]]] = attrgetter(*Lane.COLUMNS[Lane.COLUMNS.index("phase") :], "no")
"""Of save_lane and insert_lane: every column from `phase` on, in the table's order, then the number."""
LANES_KEPT_MAX: Final = 4_096
"""Lanes that stay in memory between operations: about 4 MB."""


class Book:
    def __init__(self, rows: Rows, shares: Shares) -> None:
        self.rows = rows
        self.execute = rows.execute
        self.shares = shares
        self.names = Names(rows)
        self.now = 0
        """The instant of the present batch."""
        self.era = 0
        self.sending_paused = False
        self.tally: Counter[tuple[int, str]] = Counter()
        """What the present transaction adds to procession_tally: (tenant, column)."""
        self.doubts_ended: Counter[str] = Counter()
        """Doubts whose wait was over, by what became of them: for whoever sweeps."""
        self.ready_pos = 0
        self.lane_no = 0
        self.asked = 0
        """The newest number that was given to a reminder."""
        self.turns: list[tuple[int, int, int, int, str, str, int, int | None, int]] = []
        """Rows for procession_turn, written together at the end of the transaction."""
        self._lanes: dict[tuple[int, str, str], Lane] = {}
        self._effects: dict[int, Sent] = {}
        self._effects_at: dict[tuple[int, int], Sent] = {}
        self._changed_lanes: dict[int, Lane] = {}
        self._grown_lanes: dict[int, Lane] = {}
        self._changed_effects: dict[int, Sent] = {}
        self._outlets: dict[tuple[int, str], Outlet] = {}
        self._changed_outlets: dict[tuple[int, str], Outlet] = {}

    def hold(self, what: str) -> None:
        """Nobody else does this until the transaction ends. Where one process owns the file, nobody else could."""

    @property
    def moment(self) -> datetime:
        return moment(self.now)

    # --- tenants ---

    def tenant(self, tenant: TenantId) -> Share:
        """The tenant's row, made on first use: the store does not ask whether the directory knows it."""
        share = self.shares.find(tenant)
        if share is None:
            (no,) = self.execute("book.insert_tenant", (tenant,)).fetchone()
            share = Share(no, tenant)
            self.shares.add(share)
        return share

    def reload_tenants(self) -> None:
        """The directory has written procession_tenant: fairness goes by it from now on."""
        for no, tenant, weight, lanes_max, pool, active in self.execute("book.tenants").fetchall():
            if self.shares.find(tenant) is None:
                self.shares.add(Share(no, tenant))
            self.shares.configure(no, weight=weight, lanes_max=lanes_max, pool=pool, active=bool(active))

    # --- lanes ---

    def lane(self, tenant: int, lane: str, side: str) -> Lane | None:
        key = (tenant, lane, side)
        found = self._lanes.get(key)
        if found is None:
            row = self.execute(_LOAD_LANE, key).fetchone()
            if row is None:
                return None
            found = self._lanes[key] = Lane(row)
        return found

    def lane_numbered(self, tenant: int, no: int) -> Lane:
        # One that was made by this operation may have no row yet.
        return self._changed_lanes.get(no) or self.adopt(
            self.execute("book.load_lane_numbered", (tenant, no)).fetchone()
        )

    def adopt(self, row: tuple[Any, ...]) -> Lane:
        """The lane of a row that was read by another statement."""
        found = self._lanes.get((row[1], row[2], row[3]))
        if found is None:
            found = Lane(row)
            self._lanes[found.tenant, found.lane, found.side] = found
        return found

    def lane_made(self, tenant: int, lane: str, side: str, key: str, channel: str) -> Lane:
        """The lane, made on first use."""
        found = self.lane(tenant, lane, side)
        if found is None:
            self.lane_no += 1
            found = self._lanes[tenant, lane, side] = lanes.new_lane(self.lane_no, tenant, lane, side, key, channel)
            self._changed_lanes[found.no] = found
            if side == lanes.TURNS:
                self.tally[tenant, "lanes"] += 1
        return found

    def discard(self, lane: Lane) -> None:
        """It was made for nothing."""
        del self._lanes[lane.tenant, lane.lane, lane.side], self._changed_lanes[lane.no]
        if lane.side == lanes.TURNS:
            self.tally[lane.tenant, "lanes"] -= 1

    def heir(self, lane: Lane) -> Lane:
        """The same side of the lane that takes what is new for this one: itself, unless it was merged."""
        while lane.merged_into is not None:
            lane = self.lane_numbered(lane.tenant, lane.merged_into)
        return lane

    def family(self, lane: Lane) -> list[Lane]:
        """The same side of all lanes that are one by now: those that have not come to their end, and, as the last, the
        one that goes on.
        """
        heir = self.heir(lane)
        if not heir.merging:
            return [heir]
        self._flush_lanes()
        return [*self._closing_into(heir), heir]

    def both_families(self, turns: Lane) -> list[Lane]:
        """The same of both sides, made on first use."""
        heir = self.heir(turns)
        sends = self.lane_made(heir.tenant, heir.lane, lanes.SENDS, heir.key, heir.channel)
        return [*self.family(heir), *self.family(sends)]

    def _closing_into(self, lane: Lane) -> list[Lane]:
        if not lane.merging:
            return []
        own = [self.adopt(row) for row in self.execute(_CLOSING, (lane.tenant, lane.no)).fetchall()]
        return [each for other in own for each in (*self._closing_into(other), other)]

    def fenced(self, lease: Lease, side: Side) -> Lane | None:
        """The lane, if it is held under exactly this lease (G6)."""
        if lease.side is not side or lease.era != self.era:
            return None
        share = self.shares.find(lease.tenant)
        lane = None if share is None else self.lane(share.no, lease.lane, side.value)
        return lane if lane is not None and lane.phase == HELD and lane.epoch == lease.epoch else None

    def lease(self, lane: Lane) -> Lease:
        return Lease(
            tenant=TenantId(self.shares[lane.tenant].tenant),
            lane=LaneId(lane.lane),
            side=Side(lane.side),
            era=self.era,
            epoch=lane.epoch,
            worker=WorkerId(lane.worker),
        )

    def changed(self, lane: Lane) -> None:
        self._changed_lanes[lane.no] = lane

    def grown(self, lane: Lane) -> None:
        """Something was appended behind the head of a lane that goes on as it was: only `next_seq` and `heard_at` may
        have changed.
        """
        self._grown_lanes[lane.no] = lane

    # --- effects ---

    def effect(self, tenant: int, effect: str) -> Sent | None:
        return self._effect(self.execute("book.load_effect", (tenant, effect)).fetchone())

    def effect_at(self, lane: Lane, oseq: int) -> Sent | None:
        if oseq >= lane.next_seq:
            return None
        # What an operation has read already it need not look for again: its head, once recorded, is passed, and so on.
        found = self._effects_at.get((lane.no, oseq))
        if found is not None:
            return found
        return self._effect(self.execute("book.load_effect_at", (lane.tenant, lane.no, oseq)).fetchone())

    def _effect(self, row: tuple[Any, ...] | None) -> Sent | None:
        if row is None:
            return None
        no = row[0]
        found = self._effects.get(no)
        if found is None:
            found = Sent(row)
            self._effects[found.no] = self._effects_at[found.lane, found.oseq] = found
        return found

    def changed_effect(self, sent: Sent) -> None:
        self._changed_effects[sent.no] = sent

    def move_effects(self, statement: str, arguments: dict[str, int]) -> None:
        """Write many at once, to other places; none that was read before is there any more."""
        self.flush_effects()
        self._effects.clear()
        self._effects_at.clear()
        self.execute(statement, arguments)

    # --- events and states ---

    def insert_event(self, row: tuple[Any, ...]) -> bool:
        """False: it is here already."""
        return bool(self.execute("accept.event", row).rowcount)

    def insert_whole_event(self, row: tuple[Any, ...]) -> None:
        """One that is not here."""
        self.execute("accept.event_whole", row)

    def knows_event(self, tenant: int, event: str) -> bool:
        return self.execute("accept.known", (tenant, event)).fetchone() is not None

    def keep_state(self, lane: Lane, state: bytes) -> None:
        self.execute("settle.state", (lane.no, lane.tenant, state))

    def state_of(self, lane: Lane) -> bytes | None:
        if not lane.has_state:
            return None
        (state,) = self.execute("claim.state", (lane.tenant, lane.no)).fetchone()
        return bytes(state)

    def take_ready(self, statement: str, counts: Mapping[int, int]) -> dict[int, list[tuple[Any, ...]]]:
        """The rows of so many ready lanes of each tenant."""
        found = {no: self.execute(statement, (no, count)).fetchall() for no, count in counts.items()}
        assert all(len(found[no]) == count for no, count in counts.items()), "fairness does not count as the file does"
        return found

    # --- reminders ---

    def next_asked(self) -> int:
        self.asked += 1
        return self.asked

    # --- outlets ---

    def outlet(self, tenant: int, channel: str) -> Outlet:
        """Kept in memory like lanes; one of which nothing is known has no row."""
        key = (tenant, channel)
        found = self._outlets.get(key)
        if found is None:
            row = self.execute("book.load_outlet", key).fetchone()
            found = self._outlets[key] = new_outlet(tenant, channel) if row is None else Outlet(row)
        return found

    def changed_outlet(self, outlet: Outlet) -> None:
        self._changed_outlets[outlet.tenant, outlet.channel] = outlet

    # --- the end of an operation, and of a transaction ---

    def flush(self) -> None:
        """Write what the operation has changed."""
        if self._grown_lanes:
            for no, lane in self._grown_lanes.items():
                if no not in self._changed_lanes:
                    self._write_growth(lane)
            self._grown_lanes.clear()
        if self._changed_lanes:
            self._flush_lanes()
        if self._effects:
            self.flush_effects()
            self._effects.clear()
            self._effects_at.clear()
        if self._changed_outlets:
            self._write_outlets()
            self._changed_outlets.clear()
        if len(self._lanes) > LANES_KEPT_MAX:
            self._lanes.clear()
        if len(self._outlets) > LANES_KEPT_MAX:
            self._outlets.clear()
        self.names.trim()

    def _flush_lanes(self) -> None:
        for lane in self._changed_lanes.values():
            self._save_lane(lane)
        self._changed_lanes.clear()

    def flush_effects(self) -> None:
        """Write the effects only: a statement is going to look for them by something else than their keys."""
        for sent in self._changed_effects.values():
            self._save_effect(sent)
        self._changed_effects.clear()

    def flush_turns(self) -> None:
        """Write the turns that ended: a statement is going to look for them."""
        if self.turns:
            self.rows.executemany("book.insert_turn", self.turns)
            self.turns.clear()

    def finish(self) -> None:
        """Write what the transaction has gathered, before its commit."""
        self.flush_turns()
        if self.tally:
            rows: dict[int, dict[str, int]] = {}
            for (tenant, column), amount in self.tally.items():
                rows.setdefault(tenant, {"tenant": tenant, **NO_TALLY})[column] += amount
            self._write_tallies(rows)
            self.tally.clear()

    def forget(self) -> None:
        """What is in memory may not be what is in the file any more."""
        self._lanes.clear()
        self._effects.clear()
        self._effects_at.clear()
        self._changed_lanes.clear()
        self._grown_lanes.clear()
        self._changed_effects.clear()
        self._outlets.clear()
        self._changed_outlets.clear()
        self.names.forget()
        self.turns.clear()
        self.tally.clear()

    def _save_lane(self, lane: Lane) -> None:
        if lane.fresh:
            self._write_new(lane)
            lane.fresh = False
        else:
            self._write_changes(lane)
        suspect = lane.deaths > 0
        if lane.kept_phase != lane.phase or lane.kept_suspect is not suspect:
            before = (lane.kept_phase, lane.kept_suspect)
            self.shares.moved(lane.tenant, lane.side, before, (lane.phase, suspect))
            lane.kept_phase, lane.kept_suspect = lane.phase, suspect
        lane.kept_epoch = lane.epoch

    def _save_effect(self, sent: Sent) -> None:
        self._write_effect(sent)
        if sent.state != sent.kept_state and sent.state in ENDED_AS:
            self.tally[sent.tenant, ENDED_AS[sent.state]] += 1
        if sent.resends != sent.kept_resends:
            self.tally[sent.tenant, "resent"] += sent.resends - sent.kept_resends
        if sent.gate_expired != sent.kept_gate_expired:
            self.tally[sent.tenant, "gates_expired"] += 1
        sent.kept_state, sent.kept_resends, sent.kept_gate_expired = sent.state, sent.resends, sent.gate_expired

    # --- how rows are written, where the lock of the file is all the locks there are ---

    def _write_new(self, lane: Lane) -> None:
        named = (lane.tenant, lane.lane, lane.side, lane.key, lane.channel)
        self.execute(_INSERT_LANE, (*LANE_VALUES(lane), *named))

    def _write_changes(self, lane: Lane) -> None:
        written = self.execute(_SAVE_LANE, (*LANE_VALUES(lane), lane.kept_epoch)).rowcount
        assert written == 1, f"lane {lane.no} was not under epoch {lane.kept_epoch} any more"

    def _write_growth(self, lane: Lane) -> None:
        self.execute(_GROW_LANE, (lane.next_seq, lane.heard_at, lane.no, lane.kept_epoch))

    def _write_effect(self, sent: Sent) -> None:
        self.execute("book.save_effect", EFFECT_VALUES(sent))

    def _write_outlets(self) -> None:
        self.rows.executemany("book.save_outlet", [each.row for each in self._changed_outlets.values()])

    def _write_tallies(self, rows: dict[int, dict[str, int]]) -> None:
        self.rows.executemany("book.tally", rows.values())
