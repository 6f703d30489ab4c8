"""The last look: what the store holds when everything has come to rest, against the auditor's books."""

from collections import Counter
from collections.abc import Iterable

from procession.core.effect import ENDED, DoubtPolicy, EffectState
from procession.core.event import Ordering, Stale
from procession.testing.simulation.audit_intake import EventKey, Known
from procession.testing.simulation.auditor import Auditor
from procession.testing.simulation.effect_book import EffectBook
from procession.testing.simulation.final_state import FinalEffect, FinalEvent, FinalState
from procession.testing.simulation.workload import Manner, Workload

_VERBS = ("lane pause", "lane resume", "lane skip", "aside replay", "doubt resolve", "effect cancel", "sending", "era")


class LastLook:
    def __init__(self, auditor: Auditor, workload: Workload, final: FinalState) -> None:
        self._auditor = auditor
        self._history = auditor.history
        self._workload = workload
        self._final = final

    def check(self) -> None:
        self._check_events()
        self._check_places()
        self._check_orders()
        self._check_effects()
        self._check_lanes()
        self._check_audit()

    # --- events ---

    def _check_events(self) -> None:
        intake = self._auditor.intake
        found = {(event.tenant, event.id): event for event in self._final.events}
        for key in intake.answered_2xx:
            if key not in found and not self._is_quarantined(key):
                self._history.fail("S1", f"{key[1]} was answered 2xx, and is not there", key[1])
        by_name = Counter(
            (event.tenant, event.channel, event.provider_id)
            for event in self._final.events
            if not event.kind.startswith("reminder.")
        )
        for (tenant, channel, name), count in by_name.items():
            if count > 1:
                self._history.fail("S3", f"{name} of {tenant}/{channel} is there {count} times")
        for event in self._final.events:
            self._check_event(event)
        for key, known in intake.known.items():
            if key not in found:
                self._history.fail("S1", f"{known.kind} {known.id} was kept, and is not there", known.id, known.lane)

    def _is_quarantined(self, key: EventKey) -> bool:
        plan = self._workload.by_id.get(key)
        return plan is not None and plan.payload in self._final.quarantined

    def _check_event(self, event: FinalEvent) -> None:
        known = self._auditor.intake.known.get((event.tenant, event.id))
        about = (event.id, event.lane)
        if known is None:
            self._history.fail("S2", f"{event.kind} {event.provider_id} was never taken, and is there", *about)
            return
        if known.payload and event.payload != known.payload:
            self._history.fail("S15", f"the body of {event.provider_id} is not what was posted", *about)
        if event.state == "dropped":
            self._check_dropped(known)
        elif event.state != known.fate:
            self._history.fail("S4", f"it is {event.state}, and should be {known.fate}", *about)
        if known.seq is not None and event.seq != known.seq:
            self._history.fail("S6", f"it has seq {event.seq}, and had {known.seq}", *about)

    def _check_dropped(self, known: Known) -> None:
        if known.order is None or known.order.stale is not Stale.DROP or known.seq is not None:
            self._history.fail("S1", "it was dropped, and must not be", known.id, known.lane)

    def _check_places(self) -> None:
        lanes: dict[tuple[str, str], list[int]] = {}
        for event in self._final.events:
            if event.seq is not None:
                lanes.setdefault((event.tenant, event.lane), []).append(event.seq)
        for (_, lane), seqs in lanes.items():
            if sorted(seqs) != list(range(1, len(seqs) + 1)):
                self._history.fail("S6", f"the seqs of a lane are {sorted(seqs)}", lane)

    def _check_orders(self) -> None:
        final = {event.id: event for event in self._final.events}
        for lane in self._workload.lanes:
            events = [final[event.id] for event in lane.events if event.id in final]
            placed = [event for event in events if event.seq is not None]
            if lane.manner is Manner.SERIAL:
                self._check_rising(lane.id, placed, "P3", "each was posted after the one before was answered")
            elif lane.manner is Manner.ORDERED:
                in_time = [event for event in placed if not event.late]
                self._check_rising(lane.id, in_time, "A3", "in the source's own order")
                self._check_late(lane.id, placed)

    def _check_rising(self, lane: str, events: list[FinalEvent], rule: str, why: str) -> None:
        seqs = [event.seq or 0 for event in events]
        if seqs != sorted(seqs):
            self._history.fail(rule, f"the seqs are {seqs}, {why}", lane)

    def _check_late(self, lane: str, placed: list[FinalEvent]) -> None:
        """Late is what comes behind a later one, and nothing else."""
        known = self._auditor.intake.known
        newest: int | None = None
        for event in sorted(placed, key=lambda event: event.seq or 0):
            own = known[event.tenant, event.id]
            order = own.order
            if order is None:
                continue
            if event.late and own.placed_at is None:
                self._history.fail("S6", f"{event.provider_id} was held, and is late all the same", event.id, lane)
            passed = newest is not None and (
                order.key < newest or (order.by is not Ordering.TIME and order.key == newest)
            )
            first = order.first is not None and order.key < order.first
            if event.late != (passed or first):
                self._history.fail(
                    "A3", f"{event.provider_id} is {'' if event.late else 'not '}called late", event.id, lane
                )
            newest = order.key if newest is None else max(newest, order.key)

    # --- effects ---

    def _check_effects(self) -> None:
        books = self._auditor.sends.effects
        found = {effect.id: effect for effect in self._final.effects}
        if found.keys() != books.keys():
            strange = sorted(found.keys() ^ books.keys())
            self._history.fail("S9", f"{len(strange)} effects are there or in the books only", *strange[:3])
        for effect in self._final.effects:
            book = books.get(effect.id)
            if book is not None:
                self._check_effect(effect, book)

    def _check_effect(self, effect: FinalEffect, book: EffectBook) -> None:
        about = (effect.id, effect.lane)
        if effect.oseq != book.oseq:
            self._history.fail("S6", f"it is #{effect.oseq}, and was asked for as #{book.oseq}", *about)
        if effect.state not in self._may_be(book):
            self._history.fail("S9", f"it is {effect.state}, and should be {book.state}", *about)
        if effect.receipt != book.receipt or effect.failed != book.failed:
            told = f"{effect.receipt}{' failed' if effect.failed else ''}"
            self._history.fail("S11", f"its receipt is {told}; the highest seen is {book.receipt}", *about)
        if effect.state == EffectState.CONFIRMED and not book.taken:
            self._history.fail("S10", "it is confirmed, and the provider has never taken it", *about)
        declared = book.resends or effect.resends  # a policy may have resent it, and a pause dropped that again
        if effect.state in (EffectState.REFUSED, EffectState.CANCELLED) and book.taken and not declared:
            self._history.fail("S10", f"it is {effect.state}, and the provider has taken it", *about)

    def _may_be(self, book: EffectBook) -> Iterable[str]:
        """Time may have ended it where nobody has looked since."""
        if book.may_be_over:
            return (book.state, EffectState.CANCELLED, EffectState.SKIPPED)
        if book.state in ENDED:
            return (book.state,)
        if book.state is EffectState.PENDING:
            return (EffectState.CANCELLED,)
        ends = {DoubtPolicy.SKIP: EffectState.SKIPPED, DoubtPolicy.RESEND: EffectState.CANCELLED}
        return (ends[book.terms.doubt],) if book.terms.doubt in ends else ()

    # --- lanes ---

    def _check_lanes(self) -> None:
        for lane in self._final.lanes:
            if lane.cursor != lane.last:
                self._history.fail("L4", f"its {lane.side} stand at {lane.cursor} of {lane.last}", lane.lane)
            if lane.side != "turns":
                continue
            book = self._auditor.turns.lanes.get((lane.tenant, lane.lane))
            if book is not None and lane.state != book.state:
                self._history.fail("P5", f"its state is {lane.state!r}, and was kept as {book.state!r}", lane.lane)
            if book is not None and book.state is not None and f'"played":{book.played},'.encode() not in book.state:
                self._history.fail("S4", f"{book.played} turns were played, and its state is {book.state!r}", lane.lane)

    def _check_audit(self) -> None:
        for verb in _VERBS:
            told, kept = self._auditor.audited.get(verb, 0), self._final.audited.get(verb, 0)
            if told != kept:
                self._history.fail("S18", f"{verb} was done {told} times, and {kept} audit rows tell of it", verb)
