"""The other side: who receives what is sent, and lies about it in every way that providers do.

It is the ground truth about sending. Whatever the engine believes, an effect was taken if, and as often as, it stands
in `taken`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from procession.core.effect import Repeatability
from procession.core.ids import EffectId, TenantId
from procession.testing.simulation.auditor import Auditor
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.loop import SimulatedLoop
from procession.testing.simulation.messenger import ACTIONS

_STATUSES: Final = ("sent", "delivered", "read")


class Mood(Enum):
    """What becomes of one call."""

    FINE = "it is taken, and answered"
    SLOW = "it is taken, and answered late"
    REFUSED_CONNECTION = "nothing gets there"
    NOTHING_WRITTEN = "a connection, and not one byte"
    TAKEN_AND_SILENT = "it is taken, and no answer comes"
    SILENT = "it is not taken, and no answer comes"
    TAKEN_AND_FAILED = "it is taken, and answered 5xx"
    FAILED = "it is not taken, and answered 5xx"
    TAKEN_AND_CUT = "it is taken, and the answer ends in the middle"
    TAKEN_LATE = "it is taken after the caller has given up"
    THROTTLED = "429"


_MOODS: Final = (
    (0.045, Mood.REFUSED_CONNECTION),
    (0.02, Mood.NOTHING_WRITTEN),
    (0.04, Mood.TAKEN_AND_SILENT),
    (0.03, Mood.SILENT),
    (0.04, Mood.TAKEN_AND_FAILED),
    (0.03, Mood.FAILED),
    (0.04, Mood.TAKEN_AND_CUT),
    (0.05, Mood.TAKEN_LATE),
    (0.05, Mood.THROTTLED),
    (0.05, Mood.SLOW),
)
_TAKES: Final = frozenset({Mood.FINE, Mood.SLOW, Mood.TAKEN_AND_SILENT, Mood.TAKEN_AND_FAILED, Mood.TAKEN_AND_CUT})


@dataclass(slots=True, kw_only=True)
class Arrived:
    """A request as the provider sees it."""

    effect: EffectId
    action: str
    tenant: TenantId
    """Whose host was called."""
    channel: str
    body: bytes
    deadline: float
    """Seconds until the caller gives up."""
    attempt: int = 0
    """For the auditor: no provider sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


class Cut(Exception):
    """The answer ends in the middle."""


@dataclass(slots=True, kw_only=True)
class _Known:
    times: int = 0
    ref: str = ""
    will_be: bool = False
    """It is to be taken later."""


