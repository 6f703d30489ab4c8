"""Events and turns by the auditor's own books: nothing lost or taken twice, each conversation in order, one at a time,
through merges too.

The books follow what the store has really done. They know persons, not lanes: which lane a conversation is in is taken
from the first claim, and has to stay so.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from procession.core.event import LANE_MERGED, Intake, NewEvent
from procession.core.ids import EventId, LaneId, TenantId, merged_event_id
from procession.core.lane import Lease
from procession.core.turn import Advance, HeldTurn, SetAside, Settled, Settlement
from procession.core.verdict import Fate
from procession.ports.directory import Channel
from procession.testing.simulation.whatsapp.names import Names
from procession.testing.simulation.whatsapp.rare import Sight
from procession.testing.simulation.whatsapp.said import EventKey, Said
from procession.testing.simulation.whatsapp.subject import Known, Merge, Pause, Subject, pause
from procession.testing.simulation.whatsapp.tally import Tally, Wrong


class TurnsAudit:
    def __init__(self, tally: Tally, merged: Callable[[Subject, Merge], None]) -> None:
        """`merged(heir, merge)` is told of each: sends have their own part in it."""
        self.known: dict[EventKey, Known] = {}
        self.posted: dict[EventKey, Said] = {}
        self.answered_2xx: set[EventKey] = set()
        self.subjects: list[Subject] = []
        self.by_lane: dict[tuple[TenantId, LaneId], Subject] = {}
        self._tally = tally
        self._told = merged
        self._names = Names(self._merge)
        self._states: dict[EventKey, Merge] = {}
        self._epochs: dict[tuple[TenantId, LaneId], int] = {}

    # --- in ---

    def accept(
        self, intake: Intake, placements: Sequence[bool], channels: Callable[[NewEvent], Channel], at: datetime
    ) -> None:
        for new, fresh in zip(intake.events, placements, strict=True):
            key = (new.tenant, new.id)
            self._tally.history.note("store", "accept", (new.id,), new.kind, "fresh" if fresh else "known")
            if not fresh:
                self._tally.seen(Sight.DUPLICATE_DROPPED)
                if key not in self.known:
                    self._tally.wrong(Wrong.LOST, "S3", f"{new.provider_id} was called a duplicate of nothing", new.id)
            elif key in self.known:
                self._tally.wrong(Wrong.DUPLICATES, "S3", f"{new.provider_id} was taken twice", new.id)
            else:
                self._fresh(new, channels(new), at)

    def _fresh(self, new: NewEvent, channel: Channel, at: datetime) -> None:
        said = self.posted.get((new.tenant, new.id))
        if said is None:
            text = f"{new.provider_id} of {new.tenant}/{new.channel} was never posted for it"
            self._tally.wrong(Wrong.CROSS_TENANT, "S2", text, new.id)
            return
        if said.kind != new.kind:
            self._tally.fail("S15", f"{new.provider_id} is a {said.kind}, and was taken for a {new.kind}", new.id)
        subject = self._names.subject_of(said, at)
        if subject not in self.subjects:
            self.subjects.append(subject)
        if subject.label != said.label:
            text = f"an event of {said.label} goes to the conversation of {subject.label}"
            self._tally.wrong(Wrong.CROSS_TENANT, "S12", text, new.id)
        self.known[said.key] = Known(said=said, subject=subject)
        subject.waiting.append(said.key)
        if said.kind == "whatsapp.system":
            self._tally.seen(Sight.NUMBER_CHANGED)
        if said.kind == "whatsapp.echo":
            self._echo(subject, float(str(channel.settings["echo_pause"])), at)

    def _echo(self, subject: Subject, seconds: float, at: datetime) -> None:
        """A person takes over: unless somebody has already, for as long."""
        until = at + timedelta(seconds=seconds)
        there = subject.pause_at(at)
        if there is None or there.until < until:
            self._tally.seen(Sight.ECHO_PAUSED)
            for each in subject.family():
                pause(each, Pause(begun_at=at, until=until, keeps=False))

    # --- one subject after all ---

    def _merge(self, loser: Subject, heir: Subject, at: datetime) -> None:
        self._tally.seen(Sight.MERGED_LANES)
        self._tally.seen(Sight.MERGED_WHILE_PLAYED, bool(loser.open))
        self._tally.history.note("auditor", "merges", (loser.lane or "", heir.lane or ""), loser.label)
        merge = Merge(loser=loser, at=at, had_open=bool(loser.open))
        loser.heir = heir
        heir.merges.append(merge)
        for key in (*loser.replays, *loser.waiting):
            self.known[key].subject, self.known[key].merge = heir, merge
            heir.waiting.append(key)
        loser.replays, loser.waiting = [], []
        if loser.lane is not None:
            self._states[loser.tenant, merged_event_id(loser.tenant, loser.lane)] = merge
        there, own = loser.pause_at(at), heir.pause_at(at)
        pauses = [each for each in (there, own) if each is not None]
        if pauses:
            until, keeps = max(waits.until for waits in pauses), any(waits.keeps for waits in pauses)
            for each in heir.family():
                pause(each, Pause(begun_at=at, until=until, keeps=keeps))
        self._told(heir, merge)

    # --- claims ---

    def claimed(self, turns: Sequence[HeldTurn], at: datetime) -> None:
        for held in turns:
            self.claim(held, at)

    def claim(self, held: HeldTurn, at: datetime) -> None:
        lease = held.lease
        about = (held.id, lease.lane)
        self._tally.history.note(lease.worker, "claims", about, f"epoch {lease.epoch}", f"try {held.tries}")
        if lease.epoch <= self._epochs.get((lease.tenant, lease.lane), 0):
            self._tally.fail("S7", f"epoch {lease.epoch} was claimed again", *about)
        self._epochs[lease.tenant, lease.lane] = lease.epoch
        subject = self._subject_of(held)
        if subject is None:
            return
        self.place(subject, lease, *about)
        ids = tuple(event.id for event in held.events)
        if subject.open and subject.open != ids:
            self._tally.fail("C4", f"the turn {subject.open} is open, and was claimed as {ids}", *about)
        elif not subject.open:
            self._open(subject, held)
        subject.open = ids
        if (waits := subject.pause_at(at)) is not None:
            self._tally.fail("T10", f"it is paused until {waits.until:%T}, and was claimed", *about)
        if _is_closing(subject):
            self._tally.fail("X3", "what was merged into it has a turn open, and it was claimed", *about)

    def _subject_of(self, held: HeldTurn) -> Subject | None:
        key = (held.lease.tenant, held.id)
        if key in self.known:
            return self.known[key].subject
        merge = self._states.get(key)
        if merge is None or held.events[0].kind != LANE_MERGED:
            self._tally.wrong(Wrong.CROSS_TENANT, "S2", f"{held.events[0].kind} was never taken", held.id)
            return None
        heir, loser = merge.loser.last, merge.loser
        if loser.open or not loser.has_state or merge.is_told:
            self._tally.fail("X4", "a lane hands over its state before its end, twice, or without one", held.id)
        merge.is_told = True
        self._tally.seen(Sight.STATE_HANDED_OVER)
        said = Said(
            key=key, tenant=heir.tenant, channel=heir.channel, kind=LANE_MERGED, label=heir.label, names=(), retires=(),
            text="",
        )  # fmt: skip
        self.known[key] = Known(said=said, subject=heir)
        heir.waiting.insert(0, key)
        return heir

    def place(self, subject: Subject, lease: Lease, *about: str) -> None:
        """A conversation has one lane, and a lane one conversation."""
        there = self.by_lane.setdefault((lease.tenant, lease.lane), subject)
        if subject.lane is None:
            subject.lane = lease.lane
        if subject.lane != lease.lane or there is not subject:
            text = f"the conversation of {subject.label} is in two lanes, or {there.label}'s in the same"
            self._tally.wrong(Wrong.CROSS_TENANT, "X1", text, *about)

    def _open(self, subject: Subject, held: HeldTurn) -> None:
        keys = [(held.lease.tenant, event.id) for event in held.events]
        about = (held.id, held.lease.lane)
        if keys[0] in subject.replays and len(keys) == 1:
            subject.replays.remove(keys[0])
            return
        if subject.replays:
            self._tally.fail("S15", "a replay has to come before whatever waits", *about)
        if keys != subject.waiting[: len(keys)]:
            expected = [key[1] for key in subject.waiting[: len(keys)]]
            self._tally.fail("P3", f"it is played before its turn; it is the turn of {expected}", *about)
            return
        for key in keys:
            merge = self.known[key].merge
            if merge is not None and not merge.had_open and merge.loser.has_state and not merge.is_told:
                self._tally.fail("X4", "what was merged is played before its state was handed over", *about)
        self._tally.seen(Sight.COLLECTED, len(keys) > 1)
        del subject.waiting[: len(keys)]

    # --- ends ---

    def settled(self, settlement: Settlement, answer: Settled, at: datetime) -> Subject | None:
        """The subject, if it counts, for the first time, and leaves something behind."""
        lease, outcome = settlement.lease, settlement.outcome
        about = (settlement.turn, lease.lane)
        self._tally.history.note(lease.worker, "settles", about, type(outcome).__name__, answer.fate)
        subject = self.by_lane.get((lease.tenant, lease.lane))
        if answer.fate is not Fate.KEPT or subject is None:
            return None
        counts = subject.open[:1] == (settlement.turn,) and lease.epoch == self._epochs[lease.tenant, lease.lane]
        kept = None
        if counts and isinstance(outcome, Advance):
            self._end(subject, "done")
            subject.has_state = subject.has_state or settlement.state is not None
            kept = subject
        elif counts and isinstance(outcome, SetAside):
            self._end(subject, "set_aside")
        if answer.next is not None and answer.next.lease.epoch > self._epochs[lease.tenant, lease.lane]:
            self.claim(answer.next, at)
        return kept

    def _end(self, subject: Subject, fate: str) -> None:
        for event in subject.open:
            self.known[subject.tenant, event].fate = fate
        subject.open = ()

    def remembered(self, lease: Lease, turn: EventId, written: Fate) -> Subject | None:
        subject = self.by_lane.get((lease.tenant, lease.lane))
        return subject if written is Fate.KEPT and subject is not None and subject.open[:1] == (turn,) else None

    # --- operators ---

    def skipped(self, tenant: TenantId, event: EventId) -> None:
        known = self.known[tenant, event]
        subject = known.subject
        if event in subject.open:
            self._end(subject, "skipped")
            return
        known.fate = "skipped"
        for line in (subject.waiting, subject.replays):
            if (tenant, event) in line:
                line.remove((tenant, event))

    def replayed(self, tenant: TenantId, event: EventId) -> None:
        known = self.known[tenant, event]
        self._tally.seen(Sight.SET_ASIDE_AND_REPLAYED)
        known.fate = "waiting"
        if known.subject.heir is None:
            known.subject.replays.append((tenant, event))
        else:
            known.subject = known.subject.last
            known.subject.waiting.append((tenant, event))


def _is_closing(subject: Subject) -> bool:
    return any(merge.loser.open or _is_closing(merge.loser) for merge in subject.merges)
