"""The effects of all conversations, by the auditor's own books: S5c, S7, S8, S9, S10, S11, S13, gates and pauses.

Like those of the turns the books follow what the store has really done. What a sweep does to doubts and pauses is not
told one by one; there the books know what may have happened by now, and take from the next claim whether it has.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, assert_never

from procession.core.effect import ENDED, DoubtPolicy, EffectDraft, EffectState, Receipt
from procession.core.event import Sighting
from procession.core.ids import EffectId, EventId, LaneId, TenantId
from procession.core.lane import Lease
from procession.core.turn import Began, HeldEffect, NotBegun, Recorded
from procession.core.verdict import Absent, Confirmed, Deferred, Fate, Halted, Refused, Uncertain, Verdict
from procession.testing.simulation.audit_contents import Contents
from procession.testing.simulation.effect_book import ConversationBook, EffectBook, Pause
from procession.testing.simulation.history import History, shown
from procession.testing.simulation.rare import Rare, RareCounts

_S: Final = EffectState


class SendsAudit:
    def __init__(self, history: History, rare: RareCounts) -> None:
        self.conversations: dict[tuple[TenantId, LaneId], ConversationBook] = {}
        self.effects: dict[EffectId, EffectBook] = {}
        self.era = 1
        self.sending_paused = False
        self._history = history
        self._rare = rare
        self._refs: dict[tuple[TenantId, str, str], EffectBook] = {}
        self._early: dict[tuple[TenantId, str, str], list[Sighting]] = {}
        self._contents = Contents(history)

    def conversation(self, tenant: TenantId, lane: LaneId) -> ConversationBook:
        found = self.conversations.get((tenant, lane))
        if found is None:
            found = self.conversations[tenant, lane] = ConversationBook(tenant=tenant, lane=lane)
        return found

    def _book_of(self, own: EffectBook) -> ConversationBook:
        return self.conversation(own.tenant, own.draft.lane)

    # --- what turns leave behind ---

    def asked(self, tenant: TenantId, turn: EventId, drafts: Sequence[EffectDraft], at: datetime) -> None:
        for draft in drafts:
            if draft.id in self.effects:
                continue
            book = self.conversation(tenant, draft.lane)
            effect = EffectBook(tenant=tenant, draft=draft, oseq=len(book.effects) + 1, asked_at=at)
            book.effects.append(effect)
            self.effects[draft.id] = effect
            self._history.note("store", "effect asked", (draft.id, draft.lane, turn), f"#{effect.oseq}", draft.action)

    def cancelled(self, tenant: TenantId, effect: EffectId) -> None:
        found = self.effects.get(effect)
        if found is not None and found.tenant == tenant and found.state is _S.PENDING and not found.is_unproven:
            found.state = _S.CANCELLED

    def paused(self, tenant: TenantId, lane: LaneId, pause: Pause, *, passes_all: bool) -> None:
        book = self.conversation(tenant, lane)
        book.end_pauses(pause.begun_at)
        pause.passes = len(book.effects) if passes_all else book.cursor
        book.pauses.append(pause)

    def resumed(self, tenant: TenantId, lane: LaneId, at: datetime) -> None:
        self.conversation(tenant, lane).end_pauses(at)

    # --- claims ---

    def claimed(self, held: Sequence[HeldEffect], until: datetime, at: datetime) -> None:
        for each in held:
            self._claim(each, until, at)

    def _claim(self, held: HeldEffect, until: datetime, at: datetime) -> None:
        lease, effect = held.lease, held.effect
        book = self.conversation(lease.tenant, lease.lane)
        self._history.note(
            lease.worker, "takes", (effect.id, lease.lane), f"#{effect.oseq}", effect.state, f"epoch {lease.epoch}"
        )
        about = (effect.id, lease.lane)
        if lease.epoch <= book.epoch:
            self._fail("S7", f"epoch {lease.epoch} was claimed after {book.epoch}", *about)
        if book.held_until is not None:
            self._fail("S7", f"it was claimed while {book.worker} holds it until {book.held_until:%T.%f}", *about)
        if self.sending_paused:
            self._fail("B2", "all sending is paused", *about)
        book.epoch, book.held_until, book.worker = lease.epoch, until, lease.worker
        own = self._head(book, effect.id, effect.oseq, at)
        if own is not None:
            self._compare(own, held, at)

    def _head(self, book: ConversationBook, effect: EffectId, oseq: int, at: datetime) -> EffectBook | None:
        """The effect, if it is the conversation's turn; those before it have ended then."""
        own = self.effects.get(effect)
        if own is None or own.oseq != oseq or own.draft.lane != book.lane:
            self._fail("S9", f"#{oseq} was never asked for", effect, book.lane)
            return None
        for before in book.effects[book.cursor : oseq - 1]:
            self._check_passed(book, before, at, effect)
        if oseq <= book.cursor:
            self._fail("S5c", f"#{oseq} is claimed behind #{book.cursor}", effect, book.lane)
        book.cursor = max(book.cursor, oseq - 1)
        return own

    def _check_passed(self, book: ConversationBook, before: EffectBook, at: datetime, by: EffectId) -> None:
        about = (before.draft.id, by, book.lane)
        if before.state not in ENDED:
            book.pass_by_time(before, at)
        if before.state not in ENDED and before.may_be_over:
            before.state = _S.CANCELLED
        if before.state not in ENDED:
            self._fail("S5c", f"#{before.oseq} is {before.state}, and the next one goes", *about)
        elif at < before.opens_at(at):
            told = f"{before.opens_at(at):%T.%f}"
            self._fail("D2", f"the gate of #{before.oseq} opens at {told}, and the next goes before", *about)

    def _compare(self, own: EffectBook, held: HeldEffect, at: datetime) -> None:
        effect = held.effect
        about = (effect.id, effect.lane)
        if own.state is _S.DOUBT and effect.state is _S.PENDING:
            over = own.doubt_until is not None and own.doubt_until <= at
            if own.terms.doubt is DoubtPolicy.RESEND and over and effect.resends == own.resends + 1:
                own.resend()
        if own.state is not effect.state:
            self._fail("S10", f"it is {own.state}, and was handed out as {effect.state}", *about)
        if (own.attempts, own.resends) != (effect.attempts, effect.resends):
            text = f"{effect.attempts} attempts, {effect.resends} resends; it had {own.attempts} and {own.resends}"
            self._fail("S8", text, *about)
        if own.not_before is not None and at < own.not_before:
            self._fail("D3", f"it has to wait until {own.not_before:%T.%f}", *about)
        if effect.payload != own.draft.payload or effect.terms != own.terms:
            self._fail("S9", "it is not what was asked for", *about)
        if own.state is _S.PENDING:
            self._check_pause(self._book_of(own), own, at)

    def _check_pause(self, book: ConversationBook, effect: EffectBook, at: datetime) -> None:
        if (pause := book.pause_of(effect, at)) is not None:
            self._fail("B2", f"it goes while the conversation is paused until {pause.until:%T}", effect.draft.id)

    # --- begin, wire ---

    def began(self, lease: Lease, effect: EffectId, attempt: int, answer: Began | NotBegun, at: datetime) -> None:
        book, own = self.conversation(lease.tenant, lease.lane), self.effects.get(effect)
        ours = book.is_held(lease, self.era)
        self._history.note(lease.worker, "begins", (effect, lease.lane), f"attempt {attempt}", shown(answer))
        if own is None:
            self._fail("S9", "an effect was begun that nobody has asked for", effect)
        elif isinstance(answer, Began):
            self._began(book, own, lease, attempt, ours=ours, at=at)
        elif answer.fate is Fate.LOST:
            self._refused(book, lease, "begin", effect, ours=ours)
        else:
            if ours and own.state is _S.ARMED and own.attempts == attempt and own.armed_epoch == lease.epoch:
                self._fail("B1", "it was begun so already, and a repeat is told that it was not", effect, book.lane)
            book.let_go()
            if answer.reason == "too old" and own.state is _S.PENDING:
                own.end_unsent(at)

    def _began(
        self, book: ConversationBook, own: EffectBook, lease: Lease, attempt: int, *, ours: bool, at: datetime
    ) -> None:
        about = (own.draft.id, book.lane)
        if not ours:
            self._fail("S7", f"begun under epoch {lease.epoch}; the lane is at {book.epoch}", *about)
        if own.state is _S.ARMED and own.attempts == attempt and own.armed_epoch == lease.epoch:
            return
        if self.sending_paused:
            self._fail("B2", "all sending is paused", *about)
        self._head(book, own.draft.id, own.oseq, at)
        self._check_pause(book, own, at)
        if own.state is not _S.PENDING or attempt != own.attempts + 1:
            self._fail(
                "S8", f"it is {own.state} after {own.attempts} attempts, and attempt {attempt} was begun", *about
            )
        own.state, own.attempts, own.armed_epoch, own.armed_by = _S.ARMED, attempt, lease.epoch, lease.worker
        own.tries += 1
        own.not_before = None

    def wired(self, node: str, effect: EffectId, now: datetime, *, is_probe: bool) -> EffectBook | None:
        """The first byte goes out."""
        own = self.effects.get(effect)
        self._history.note(node, "probes" if is_probe else "sends", (effect,))
        if own is None:
            self._fail("S9", "something was sent that nobody has asked for", effect)
            return None
        book = self._book_of(own)
        if is_probe:
            return own
        about = (effect, book.lane)
        armed = own.state is _S.ARMED or (own.state is _S.CONFIRMED and own.armed_epoch == book.epoch)
        if book.held_until is None or not armed or own.armed_epoch != book.epoch or own.armed_by != node:
            if own.state is not _S.DOUBT or own.doubt_until is None or not self._era_is_new(own):
                self._fail("S8", f"it is sent by {node}: {own.state}, armed by {own.armed_by!r}", *about)
        elif book.held_until <= now:
            self._fail("S7", f"it is sent at {now:%T.%f}, and the lease ended at {book.held_until:%T.%f}", *about)
        if own.attempts in own.wired:
            self._fail("S8", f"attempt {own.attempts} was sent twice", *about)
        own.wired.add(own.attempts)
        return own

    def _era_is_new(self, own: EffectBook) -> bool:
        """A sender that still trusts a lease of the era before: its effect is in doubt for just that reason."""
        return self.era > 1 and own.attempts not in own.wired

    def took(self, effect: EffectId, attempt: int, tenant: TenantId, body: bytes) -> None:
        """The provider has taken it."""
        own = self.effects[effect]
        self._history.note("provider", "takes", (effect,), f"attempt {attempt}")
        own.taken.append(attempt)
        about = (effect, own.draft.lane)
        if attempt in own.disproved:
            self._fail("S10", f"attempt {attempt} was called not taken, and is taken", *about)
        if len(own.taken) > 1 + own.resends:
            self._fail("S8", f"it is taken for the {len(own.taken)}. time, after {own.resends} resends", *about)
        self._contents.check(own, tenant, body)

    # --- record ---

    def recorded(
        self, lease: Lease, effect: EffectId, attempt: int, verdict: Verdict, ttl: timedelta | None, answer: Recorded,
        at: datetime,
    ) -> None:  # fmt: skip
        book, own = self.conversation(lease.tenant, lease.lane), self.effects[effect]
        about = (effect, lease.lane)
        self._history.note(lease.worker, "records", about, f"attempt {attempt}", shown(verdict), answer.fate)
        again = book.recorded == (lease.epoch, effect, attempt) and lease.era == self.era
        if again:
            # A repeat that comes when its sender has gone on, with the next attempt, is nobody's.
            if answer.fate is not Fate.KEPT and own.attempts == attempt:
                self._fail("D1", "a verdict that was kept was called lost when it was repeated", *about)
            return
        ours = book.is_held(lease, self.era)
        if answer.fate is Fate.LOST:
            self._refused(book, lease, "record", effect, ours=ours and own.attempts == attempt)
            return
        if not ours or own.attempts != attempt:
            self._fail("S7", f"recorded under epoch {lease.epoch}; the lane is at {book.epoch}", *about)
        book.recorded = (lease.epoch, effect, attempt)
        book.let_go()
        self._judge(own, verdict, attempt, at)
        if answer.next is not None:
            assert ttl is not None
            self._claim(answer.next, at + ttl, at)

    def _judge(self, own: EffectBook, verdict: Verdict, attempt: int, at: datetime) -> None:
        was = own.state
        if (lie := own.lie_in(verdict, attempt)) is not None:
            self._fail("S10", lie, own.draft.id, own.draft.lane)
        match verdict:
            case Confirmed():
                self._confirm(own, verdict, at)
            case _ if was in ENDED:
                return
            case Deferred():
                own.defer(verdict, at)
            case Halted():
                # How long it is held back is an operator's affair; to the books it is only not sent yet.
                own.defer(Deferred(after=timedelta(0), reason=verdict.reason, counts=False), at)
            case Refused():
                own.end_unsent(at)
            case Uncertain():
                own.doubt(at)
            case Absent():
                own.state, own.doubt_until, own.not_before = _S.PENDING, None, None
            case _ as never:
                assert_never(never)

    def _confirm(self, own: EffectBook, verdict: Confirmed, at: datetime) -> None:
        own.receipt = max(own.receipt, int(verdict.receipt))
        if own.state not in ENDED:
            if own.state is _S.DOUBT:
                self._rare[Rare.DOUBT_PROVEN] += 1
            own.state, own.confirmed_at = _S.CONFIRMED, at
        self._name(own, verdict.ref, at)

    def _refused(self, book: ConversationBook, lease: Lease, what: str, effect: EffectId, *, ours: bool) -> None:
        if ours:
            self._fail(
                "G6", f"{what} under epoch {lease.epoch} was refused, and the lane is held so", effect, book.lane
            )
        elif lease.epoch < book.epoch:
            self._rare[Rare.STALE_WRITE_REFUSED] += 1

    # --- evidence ---

    def sighted(self, sighting: Sighting, at: datetime) -> None:
        key = (sighting.tenant, sighting.channel, sighting.ref or "")
        own = self.effects.get(sighting.effect) if sighting.effect is not None else self._refs.get(key)
        if own is not None and (own.tenant, own.draft.channel) != (sighting.tenant, sighting.channel):
            own = None
        if own is None:
            if sighting.effect is None:
                self._early.setdefault(key, []).append(sighting)
            return
        self._see(own, sighting, at)
        self._name(own, sighting.ref, at)

    def _see(self, own: EffectBook, sighting: Sighting, at: datetime) -> None:
        self._history.note("store", "sighting", (own.draft.id, own.draft.lane), sighting.receipt.name, own.state)
        if not own.taken:
            self._fail("S10", "it was seen, and the provider has never taken it", own.draft.id)
        if own.state not in ENDED:
            own.may_be_over = self._book_of(own).may_be_over(own, at)
            if own.state is _S.DOUBT:
                self._rare[Rare.DOUBT_PROVEN] += 1
            own.state, own.confirmed_at = _S.CONFIRMED, at
            own.not_before = None
        own.receipt = max(own.receipt, int(sighting.receipt), int(Receipt.ACCEPTED))
        own.failed = own.failed or sighting.failed

    def _name(self, own: EffectBook, ref: str | None, at: datetime) -> None:
        if ref is None or own.ref is not None:
            return
        own.ref = ref
        key = (own.tenant, own.draft.channel, ref)
        self._refs.setdefault(key, own)
        for sighting in self._early.pop(key, ()):
            self._see(own, sighting, at)

    # --- leases, time, operators ---

    def released(self, leases: Sequence[Lease], at: datetime) -> None:
        for lease in leases:
            book = self.conversation(lease.tenant, lease.lane)
            if book.is_held(lease, self.era):
                self._free(book, at)

    def renewed(self, lease: Lease, until: datetime, *, lost: bool) -> None:
        book = self.conversation(lease.tenant, lease.lane)
        ours = book.is_held(lease, self.era)
        if lost == ours:
            text = f"renewing epoch {lease.epoch} was {'lost' if lost else 'kept'}; the lane is at {book.epoch}"
            self._fail("N1", text, lease.lane)
        if ours:
            book.held_until = until

    def swept(self, at: datetime) -> None:
        for book in self.conversations.values():
            if book.held_until is not None and book.held_until <= at:
                self._history.note("store", "lease over", (book.lane,), f"of {book.worker}, its sends")
                self._free(book, at, is_takeover=True)

    def _free(self, book: ConversationBook, at: datetime, *, is_takeover: bool = False) -> None:
        """Its holder is gone, or gives it back."""
        book.let_go()
        for effect in book.effects[book.cursor :]:
            if effect.state is _S.ARMED:
                effect.doubt(at)
                if is_takeover:
                    self._rare[Rare.TAKEOVER_WHILE_ARMED] += 1

    def reopened(self, before_all: datetime) -> None:
        for book in self.conversations.values():
            if book.held_until is not None:
                book.held_until = before_all

    def died(self, node: str) -> None:
        for book in self.conversations.values():
            if book.worker == node and book.held_until is not None:
                head = next((effect for effect in book.effects[book.cursor :] if effect.state is _S.ARMED), None)
                if head is not None and head.armed_by == node and head.attempts not in head.wired:
                    self._rare[Rare.CRASH_BETWEEN_ARM_AND_WIRE] += 1

    def new_era(self, era: int, at: datetime) -> None:
        self.era, self.sending_paused = era, True
        for effect in self.effects.values():
            if effect.state in (_S.PENDING, _S.ARMED):
                effect.may_be_over = effect.may_be_over or self._book_of(effect).may_be_over(effect, at)
                effect.state, effect.doubt_until = _S.DOUBT, at + effect.terms.doubt_wait
        for book in self.conversations.values():
            book.let_go()

    def resolved(self, effect: EffectId, how: str, at: datetime) -> None:
        own = self.effects[effect]
        if own.state is not _S.DOUBT:
            self._fail("K2", f"it is {own.state}, and was resolved as {how}", effect)
        own.doubt_until, own.not_before = None, None
        if how == "sent":
            own.state, own.confirmed_at = _S.CONFIRMED, at
            own.receipt = max(own.receipt, int(Receipt.ACCEPTED))
        elif how == "resend":
            own.resend()
        else:
            own.state = _S.SKIPPED

    def skipped(self, tenant: TenantId, effect: EffectId) -> None:
        own = self.effects.get(effect)
        if own is None or own.tenant != tenant or own.state in ENDED:
            self._fail("K2", "what has ended, or never was, was skipped", effect)
        else:
            own.state = _S.SKIPPED

    def _fail(self, rule: str, text: str, *about: str) -> None:
        self._history.fail(rule, text, *about)
