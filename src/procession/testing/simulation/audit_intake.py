"""What came in, by the auditor's own books: S1, S2, S3, S6, S20, and the order of acceptance."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from procession.core.event import Acceptance, Event, Intake, NewEvent, Order, Placement, Window
from procession.core.ids import EventId, LaneId, TenantId
from procession.testing.simulation.history import History
from procession.testing.simulation.rare import Rare, RareCounts
from procession.testing.simulation.workload import Planned, Workload

EventKey = tuple[TenantId, EventId]
LaneKey = tuple[TenantId, LaneId]


class Fate(StrEnum):
    """Where an event stands, as far as the auditor can know it."""

    WAITING = "waiting"
    DONE = "done"
    SET_ASIDE = "set_aside"
    SKIPPED = "skipped"


@dataclass(slots=True, kw_only=True, eq=False)
class Known:
    """An event that the store has taken."""

    tenant: TenantId
    id: EventId
    lane: LaneId
    kind: str
    payload: bytes
    accepted_at: datetime
    placed_at: datetime | None
    """None: at some later moment, when it was released."""
    seq: int | None
    order: Order | None = None
    window: Window | None = None
    planned: Planned | None = None
    fate: Fate = Fate.WAITING
    dropped_allowed: bool = False


@dataclass(slots=True, kw_only=True)
class ReminderSet:
    """One time that a reminder was set. Its content tells it from all others."""

    tenant: TenantId
    lane: LaneId
    name: str
    due_at: datetime
    ended_at: datetime | None = None
    """When it was replaced or cancelled."""
    seen: EventId | None = None


@dataclass(slots=True, kw_only=True)
class Posted:
    elements: Sequence[Planned]
    is_good: bool
    extra: Sequence[bytes] = ()
    """Elements that cannot be routed."""
    begun: int = 0


@dataclass(slots=True, kw_only=True)
class Places:
    """The seqs of one lane, as far as they were seen."""

    by_seq: dict[int, EventId] = field(default_factory=dict)
    newest: int = 0


class IntakeAudit:
    def __init__(self, history: History, workload: Workload, rare: RareCounts) -> None:
        self._history = history
        self._plans = workload.by_id
        self._rare = rare
        self._posted: dict[int, Posted] = {}
        self._signed: set[EventKey] = set()
        self._quarantined: set[bytes] = set()
        self.known: dict[EventKey, Known] = {}
        self.places: dict[LaneKey, Places] = {}
        self.reminders: dict[bytes, list[ReminderSet]] = {}
        self.answered_2xx: set[EventKey] = set()

    @property
    def accepted(self) -> int:
        """Unique events of the workload."""
        return sum(1 for event in self.known.values() if event.planned is not None)

    # --- at the door ---

    def posted(self, number: int, posted: Posted) -> None:
        self._posted[number] = posted
        if posted.is_good:
            self._signed.update((event.tenant, event.id) for event in posted.elements)

    def answered(self, number: int, status: int | None) -> None:
        """None: the connection broke, or nothing came in time."""
        posted = self._posted[number]
        if status is None:
            return
        if not posted.is_good:
            if status != 401:
                self._history.fail("S2", f"request {number} with a bad signature was answered {status}", f"r{number}")
            return
        if status not in (200, 503):
            self._history.fail("S20", f"request {number} was answered {status}", f"r{number}")
        if status == 200:
            self._check_kept(number, posted)

    def _check_kept(self, number: int, posted: Posted) -> None:
        for event in posted.elements:
            key = (event.tenant, event.id)
            self.answered_2xx.add(key)
            if key not in self.known and event.payload not in self._quarantined:
                self._history.fail(
                    "S20", f"{event.provider_id} was answered 2xx and is not kept", event.id, f"r{number}"
                )
        for body in posted.extra:
            if body not in self._quarantined:
                self._history.fail("S20", f"request {number}: a part was answered 2xx and is nowhere", f"r{number}")

    # --- in the store ---

    def accept(self, intake: Intake, acceptance: Acceptance, at: datetime) -> None:
        for new, placement in zip(intake.events, acceptance.placements, strict=True):
            key = (new.tenant, new.id)
            self._history.note(
                "store", "accept", (new.id, new.lane), "fresh" if placement.fresh else "known", placement.seq
            )
            if placement.fresh:
                self._fresh(new, placement, at)
            elif key in self.known:
                self._rare[Rare.DUPLICATE_DROPPED] += 1
            else:
                self._history.fail("S3", f"{new.provider_id} was called a duplicate and was never seen", new.id)
        self._quarantined.update(kept.body for kept in intake.quarantined)

    def _fresh(self, new: NewEvent, placement: Placement, at: datetime) -> None:
        key = (new.tenant, new.id)
        plan = self._plans.get(key)
        if key in self.known:
            self._history.fail("S3", f"{new.provider_id} was taken twice", new.id, new.lane)
            return
        if plan is None or key not in self._signed:
            self._history.fail("S2", f"{new.provider_id} of {new.tenant} was never posted with a signature", new.id)
            return
        if (new.channel, new.lane, new.kind, new.payload) != (plan.channel, plan.lane, plan.kind, plan.payload):
            self._history.fail("S15", f"{new.provider_id} was kept otherwise than it was posted", new.id)
        if plan.kind.startswith("chat.") != (new.window is not None):
            self._history.fail("A6", f"{new.provider_id} has {'no' if new.window is None else 'a'} window", new.id)
        self.known[key] = Known(
            tenant=new.tenant,
            id=new.id,
            lane=new.lane,
            kind=new.kind,
            payload=new.payload,
            accepted_at=at,
            placed_at=None if placement.seq is None else at,
            seq=None,
            order=new.order,
            window=new.window,
            planned=plan,
        )
        if placement.seq is not None:
            self.place(self.known[key], placement.seq, is_new=True)
        elif new.order is None:
            self._history.fail("A2", f"{new.provider_id} has taken no place", new.id, new.lane)

    def place(self, event: Known, seq: int, *, is_new: bool = False) -> None:
        """It has this seq, as was just seen."""
        places = self.places.setdefault((event.tenant, event.lane), Places())
        if event.seq == seq:
            return
        about = (event.id, event.lane)
        if event.seq is not None:
            self._history.fail("S6", f"an event has seq {event.seq}, and then {seq}", *about)
        if seq in places.by_seq:
            self._history.fail("S6", f"two events have seq {seq}", places.by_seq[seq], *about)
        if is_new and seq <= places.newest:
            self._history.fail("S6", f"seq {seq} was given after {places.newest}", *about)
        event.seq = seq
        places.by_seq[seq] = event.id
        places.newest = max(places.newest, seq)

    # --- reminders ---

    def set_reminder(self, payload: bytes, reminder: ReminderSet, at: datetime) -> None:
        self.end_reminder(reminder.tenant, reminder.lane, reminder.name, at)
        self.reminders.setdefault(payload, []).append(reminder)

    def end_reminder(self, tenant: TenantId, lane: LaneId, name: str, at: datetime) -> None:
        """Whatever was set under this name is replaced or cancelled; if it was due, it may have rung already."""
        for sets in self.reminders.values():
            for each in sets:
                if (each.tenant, each.lane, each.name) == (tenant, lane, name) and each.ended_at is None:
                    each.ended_at = at

    def seen(self, event: Event, at: datetime) -> Known | None:
        """An event that is being played, with its place. None: it should not exist, and was complained about."""
        key = (event.tenant, event.id)
        known = self.known.get(key)
        if known is None:
            known = self._seen_reminder(event, at)
            if known is None:
                self._history.fail("S2", f"{event.kind} {event.provider_id} was never taken", event.id, event.lane)
                return None
            self.known[key] = known
        if event.payload != known.payload or event.kind != known.kind or event.lane != known.lane:
            self._history.fail("S15", f"{event.provider_id} is not what was taken", event.id, event.lane)
        self.place(known, event.seq)
        return known

    def _seen_reminder(self, event: Event, at: datetime) -> Known | None:
        name = event.kind.removeprefix("reminder.")
        for each in self.reminders.get(event.payload, ()):
            mine = (each.tenant, each.lane, each.name) == (event.tenant, event.lane, name)
            never = each.ended_at is not None and each.ended_at < each.due_at
            if not mine or never or each.seen is not None or each.due_at > at:
                continue
            each.seen = event.id
            return Known(
                tenant=event.tenant,
                id=event.id,
                lane=event.lane,
                kind=event.kind,
                payload=event.payload,
                accepted_at=event.accepted_at,
                placed_at=None,
                seq=None,
            )
        return None
