"""What proves a send: Graph's own books on one side, statuses on the other."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Final

from procession.core.effect import EffectState, Receipt
from procession.core.event import Sighting
from procession.core.ids import EffectId, TenantId
from procession.testing.simulation.whatsapp.rare import Sight
from procession.testing.simulation.whatsapp.sent import Sent
from procession.testing.simulation.whatsapp.subject import precedes
from procession.testing.simulation.whatsapp.tally import Declared, Tally, Wrong
from procession.testing.whatsapp.book import Accepted
from procession.testing.whatsapp.label import read_reply

_Ref = tuple[TenantId, str, str]
_LATE: Final = timedelta(days=1)


class Evidence:
    def __init__(self, tally: Tally, effects: dict[EffectId, Sent]) -> None:
        self._tally = tally
        self._effects = effects
        self._refs: dict[_Ref, Sent] = {}
        self._early: dict[_Ref, list[Sighting]] = {}
        self._shown: set[tuple[TenantId, str]] = set()
        """Channels that have had a status."""
        self._attempts: dict[EffectId, set[int]] = {}
        """Those by which Graph has it."""
        self._disproved: dict[EffectId, set[int]] = {}
        self._contents: Counter[tuple[str, int, int]] = Counter()

    def is_unshown(self, own: Sent) -> bool:
        return (own.tenant, own.draft.channel) not in self._shown

    # --- Graph ---

    def took(self, accepted: Accepted, attempt: int, at: datetime) -> None:
        own = self._effects.get(EffectId(accepted.effect or ""))
        self._tally.history.note("graph", "takes", (accepted.effect or "",), accepted.fate, f"attempt {attempt}")
        if own is None:
            self._tally.wrong(
                Wrong.DUPLICATES, "S9", "Graph has taken what nobody has asked for", accepted.effect or ""
            )
            return
        if accepted.label != own.subject.label:
            text = f"{accepted.label} receives what is for {own.subject.label}"
            self._tally.wrong(Wrong.CROSS_TENANT, "S12", text, own.id)
        self._check_order(own)
        own.taken.append(at)
        own.wamids.append(accepted.wamid)
        self._attempts.setdefault(own.id, set()).add(attempt)
        if attempt in self._disproved.get(own.id, ()):
            self._tally.fail("S10", f"attempt {attempt} was called not taken, and is taken", own.id)
        self._check_once(own, accepted)

    def _check_order(self, own: Sent) -> None:
        if own.taken or own.passed_in_doubt or own.is_harmless:
            return
        behind = [other for other in own.subject.last.effects if other.taken and precedes(own, other)]
        if behind:
            text = "it is taken behind one that was asked for later"
            self._tally.wrong(Wrong.OUT_OF_ORDER_ACCEPTED, "S5c", text, own.id, behind[0].id)

    def _check_once(self, own: Sent, accepted: Accepted) -> None:
        if len(own.taken) > 1 + own.resends:
            text = f"it is taken for the {len(own.taken)}. time, after {own.resends} resends"
            self._tally.wrong(Wrong.DUPLICATES, "S8", text, own.id)
            return
        if len(own.taken) > 1:
            self._tally.declared(Declared.DECLARED_DUPLICATES)
            return
        reply = read_reply(accepted.body)
        for named in () if reply is None else reply.answers:
            if named.label != own.subject.label:
                text = f"{own.subject.label} receives what answers {named.label}"
                self._tally.wrong(Wrong.CROSS_TENANT, "S12", text, own.id)
            content = (named.label, named.n, 0 if reply is None else reply.place)
            self._contents[content] += 1
            if self._contents[content] > 1:
                self._tally.wrong(
                    Wrong.DUPLICATES, "S8", f"{content} is answered once more, under another name", own.id
                )

    def disproved(self, own: Sent, attempt: int) -> None:
        """A verdict says that this attempt was not taken."""
        self._disproved.setdefault(own.id, set()).add(attempt)
        if attempt in self._attempts.get(own.id, ()):
            self._tally.fail("S10", f"attempt {attempt} is called not taken, and was taken", own.id)

    # --- statuses ---

    def sighted(self, sighting: Sighting, at: datetime) -> None:
        where = (sighting.tenant, sighting.channel)
        if sighting.failed or sighting.receipt >= Receipt.SENT:
            self._shown.add(where)
        key = (*where, sighting.ref or "")
        own = self._effects.get(sighting.effect) if sighting.effect is not None else self._refs.get(key)
        if own is None or (own.tenant, own.draft.channel) != where:
            if sighting.effect is None:
                self._early.setdefault(key, []).append(sighting)
            return
        self._see(own, sighting, at)
        self.name(own, sighting.ref, at)

    def _see(self, own: Sent, sighting: Sighting, at: datetime) -> None:
        self._tally.history.note("store", "sighting", (own.id,), sighting.receipt.name, own.state)
        if own.is_harmless:
            return
        if not own.taken:
            self._tally.fail("S10", "a status tells of it, and Graph has never taken it", own.id)
            return
        self._tally.seen(Sight.STATUS_BEFORE_ANSWER, not own.is_recorded)
        self._tally.seen(Sight.STATUS_BY_REFERENCE, sighting.effect is None)
        self._tally.seen(Sight.LATE_STATUS, at - own.taken[0] > _LATE)
        self._tally.seen(Sight.STATUS_DOWNWARDS, sighting.receipt < own.receipt)
        self._tally.seen(Sight.DOUBT_PROVEN_BY_STATUS, own.state is EffectState.DOUBT)
        own.confirm(at, unshown=self.is_unshown(own))
        own.receipt = max(own.receipt, int(sighting.receipt), 1)
        own.failed = own.failed or sighting.failed

    def name(self, own: Sent, ref: str | None, at: datetime) -> None:
        """WhatsApp's own name for it is known: what came under that before is for it."""
        if ref is None or own.ref is not None:
            return
        own.ref = ref
        key = (own.tenant, own.draft.channel, ref)
        self._refs.setdefault(key, own)
        for sighting in self._early.pop(key, ()):
            self._see(own, sighting, at)
