"""Effects by the auditor's own books: each once, in order, behind its gate, from its own number, in its own time.

The store says what it did, in that order; the wire says what went out, Graph what it took. What a sweep does to pauses
and doubts is not told one by one: there the books know what may have happened by now.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, assert_never

from procession.core.effect import EffectDraft, EffectState
from procession.core.event import Sighting
from procession.core.ids import EffectId, EventId, TenantId
from procession.core.lane import Lease
from procession.core.turn import Began, HeldEffect, NotBegun, Recorded
from procession.core.verdict import Absent, Confirmed, Deferred, Fate, Halted, Refused, Uncertain, Verdict
from procession.testing.simulation.clock import BEGINNING
from procession.testing.simulation.history import shown
from procession.testing.simulation.whatsapp.evidence import Evidence
from procession.testing.simulation.whatsapp.rare import Sight
from procession.testing.simulation.whatsapp.sent import Sent
from procession.testing.simulation.whatsapp.subject import Merge, Subject
from procession.testing.simulation.whatsapp.tally import Declared, Tally
from procession.testing.whatsapp.rules import Rules

_S: Final = EffectState


class SendsAudit:
    def __init__(self, tally: Tally, rules: Rules, subject_of: Callable[[Lease], Subject | None]) -> None:
        self.effects: dict[EffectId, Sent] = {}
        self.evidence = Evidence(tally, self.effects)
        self.halted: set[TenantId] = set()
        self._tally = tally
        self._rules = rules
        self._subject_of = subject_of
        self._begun = 0
        self._heads: dict[Subject, list[Sent]] = {}
        """Of those that were merged into it: what they have open."""

    # --- what turns leave behind ---

    def asked(self, subject: Subject, turn: EventId, drafts: Sequence[EffectDraft], at: datetime) -> None:
        """In the order of whoever the conversation is with by now."""
        heir = subject.last
        for draft in drafts:
            if draft.id not in self.effects:
                sent = Sent(tenant=subject.tenant, draft=draft, subject=heir, asked_at=at)
                heir.effects.append(sent)
                self.effects[draft.id] = sent
                self._tally.history.note("store", "effect asked", (draft.id, draft.lane, turn), draft.action)

    def merged(self, heir: Subject, merge: Merge) -> None:
        """What it has begun stays where it is; the rest goes on behind what the other has."""
        loser = merge.loser
        self._pass_over(loser, merge.at)
        left = loser.effects[loser.cursor :]
        if left and (left[0].attempts or left[0].state is not _S.PENDING):
            self._tally.seen(Sight.MERGED_WHILE_SENDING)
            self._heads.setdefault(heir, []).append(left[0])
            left = left[1:]
        loser.effects = [sent for sent in loser.effects if sent not in left]
        heir.effects += left
        for sent in left:
            sent.came_droppable = sent.may_be_dropped(merge.at)
            sent.subject = heir

    def _pass_over(self, subject: Subject, at: datetime) -> None:
        """As the store's own cursor: over what has ended, and whose gate is open."""
        for sent in subject.effects[subject.cursor :]:
            sent.pass_by_time(at)
            if not sent.has_ended or at < sent.opens_at(at):
                return
            subject.cursor += 1

    # --- claims ---

    def claimed(self, held: Sequence[HeldEffect], at: datetime) -> None:
        for each in held:
            self.claim(each, at)

    def claim(self, held: HeldEffect, at: datetime) -> None:
        own = self.effects.get(held.effect.id)
        about = (held.effect.id, held.lease.lane)
        self._tally.history.note(held.lease.worker, "takes", about, held.effect.state, f"epoch {held.lease.epoch}")
        subject = self._subject_of(held.lease)
        if own is None or (subject is not None and subject.last is not own.subject.last):
            self._tally.fail("S9", "it was never asked for, or not of this conversation", *about)
            return
        if not own.no:
            own.claimed_at = at
        if subject is not None and self._is_closing(subject, at):
            self._tally.fail("X3", "what was merged into it has an effect open, and it was taken", *about)
        elif subject is not None:
            self._pass_heads(subject)
            # X6: what the others owe is known to be one's own by now.
            subject.owes = replace(max((each.owes for each in subject.family()), key=lambda owes: owes.since))

    def _is_closing(self, subject: Subject, at: datetime) -> bool:
        for sent in self._heads.get(subject, ()):
            sent.pass_by_time(at)
            if not sent.is_harmless and (not sent.has_ended or at < sent.opens_at(at)):
                return True
        return any(self._is_closing(merge.loser, at) for merge in subject.merges)

    def _pass_heads(self, subject: Subject) -> None:
        """Those that were merged into it have come to their end, some perhaps behind a gate that expired."""
        for each in subject.family():
            for sent in self._heads.pop(each, ()):
                self._pass_gate(sent)

    def _pass_gate(self, sent: Sent) -> None:
        if sent.state is _S.CONFIRMED and not sent.may_be_skipped and not sent.has_reached_gate():
            sent.gate_expired = True
            self._tally.seen(Sight.GATE_EXPIRED)
            self._tally.declared(Declared.PAIRS_BEHIND_EXPIRED_GATES)
        elif sent.passed_in_doubt:
            self._tally.declared(Declared.PAIRS_BEHIND_DOUBTS)

    # --- begin ---

    def began(self, lease: Lease, effect: EffectId, attempt: int, answer: Began | NotBegun, at: datetime) -> None:
        own = self.effects.get(effect)
        self._tally.history.note(lease.worker, "begins", (effect, lease.lane), f"attempt {attempt}", shown(answer))
        if own is None:
            self._tally.fail("S9", "an effect was begun that nobody has asked for", effect)
        elif isinstance(answer, Began):
            self._began(own, lease, attempt, at)
        elif answer.fate is Fate.KEPT and own.state is _S.PENDING and answer.reason in _TOO_LATE:
            own.state = _S.REFUSED
        elif answer.reason == _PACED:
            self._tally.seen(Sight.PAIR_LIMITED)

    def _began(self, own: Sent, lease: Lease, attempt: int, at: datetime) -> None:
        if own.state is _S.ARMED and own.attempts == attempt:
            return
        about = (own.id, lease.lane)
        if own.is_open:
            self._begin_again(own, at)
        if own.state is not _S.PENDING or attempt != own.attempts + 1:
            text = f"it is {own.state} after {own.attempts} attempts, and attempt {attempt} was begun"
            self._tally.fail("S8", text, *about)
        if own.not_before is not None and at < own.not_before:
            self._tally.fail("D3", f"it has to wait until {own.not_before:%T.%f}, and was begun", *about)
        if own.tenant in self.halted:
            self._tally.fail("D10", f"all sends of {own.tenant} are halted, and it was begun", *about)
        subject = self._subject_of(lease) or own.subject
        if (waits := subject.pause_at(at)) is not None:
            self._tally.fail("B2", f"somebody has taken over until {waits.until:%T}, and it was begun", *about)
        self._check_order(own, subject, at)
        self._check_pace(own, subject, at)
        own.state, own.attempts, own.armed_by, own.is_recorded = _S.ARMED, attempt, lease.worker, False
        own.begun_at, own.not_before, own.open_since = at, None, self._tally.history.now
        if not own.no:
            self._begun += 1
            own.no, own.track = self._begun, subject

    def _begin_again(self, own: Sent, at: datetime) -> None:
        """Only a tenant that has declared it, or what does no harm."""
        if own.is_harmless:
            own.state = _S.PENDING
        elif own.is_resendable(at):
            own.state = _S.PENDING
            own.resends += 1

    def _check_order(self, own: Sent, subject: Subject, at: datetime) -> None:
        if own not in subject.effects:
            # Its lane was merged into another while it was held: it was the head there, and comes to its end there.
            return
        place = subject.effects.index(own)
        for before in subject.effects[subject.cursor : place]:
            about = (before.id, own.id, subject.lane or "")
            before.pass_by_time(at)
            if before.is_harmless:
                continue
            if not before.has_ended:
                self._tally.fail("S5c", f"it is {before.state}, and the next one goes", *about)
            elif at < before.opens_at(at):
                self._tally.fail("D2", f"its gate opens at {before.opens_at(at):%T.%f}, and the next goes", *about)
            else:
                self._pass_gate(before)
        subject.cursor = max(subject.cursor, place)

    def _check_pace(self, own: Sent, subject: Subject, at: datetime) -> None:
        if not subject.owes.take((at - _LONG_BEFORE).total_seconds(), self._rules):
            self._tally.fail("B5", f"more goes to {subject.label} than WhatsApp takes in so short a time", own.id)

    # --- record ---

    def recorded(
        self, lease: Lease, effect: EffectId, attempt: int, verdict: Verdict, answer: Recorded, at: datetime
    ) -> None:
        own = self.effects[effect]
        about = (effect, lease.lane)
        self._tally.history.note(lease.worker, "records", about, f"attempt {attempt}", shown(verdict), answer.fate)
        if answer.fate is not Fate.KEPT or own.attempts != attempt or own.is_recorded:
            return
        own.is_recorded = True
        self._judge(own, attempt, verdict, at)
        if answer.next is not None:
            self.claim(answer.next, at)

    def _judge(self, own: Sent, attempt: int, verdict: Verdict, at: datetime) -> None:
        match verdict:
            case Confirmed():
                if not own.taken and not own.is_harmless:
                    self._tally.fail("S10", "it is called confirmed, and Graph has never taken it", own.id)
                own.confirm(at, unshown=self.evidence.is_unshown(own))
                self.evidence.name(own, verdict.ref, at)
            case Deferred() | Halted() | Refused():
                self.evidence.disproved(own, attempt)
                self._not_taken(own, verdict, at)
            case Uncertain():
                if not own.has_ended:
                    own.state = _S.PENDING if own.is_harmless else _S.DOUBT
            case Absent():
                self._tally.fail("S10", "WhatsApp cannot be asked, and it is called absent", own.id)
            case _ as never:
                assert_never(never)

    def _not_taken(self, own: Sent, verdict: Deferred | Halted | Refused, at: datetime) -> None:
        if isinstance(verdict, Halted):
            self.halted.add(own.tenant)
        if own.has_ended:
            return
        if isinstance(verdict, Refused):
            own.state = _S.REFUSED
            return
        own.state = _S.PENDING
        if isinstance(verdict, Deferred):
            own.not_before = at + verdict.after

    def sighted(self, sighting: Sighting, at: datetime) -> None:
        self.evidence.sighted(sighting, at)

    # --- operators ---

    def resolved(self, effect: EffectId, how: str, at: datetime) -> None:
        own = self.effects[effect]
        if own.has_ended or own.state is _S.PENDING:
            self._tally.fail("K2", f"it is {own.state}, and was resolved as {how}", effect)
        if how == "sent":
            own.confirm(at, unshown=self.evidence.is_unshown(own))
        elif how == "resend":
            own.state, own.resends = _S.PENDING, own.resends + 1
            self._tally.seen(Sight.DOUBT_RESENT)
        else:
            own.state, own.passed_in_doubt = _S.SKIPPED, True
            self._tally.seen(Sight.DOUBT_SKIPPED)

    def skipped(self, effect: EffectId) -> None:
        own = self.effects[effect]
        own.passed_in_doubt = own.is_open
        own.state = _S.SKIPPED


_LONG_BEFORE: Final = BEGINNING - timedelta(days=1)
"""No clock of a world is behind that."""
_TOO_LATE: Final = frozenset({"too old", "the window is closed"})
_PACED: Final = "its conversation has had its share for now"
