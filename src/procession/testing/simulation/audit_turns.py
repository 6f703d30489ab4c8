"""The turns of all lanes, by the auditor's own books: S4, S5a, S5b, S7, S14, P5, C3, windows, pauses, tries and deaths.

The books are driven by what the store has really done, in that order, and are kept by the rules of the port's contract.
So each claim can be compared with the whole of what it should have answered.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from procession.core.ids import EventId, LaneId, TenantId
from procession.core.lane import Lease
from procession.core.turn import Advance, Delay, HeldTurn, Park, SetAside, Settled, Settlement, Step
from procession.core.verdict import Fate as Written
from procession.ports.directory import Tenant
from procession.ports.store import Ask
from procession.testing.simulation.audit_intake import Fate, IntakeAudit, Known, LaneKey, ReminderSet
from procession.testing.simulation.history import History
from procession.testing.simulation.lane_book import LaneBook
from procession.testing.simulation.rare import Rare, RareCounts
from procession.testing.simulation.workload import TRIES_MAX

_ALONE_MAX: Final = 3
FOREVER: Final = datetime.max.replace(tzinfo=UTC)
_KILLED: Final = "it killed its process"


class TurnsAudit:
    def __init__(
        self, history: History, intake: IntakeAudit, tenants: Mapping[TenantId, Tenant], rare: RareCounts
    ) -> None:
        self.lanes: dict[LaneKey, LaneBook] = {}
        self.failures: Counter[EventId] = Counter()
        """How often the handler itself has failed, since the turn began."""
        self.era = 1
        self._history = history
        self._intake = intake
        self._tenants = tenants
        self._rare = rare
        self._running: dict[str, dict[EventId, bool]] = {}
        """By node: the turns whose handler runs, and whether alone."""
        self._played: set[tuple[TenantId, EventId, int]] = set()

    def lane(self, tenant: TenantId, lane: LaneId) -> LaneBook:
        found = self.lanes.get((tenant, lane))
        if found is None:
            found = self.lanes[tenant, lane] = LaneBook(tenant=tenant, lane=lane)
        return found

    # --- claims ---

    def claimed(self, ask: Ask, turns: Sequence[HeldTurn], at: datetime) -> None:
        for held in turns:
            if ask.suspects != (held.deaths > 0):
                self._fail(
                    "C", f"a claim for {'suspects' if ask.suspects else 'others'} took {held.deaths} deaths", held
                )
            if ask.alone and len(turns) > 1:
                self._fail("C5", "a claim alone took several", held)
            self._claim(held, at + ask.ttl, at, alone=ask.alone)

    def _claim(self, held: HeldTurn, until: datetime, at: datetime, *, alone: bool) -> None:
        lane = self.lane(held.lease.tenant, held.lease.lane)
        self._history.note(
            held.lease.worker,
            "claims",
            (held.lease.lane, held.id),
            f"epoch {held.lease.epoch}",
            f"try {held.tries}",
            f"deaths {held.deaths}/{held.deaths_alone}" + (" alone" if alone else ""),
        )
        self._check_free(lane, held, at)
        lane.epoch, lane.held_until, lane.worker = held.lease.epoch, until, held.lease.worker
        ids = tuple(event.id for event in held.events)
        if lane.turn:
            if ids != lane.turn:
                self._fail("C4", f"the turn {lane.turn} is frozen, and was claimed as {ids}", held)
        else:
            self._open(lane, held, at)
        lane.turn = ids
        lane.tries += 1
        lane.open_try, lane.open_alone, lane.not_before = True, alone, None
        self._check_content(lane, held)
        self._check_share(lane, held)

    def _check_free(self, lane: LaneBook, held: HeldTurn, at: datetime) -> None:
        if held.lease.epoch <= lane.epoch:
            self._fail("S7", f"epoch {held.lease.epoch} was claimed after {lane.epoch}", held)
        if held.lease.era != self.era:
            self._fail("S7b", f"a lease of era {held.lease.era} was given in era {self.era}", held)
        if lane.held_until is not None:
            self._fail("S7", f"it was claimed while {lane.worker} holds it until {lane.held_until:%T.%f}", held)
        if lane.parked:
            self._fail("T5", "a parked lane was claimed", held)
        if lane.paused_until is not None and at < lane.paused_until:
            self._fail("T10", f"it is paused until {lane.paused_until:%T.%f}, and was claimed", held)
        if lane.not_before is not None and at < lane.not_before:
            self._fail("T4", f"it has to wait until {lane.not_before:%T.%f}, and was claimed", held)

    def _open(self, lane: LaneBook, held: HeldTurn, at: datetime) -> None:
        """A turn that was not claimed before: is it the one whose turn it is?"""
        known = [self._intake.seen(event, at) for event in held.events]
        first = held.events[0]
        lane.replayed = first.id in lane.replays
        if lane.replayed:
            self._check_replay(lane, held)
            lane.replays.discard(first.id)
            return
        if lane.replays:
            self._fail("S15", "a replay has to come before whatever waits", held)
        expected = list(range(lane.cursor + 1, lane.cursor + 1 + len(held.events)))
        if [event.seq for event in held.events] != expected:
            self._fail("S5a", f"seqs {[event.seq for event in held.events]} are played behind {lane.cursor}", held)
        for event in known:
            if event is not None and event.fate is not Fate.WAITING:
                self._fail("S4", f"{event.id} is {event.fate} already, and is played", held)
        self._check_window([event for event in known if event is not None], held, at)

    def _check_replay(self, lane: LaneBook, held: HeldTurn) -> None:
        seqs = [self._intake.known[lane.tenant, event].seq or 0 for event in lane.replays]
        if len(held.events) != 1 or held.events[0].seq != min(seqs):
            self._fail("S15", "a replay is one event, the oldest of those to be replayed", held)

    def _check_window(self, events: list[Known], held: HeldTurn, at: datetime) -> None:
        """Had the window of these events, or of the first of them, ended by now?"""
        first = events[0].window if events else None
        if len(events) > 1 and (first is None or any(event.window is None for event in events)):
            self._fail("C4", "events without a window were played together", held)
            return
        if first is None or any(event.placed_at is None for event in events):
            return
        if len(events) > first.events_max:
            self._fail("C4", f"{len(events)} events in a turn of at most {first.events_max}", held)
        begun = events[0].placed_at
        for number, event in enumerate(events, 1):
            window, placed = event.window, event.placed_at
            assert window is not None
            assert placed is not None
            assert begun is not None
            if number >= first.events_max or window.flushes or min(placed + window.quiet, begun + first.wait_max) <= at:
                return
        self._fail("A6", f"it was claimed at {at:%T.%f}, within its window", held)

    def _check_content(self, lane: LaneBook, held: HeldTurn) -> None:
        if (held.tries, held.deaths, held.deaths_alone) != (lane.tries, lane.deaths, lane.deaths_alone):
            told = f"{held.tries} tries, {held.deaths} deaths, {held.deaths_alone} alone"
            self._fail("S14", f"{told}; it has {lane.tries}, {lane.deaths}, {lane.deaths_alone}", held)
        if held.state != lane.state:
            self._fail("P5", f"the lane's state is {held.state!r}, and was kept as {lane.state!r}", held)
        kept = lane.steps.get(held.id, {})
        if {(step.name, step.occurrence): step.value for step in held.steps} != kept:
            self._fail("M1", f"{len(held.steps)} steps came with it, of {len(kept)}", held)

    def _check_share(self, lane: LaneBook, held: HeldTurn) -> None:
        most = self._tenants[lane.tenant].lanes_max
        if most is None:
            return
        count = sum(1 for own in self.lanes.values() if own.tenant == lane.tenant and own.held_until is not None)
        if count > most:
            self._fail("C3", f"{lane.tenant} holds {count} lanes of at most {most}", held)

    # --- writes of the holder ---

    def remembered(self, lease: Lease, turn: EventId, steps: Sequence[Step], written: Written) -> bool:
        """Whether it counts."""
        lane = self.lane(lease.tenant, lease.lane)
        ours = lane.is_held(lease, self.era) and lane.turn[:1] == (turn,)
        self._history.note(lease.worker, "remembers", (lease.lane, turn), f"epoch {lease.epoch}", written, len(steps))
        self._compare("remember", lane, lease, turn, ours=ours, kept=written is Written.KEPT)
        if written is Written.KEPT and ours:
            own = lane.steps.setdefault(turn, {})
            for step in steps:
                own.setdefault((step.name, step.occurrence), step.value)
            return True
        return False

    def settled(self, settlement: Settlement, answer: Settled, at: datetime) -> bool:
        """Whether it counts, and for the first time."""
        lease, turn = settlement.lease, settlement.turn
        lane = self.lane(lease.tenant, lease.lane)
        outcome = settlement.outcome
        self._history.note(
            lease.worker,
            "settles",
            (lease.lane, turn),
            f"epoch {lease.epoch}",
            type(outcome).__name__,
            answer.fate,
            getattr(outcome, "reason", ""),
        )
        again = lane.settled == (lease.epoch, turn) and lease.era == self.era
        ours = lane.is_held(lease, self.era) and lane.turn[:1] == (turn,)
        if again:
            if answer.fate is not Written.KEPT:
                self._fail_lane("T1", "a settlement that was kept was called lost when it was repeated", lane, turn)
            return False
        self._compare("settle", lane, lease, turn, ours=ours, kept=answer.fate is Written.KEPT)
        if not ours or answer.fate is not Written.KEPT:
            return False
        self._end(lane, settlement, at)
        if answer.next is not None:
            assert settlement.keep_for is not None
            if answer.next.deaths:
                self._fail("T11", "a suspect was kept", answer.next)
            self._claim(answer.next, at + settlement.keep_for, at, alone=False)
        return True

    def _compare(self, what: str, lane: LaneBook, lease: Lease, turn: EventId, *, ours: bool, kept: bool) -> None:
        if kept and not ours:
            text = f"{what} under epoch {lease.epoch} was kept; the lane is at {lane.epoch}, held: {lane.worker!r}"
            self._fail_lane("S7", text, lane, turn)
        elif not kept and ours:
            self._fail_lane("G6", f"{what} under epoch {lease.epoch} was refused, and the lane is held so", lane, turn)
        elif not kept and lease.epoch < lane.epoch:
            self._rare[Rare.STALE_WRITE_REFUSED] += 1

    def _end(self, lane: LaneBook, settlement: Settlement, at: datetime) -> None:
        turn, outcome = settlement.turn, settlement.outcome
        lane.let_go()
        lane.settled = (settlement.lease.epoch, turn)
        deaths, alone = lane.deaths, lane.deaths_alone
        lane.deaths = lane.deaths_alone = 0
        match outcome:
            case Advance():
                self._advance(lane, settlement, at)
            case Delay(after=after, counts=counts):
                lane.not_before = at + after
                lane.tries -= deaths + (0 if counts else 1)
            case Park(reason=reason):
                lane.parked = True
                self._check_given_up(lane, turn, reason, alone)
            case SetAside(reason=reason):
                self._check_given_up(lane, turn, reason, alone)
                self._pass(lane, Fate.SET_ASIDE)

    def _advance(self, lane: LaneBook, settlement: Settlement, at: datetime) -> None:
        if settlement.state is not None:
            lane.state = settlement.state
        lane.steps.pop(settlement.turn, None)
        if (lane.tenant, settlement.turn, settlement.lease.epoch) in self._played:
            lane.played += 1
        if lane.replayed:
            self._rare[Rare.SET_ASIDE_AND_REPLAYED] += 1
        self._pass(lane, Fate.DONE)
        for name in settlement.cancel_reminders:
            self._intake.end_reminder(lane.tenant, lane.lane, name, at)
        for draft in settlement.reminders:
            reminder = ReminderSet(tenant=lane.tenant, lane=lane.lane, name=draft.name, due_at=at + draft.after)
            self._intake.set_reminder(draft.payload, reminder, at)
        if settlement.pause is not None:
            lane.paused_until = FOREVER if settlement.pause.duration is None else at + settlement.pause.duration

    def _pass(self, lane: LaneBook, fate: Fate) -> None:
        for event in lane.turn:
            known = self._intake.known[lane.tenant, event]
            known.fate = fate
            lane.cursor = max(lane.cursor, known.seq or 0)
        lane.end_turn()
        lane.replayed = False

    def _check_given_up(self, lane: LaneBook, turn: EventId, reason: str, alone: int) -> None:
        """An innocent turn is never given up, and a guilty one not before its time."""
        known = self._intake.known.get((lane.tenant, turn))
        plan = None if known is None else known.planned
        if reason.startswith(_KILLED):
            if alone < _ALONE_MAX:
                self._fail_lane("P9", f"given up as a killer after {alone} deaths alone", lane, turn)
        elif reason.startswith("after "):
            if self.failures[turn] < TRIES_MAX:
                text = f"given up ({reason}), and its handler has failed {self.failures[turn]} times"
                self._fail_lane("P9", text, lane, turn)
        elif plan is None or not plan.may_fail:
            self._fail_lane("P9", f"an innocent turn was given up: {reason}", lane, turn)
        self.failures[turn] = 0

    def released(self, leases: Sequence[Lease], *, uncount: bool) -> None:
        for lease in leases:
            lane = self.lane(lease.tenant, lease.lane)
            if lane.is_held(lease, self.era):
                lane.let_go()
                lane.tries -= uncount

    def renewed(self, lease: Lease, until: datetime, *, lost: bool) -> None:
        lane = self.lane(lease.tenant, lease.lane)
        ours = lane.is_held(lease, self.era)
        if lost == ours:
            text = f"renewing epoch {lease.epoch} was {'lost' if lost else 'kept'}; the lane is at {lane.epoch}"
            self._fail_lane("N1", text, lane)
        if ours:
            lane.held_until = until

    # --- what time and operators do ---

    def swept(self, at: datetime) -> None:
        """Whatever lease has run out is over now."""
        for lane in self.lanes.values():
            if lane.held_until is not None and lane.held_until <= at:
                lane.deaths += 1
                lane.deaths_alone += lane.open_alone
                self._history.note("store", "lease over", (lane.lane, *lane.turn[:1]), f"of {lane.worker}")
                lane.let_go()

    def reopened(self) -> None:
        """The next sweep finds every lease over."""
        for lane in self.lanes.values():
            if lane.held_until is not None:
                lane.held_until = datetime.min.replace(tzinfo=UTC)

    def new_era(self, era: int) -> None:
        self.era = era
        for lane in self.lanes.values():
            lane.tries -= lane.open_try
            lane.let_go()

    def paused(self, tenant: TenantId, lane: LaneId, until: datetime) -> None:
        self.lane(tenant, lane).paused_until = until

    def resumed(self, tenant: TenantId, lane: LaneId) -> None:
        book = self.lane(tenant, lane)
        book.paused_until = None
        if book.parked:
            book.parked, book.not_before = False, None
            book.tries = book.deaths = book.deaths_alone = 0

    def skipped(self, tenant: TenantId, lane: LaneId, event: EventId, at: datetime) -> None:
        book = self.lane(tenant, lane)
        book.parked = False
        if not book.turn:
            book.turn = (event,)
            book.replayed = event in book.replays
            book.replays.discard(event)
            self._skipped_unseen(book, event, at)
        self._pass(book, Fate.SKIPPED)

    def _skipped_unseen(self, book: LaneBook, event: EventId, at: datetime) -> None:
        """It was never claimed, so its place may be news; a reminder may be so altogether."""
        known = self._intake.known.get((book.tenant, event))
        if known is None:
            known = Known(
                tenant=book.tenant, id=event, lane=book.lane, kind="reminder", payload=b"", accepted_at=at,
                placed_at=None, seq=None,
            )  # fmt: skip
            self._intake.known[book.tenant, event] = known
        if known.seq is None:
            self._intake.place(known, book.cursor + 1)
        elif known.seq != book.cursor + 1 and not book.replayed:
            self._fail_lane("S5a", f"seq {known.seq} was skipped, behind {book.cursor}", book, event)

    def replay(self, tenant: TenantId, event: EventId) -> None:
        known = self._intake.known[tenant, event]
        if known.fate is not Fate.SET_ASIDE:
            self._history.fail("S15", f"{event} is {known.fate}, and is replayed", event, known.lane)
        known.fate = Fate.WAITING
        self.lane(tenant, known.lane).replays.add(event)

    # --- handlers ---

    def started(self, node: str, held: HeldTurn, now: datetime | None) -> None:
        """`now` None: in a thread, which may begin a moment after its trust was looked at; its steps look again."""
        lane = self.lane(held.lease.tenant, held.lease.lane)
        self._history.note(node, "plays", (lane.lane, held.id), f"epoch {held.lease.epoch}", f"try {held.tries}")
        if now is not None:
            self.check_holds(held, now, "a handler was started")
        self._played.add((lane.tenant, held.id, held.lease.epoch))
        running = self._running.setdefault(node, {})
        others = {turn: alone for turn, alone in running.items() if turn != held.id}
        if lane.open_alone and others:
            self._fail("P9", f"it is to run alone, beside {sorted(others)}", held)
        if any(others.values()):
            self._fail("P9", "another one is to run alone in this process", held)
        running[held.id] = lane.open_alone

    def ended(self, node: str, turn: EventId) -> None:
        self._running.get(node, {}).pop(turn, None)

    def died(self, node: str) -> None:
        self._running.pop(node, None)

    def check_holds(self, held: HeldTurn, now: datetime, what: str) -> None:
        """Rule 8: nobody begins anything when another may hold the lane."""
        lane = self.lane(held.lease.tenant, held.lease.lane)
        if held.lease.era != self.era:
            return
        if lane.epoch != held.lease.epoch or lane.held_until is None:
            self._fail("S7", f"{what} under epoch {held.lease.epoch}; the lane is at {lane.epoch}", held)
        elif lane.held_until.year > 1 and lane.held_until <= now:
            self._fail("S7", f"{what} at {now:%T.%f}, and its lease ended at {lane.held_until:%T.%f}", held)

    def step_called(self, held: HeldTurn, name: str, occurrence: int, now: datetime) -> None:
        lane = self.lane(held.lease.tenant, held.lease.lane)
        self.check_holds(held, now, f"step {name} was called")
        if (name, occurrence) in lane.steps.get(held.id, {}):
            self._fail("M1", f"step {name} #{occurrence} is remembered, and was called again", held)

    def _fail(self, rule: str, text: str, held: HeldTurn) -> None:
        self._history.fail(rule, text, held.id, held.lease.lane)

    def _fail_lane(self, rule: str, text: str, lane: LaneBook, *about: str) -> None:
        self._history.fail(rule, text, lane.lane, *about)
