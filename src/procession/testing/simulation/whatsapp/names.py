"""Who is who, by the auditor's own books: names lead to subjects, and several that meet in one event become one."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from procession.core.ids import ChannelName, TenantId
from procession.testing.simulation.whatsapp.said import Said
from procession.testing.simulation.whatsapp.subject import Subject

_Name = tuple[TenantId, ChannelName, str]


@dataclass(slots=True, kw_only=True, eq=False)
class _Led:
    subject: Subject
    is_retired: bool


class Names:
    def __init__(self, merge: Callable[[Subject, Subject, datetime], None]) -> None:
        """`merge(loser, heir, at)` is told before the names are."""
        self._merge = merge
        self._names: dict[_Name, _Led] = {}
        self._made = 0

    def subject_of(self, said: Said, at: datetime) -> Subject:
        """Whose an event is that comes just now; its names lead there from now on."""
        known = {name: led for name in said.names if (led := self._names.get(self._key(said, name))) is not None}
        firm = [led.subject.last for name, led in known.items() if not led.is_retired or name in said.retires]
        if not firm and len(known) == len(said.names):
            # Only names that were given up: whoever has them still means the old conversation, and changes nothing.
            return known[said.names[0]].subject.last
        found = self._one(firm, at) if firm else self._new(said)
        for name in said.names:
            self._names[self._key(said, name)] = _Led(subject=found, is_retired=name in said.retires)
        return found

    def _key(self, said: Said, name: str) -> _Name:
        return said.tenant, said.channel, name

    def _one(self, found: list[Subject], at: datetime) -> Subject:
        heir, *others = sorted(set(found), key=lambda subject: subject.no)
        for loser in others:
            self._merge(loser, heir, at)
        return heir

    def _new(self, said: Said) -> Subject:
        self._made += 1
        return Subject(tenant=said.tenant, channel=said.channel, label=said.label, no=self._made)