class Provider:
    def __init__(
        self, loop: SimulatedLoop, chance: SeededChance, auditor: Auditor, trouble: float, tell: Callable[..., None]
    ) -> None:
        """`tell(tenant, channel, status document)` posts a status back to us."""
        self.is_healed = False
        self.refused: set[EffectId] = set()
        self._loop = loop
        self._chance = chance
        self._auditor = auditor
        self._trouble = trouble
        self._tell = tell
        self._known: dict[EffectId, _Known] = {}
        self._never: set[EffectId] = set()
        """Asked for by a probe, and not there: such a provider does not take them any more."""

    def mood(self) -> Mood:
        if self.is_healed:
            return Mood.FINE
        drawn = self._chance.random() / self._trouble
        for share, mood in _MOODS:
            drawn -= share
            if drawn < 0:
                return mood
        return Mood.FINE

    def stands_still(self, chance: SeededChance) -> bool:
        """Whether the caller does, right before its first byte: where it matters most that it looks once more."""
        return not self.is_healed and chance.happens(0.004 * self._trouble)

    def took(self, effect: EffectId) -> int:
        """How often it was taken so far."""
        known = self._known.get(effect)
        return 0 if known is None else known.times

    def may_take_yet(self, effect: EffectId) -> bool:
        known = self._known.get(effect)
        return known is not None and known.will_be

    def arrive(self, call: Arrived, mood: Mood, answer: Callable[[Reply | Cut], None]) -> None:
        """The first byte has arrived. Whatever happens now happens without the caller."""
        later, chance = self._loop.call_later, self._chance
        travel = chance.uniform(0.002, 0.05)
        if mood is Mood.THROTTLED:
            after = (("retry-after", "1"),) if chance.happens(0.5) else ()
            later(travel, answer, Reply(status=429, headers=after))
        elif mood is Mood.FAILED:
            later(travel, answer, Reply(status=chance.pick((500, 502, 504))))
        elif mood is Mood.TAKEN_LATE:
            self._take_late(call)
        elif mood in _TAKES:
            slow = call.deadline * 0.8 if mood is Mood.SLOW else travel
            later(travel / 2, self._take_and_answer, call, mood, answer, slow)

    def asked(self, effect: EffectId) -> Reply:
        """A probe: the truth, and from here on it stays the truth."""
        known = self._known.get(effect)
        if known is not None and known.times:
            return Reply(status=200, body=json.dumps({"ref": known.ref}).encode())
        self._never.add(effect)
        return Reply(status=404)

    # --- taking ---

    def _take_late(self, call: Arrived) -> None:
        known = self._known.setdefault(call.effect, _Known())
        known.will_be = True
        self._loop.call_later(call.deadline + self._chance.uniform(0.05, 5), self._take_at_last, call)

    def _take_at_last(self, call: Arrived) -> None:
        self._known[call.effect].will_be = False
        if self._take(call) is not None:
            self._auditor.took_late(call.effect)

    def _take_and_answer(self, call: Arrived, mood: Mood, answer: Callable[[Reply | Cut], None], after: float) -> None:
        ref = self._take(call)
        reply: Reply | Cut
        if ref is None:
            reply = Reply(status=400)
        elif mood is Mood.TAKEN_AND_FAILED:
            reply = Reply(status=self._chance.pick((500, 502, 503 if call.action == "say" else 500)))
        elif mood is Mood.TAKEN_AND_CUT:
            reply = Cut()
        else:
            reply = Reply(status=200, body=json.dumps({"ref": ref}).encode())
        if mood is not Mood.TAKEN_AND_SILENT:
            self._loop.call_later(after, answer, reply)

    def _take(self, call: Arrived) -> str | None:
        """Its reference; None: it is refused for what it is."""
        effect = call.effect
        if effect in self._never or self._is_bad(call):
            return None
        known = self._known.setdefault(effect, _Known())
        keyed = ACTIONS.get(call.action, Repeatability.KEYED) is Repeatability.KEYED
        if known.times and keyed:
            return known.ref
        known.times += 1
        known.ref = known.ref or f"ref-{effect}"
        self._auditor.took(effect, call.attempt, call.tenant, call.body)
        if call.action in ACTIONS:
            self._tell_statuses(call, known.ref)
        return known.ref

    def _is_bad(self, call: Arrived) -> bool:
        """A few are refused for their content: each time, whoever asks."""
        if self._chance.fraction(f"bad {call.effect}") < 0.02:
            self.refused.add(call.effect)
            return True
        return False

    # --- statuses ---

    def _tell_statuses(self, call: Arrived, ref: str) -> None:
        chance = self._chance
        for status in _STATUSES[: 2 + chance.happens(0.3)]:
            if not self.is_healed and chance.happens(0.2 * self._trouble):
                continue
            failed = status == "delivered" and chance.happens(0.04)
            told = {"status": "failed" if failed else status, "effect": call.effect, "ref": ref}
            if chance.happens(0.35):
                del told["effect"]
            for _ in range(1 + chance.happens(0.12)):
                # Often before the call's own answer, and in any order.
                wait = chance.uniform(0, 0.08) if chance.happens(0.6) else chance.uniform(0.1, 8)
                self._loop.call_later(wait, self._tell, call.tenant, call.channel, told)
