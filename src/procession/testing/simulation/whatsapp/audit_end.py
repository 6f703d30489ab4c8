"""The last look at a WhatsApp world: what the store holds, what Graph took and what handsets show,
when all is at rest.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from procession.core.effect import EffectState
from procession.core.ids import EffectId
from procession.testing.simulation.final_state import FinalEffect, FinalState
from procession.testing.simulation.whatsapp.auditor import WhatsAppAuditor
from procession.testing.simulation.whatsapp.bot import BUBBLES
from procession.testing.simulation.whatsapp.rare import Sight
from procession.testing.simulation.whatsapp.sent import Sent
from procession.testing.simulation.whatsapp.subject import Subject, precedes
from procession.testing.simulation.whatsapp.tally import Declared, Wrong
from procession.testing.whatsapp.label import read_reply
from procession.testing.whatsapp.person import Person

_S: Final = EffectState


class LastLook:
    def __init__(self, auditor: WhatsAppAuditor, people: Sequence[Person], final: FinalState) -> None:
        self._auditor = auditor
        self._tally = auditor.tally
        self._people = people
        self._final = final

    def check(self) -> None:
        self._check_events()
        self._check_effects()
        self._check_answers()
        self._check_states()
        for person in self._people:
            self._check_handset(person)

    # --- events ---

    def _check_events(self) -> None:
        turns = self._auditor.turns
        found = {(event.tenant, event.id): event for event in self._final.events}
        for key in turns.answered_2xx:
            if key not in found:
                self._tally.wrong(Wrong.LOST, "S1", "it was answered 200, and is not there", key[1])
        for key, event in found.items():
            known = turns.known.get(key)
            if known is None:
                self._tally.wrong(Wrong.CROSS_TENANT, "S2", f"{event.kind} is there, and was never taken", key[1])
            elif event.state != known.fate:
                self._tally.wrong(Wrong.LOST, "S4", f"it is {event.state}, and should be {known.fate}", key[1])
        for key, known in turns.known.items():
            if key not in found:
                self._tally.wrong(Wrong.LOST, "S1", f"{known.said.kind} was kept, and is not there", key[1])

    # --- effects ---

    def _check_effects(self) -> None:
        books = self._auditor.sends.effects
        found = {effect.id: effect for effect in self._final.effects}
        for strange in sorted(found.keys() ^ books.keys()):
            self._tally.wrong(Wrong.LOST, "S9", "an effect is there, or in the books, only", strange)
        for effect_id, effect in found.items():
            if effect_id in books:
                self._check_effect(effect, books[effect_id])

    def _check_effect(self, effect: FinalEffect, own: Sent) -> None:
        about = (own.id, effect.lane)
        if own.is_harmless:
            return
        match effect.state:
            case _S.CONFIRMED if not own.taken:
                self._tally.wrong(Wrong.LOST, "S10", "it is confirmed, and Graph has never taken it", *about)
            case _S.REFUSED:
                self._tally.wrong(Wrong.LOST, "S9", "it is refused, and nothing in it could be", *about)
            case _S.CANCELLED if own.taken and own.is_strict and not own.resends:
                self._tally.fail("S10", "it is cancelled, and Graph has taken it", *about)
            case _S.CANCELLED if not self._may_be_dropped(own):
                self._tally.wrong(Wrong.LOST, "S9", "it is cancelled, and nobody has taken over", *about)
            case _S.CANCELLED:
                self._tally.seen(Sight.DROPPED_BY_PAUSE)
            case _:
                self._check_ended(effect, own)
        if effect.state != _S.CANCELLED and (effect.receipt != own.receipt or effect.failed != own.failed):
            self._tally.fail("S11", f"its receipt is {effect.receipt}; the highest seen is {own.receipt}", *about)

    def _may_be_dropped(self, own: Sent) -> bool:
        return own.may_be_dropped(self._auditor.store_now())

    def _check_ended(self, effect: FinalEffect, own: Sent) -> None:
        own.pass_by_time(self._auditor.store_now())
        skipped = effect.state == _S.SKIPPED and own.may_be_skipped
        if effect.state != own.state and not skipped:
            self._tally.fail("S9", f"it is {effect.state}, and should be {own.state}", own.id, effect.lane)

    # --- every text has its answer ---

    def _check_answers(self) -> None:
        asked: Counter[tuple[str, int, int]] = Counter()
        for own in self._auditor.sends.effects.values():
            for content in _contents(own):
                asked[content] += 1
        for known in self._auditor.turns.known.values():
            if not known.said.is_text or known.fate != "done":
                continue
            (named,) = (named for named in read_named(known.said.text))
            for place in range(1, BUBBLES + 1):
                if not asked[(*named, place)]:
                    text = f"{named[0]}:{named[1]} was played, and its bubble {place} was never asked for"
                    self._tally.wrong(Wrong.LOST, "P5", text, known.said.key[1])

    # --- states ---

    def _check_states(self) -> None:
        """What was played stands in the state of the lane that goes on, once."""
        played: dict[Subject, Counter[str]] = {}
        for known in self._auditor.turns.known.values():
            if known.said.is_text and known.fate == "done":
                for label, n in read_named(known.said.text):
                    played.setdefault(known.subject.last, Counter())[f"{label}:{n}"] += 1
        states = {(lane.tenant, lane.lane): lane.state for lane in self._final.lanes if lane.side == "turns"}
        for subject, texts in played.items():
            state = states.get((subject.tenant, subject.lane or ""))  # type: ignore[arg-type]  # of a lane never played
            seen = Counter(json.loads(state or b"{}").get("seen", []))
            if seen != texts:
                text = f"it has played {sorted(texts)}, and its state says {sorted(seen.elements())}"
                self._tally.wrong(Wrong.LOST, "P5", text, subject.lane or "", subject.label)

    # --- handsets ---

    def _check_handset(self, person: Person) -> None:
        shown: list[Sent] = []
        for bubble in person.handset.shown:
            own = self._auditor.sends.effects.get(EffectId(bubble.effect or ""))
            if own is not None and own not in shown:
                shown.append(own)
        for place, own in enumerate(shown):
            for later in shown[:place]:
                if precedes(own, later):
                    self._inverted(own, later, person)
        missing = [
            own
            for own in self._auditor.sends.effects.values()
            if own.subject.label == person.label and own.taken and own not in shown
        ]
        for own in missing:
            self._tally.wrong(Wrong.LOST, "S9", f"Graph has taken it, and {person.label} does not see it", own.id)

    def _inverted(self, own: Sent, later: Sent, person: Person) -> None:
        self._tally.declared(Declared.SHOWN_OTHERWISE)
        if own.is_gated and not own.gate_expired and not own.passed_in_doubt and not own.resends:
            text = f"{person.label} sees it behind one that was sent after it, and its gate had not expired"
            self._tally.wrong(Wrong.OUT_OF_ORDER_SHOWN, "P6", text, own.id, later.id)


def _contents(own: Sent) -> Iterator[tuple[str, int, int]]:
    body = json.loads(own.draft.payload).get("text", {}).get("body", "")
    reply = read_reply(body)
    for named in () if reply is None else reply.answers:
        yield named.label, named.n, 0 if reply is None else reply.place


def read_named(text: str) -> Iterator[tuple[str, int]]:
    reply = read_reply(f"1/1 {text}")
    for named in () if reply is None else reply.answers:
        yield named.label, named.n
