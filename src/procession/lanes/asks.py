"""What a handler has asked for so far in this try: kept with the turn if it succeeds, forgotten if it does not."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final, TypeVar

from procession.core.effect import DoubtPolicy, EffectDraft, Gate, RefusedPolicy, Terms
from procession.core.errors import BadRequest, TurnMisused
from procession.core.ids import ChannelName, EffectId, effect_id, lane_id
from procession.core.lane import PauseDraft
from procession.core.limits import (
    EFFECT_BYTES_MAX,
    EFFECTS_MAX,
    KIND_CHARS_MAX,
    LANE_KEY_CHARS_MAX,
    REMINDERS_MAX,
    STEP_BYTES_MAX,
)
from procession.core.turn import HeldTurn, Outcome, ReminderDraft, SqlWork
from procession.ports.clock import Clock
from procession.ports.connector import Whom
from procession.ports.replies import Replies
from procession.runtime import document

_REMINDER_CHARS_MAX: Final = KIND_CHARS_MAX - len("reminder.")


class Asks:
    """Effects in the order asked for, reminders, cancellations, a pause, SQL, and the outcome if the handler chose."""

    __slots__ = (
        "_asked",
        "_clock",
        "_held",
        "_replies",
        "cancel_effects",
        "cancel_reminders",
        "effects",
        "flushed",
        "outcome",
        "pause",
        "reminders",
        "sql",
    )

    def __init__(self, held: HeldTurn, replies: Replies, clock: Clock) -> None:
        self._held = held
        self._replies = replies
        self._clock = clock
        self._asked = 0
        self.effects: dict[str, EffectDraft] = {}
        """Those not flushed yet, by key."""
        self.flushed: set[str] = set()
        self.cancel_effects: dict[EffectId, None] = {}
        self.reminders: dict[str, ReminderDraft] = {}
        self.cancel_reminders: dict[str, None] = {}
        self.pause: PauseDraft | None = None
        self.sql: list[SqlWork] = []
        self.outcome: Outcome | None = None

    def effect(
        self,
        action: str | None,
        value: object,
        *,
        key: str | None,
        to: str | None,
        channel: str | None,
        change: "TermsChange",
    ) -> EffectId:
        """Ask for an effect, in the order of calls."""
        place = self._place(key)
        events = self._held.events
        tenant = events[0].tenant
        through = ChannelName(channel) if channel is not None else events[0].channel
        lane_key = self._lane_key(to)
        same_lane = to is None and through == events[0].channel
        try:
            asked = self._replies.ask(tenant, through, self._whom(lane_key, same_lane=same_lane), action, value)
        except BadRequest as refusal:
            raise TurnMisused(str(refusal)) from None
        if len(asked.payload) > EFFECT_BYTES_MAX:
            raise TurnMisused(f"an effect of {len(asked.payload):,} bytes was asked for; at most {EFFECT_BYTES_MAX:,}")
        draft = EffectDraft(
            id=effect_id(tenant, self._held.id, place),
            key=place,
            channel=through,
            lane=events[0].lane if same_lane else lane_id(tenant, through, lane_key),
            lane_key=lane_key,
            action=asked.action,
            payload=asked.payload,
            terms=change.applied(asked.terms),
            aliases=() if same_lane else asked.aliases,
            about_at=events[-1].occurred_at,
        )
        self._asked += 1
        self.effects[place] = draft
        return draft.id

    def cancel_effect(self, effect: str) -> None:
        """Take back an effect of this turn by its key, or of any turn by the id that asking for it answered."""
        if effect in self.effects:
            del self.effects[effect]
        elif effect.startswith("ef_"):
            for key in [key for key, draft in self.effects.items() if draft.id == effect]:
                del self.effects[key]
            self.cancel_effects[EffectId(effect)] = None
        else:
            self.cancel_effects[effect_id(self._held.lease.tenant, self._held.id, effect)] = None

    def remind(self, name: str, after: timedelta, content: object) -> None:
        if not isinstance(name, str) or not 0 < len(name) <= _REMINDER_CHARS_MAX:
            raise TurnMisused(f"turn.remind({name!r}, …): the name has 1 to {_REMINDER_CHARS_MAX} characters")
        if not isinstance(after, timedelta) or after < timedelta(0):
            raise TurnMisused(f"turn.remind({name!r}, after={after!r}): write a duration, timedelta(hours=2)")
        if name not in self.reminders and len(self.reminders) >= REMINDERS_MAX:
            raise TurnMisused(f"a turn may set {REMINDERS_MAX} reminders; one of a name replaces the one before")
        payload = document.encode(content, f"the content of reminder {name!r}", STEP_BYTES_MAX)
        self.cancel_reminders.pop(name, None)
        self.reminders[name] = ReminderDraft(name=name, after=after, payload=payload)

    def cancel_reminder(self, name: str) -> None:
        self.reminders.pop(name, None)
        self.cancel_reminders[name] = None

    def decide(self, outcome: Outcome, verb: str) -> None:
        if self.outcome is not None:
            raise TurnMisused(f"turn.{verb}(…) after the handler had decided otherwise: decide once, and return")
        self.outcome = outcome

    def flush(self) -> tuple[EffectDraft, ...]:
        """What is to go now. Call `flushed_now` when it has."""
        return tuple(self.effects.values())

    def flushed_now(self, drafts: tuple[EffectDraft, ...]) -> None:
        for draft in drafts:
            self.flushed.add(draft.key)
            self.effects.pop(draft.key, None)

    def _place(self, key: str | None) -> str:
        if self._asked >= EFFECTS_MAX:
            raise TurnMisused(f"a turn may ask for {EFFECTS_MAX} effects: a campaign is not a turn")
        if key is None:
            # "#" keeps unnamed places apart from those that a handler names.
            return f"#{self._asked}"
        if not isinstance(key, str) or not 0 < len(key) <= LANE_KEY_CHARS_MAX or key.startswith(("#", "ef_")):
            raise TurnMisused(f"key={key!r}: write a name of 1 to {LANE_KEY_CHARS_MAX} characters, not '#…' or 'ef_…'")
        if key in self.effects or key in self.flushed:
            raise TurnMisused(f"key={key!r} is used twice in this turn: a key names one effect")
        return key

    def _whom(self, lane_key: str, *, same_lane: bool) -> Whom:
        now = self._clock.now()
        if not same_lane:
            return Whom(lane_key=lane_key, is_known=False, now=now)
        return Whom(lane_key=lane_key, aliases=self._held.aliases, heard_at=self._held.heard_at, now=now)

    def _lane_key(self, to: str | None) -> str:
        if to is None:
            return self._held.lane_key
        if not isinstance(to, str) or not 0 < len(to) <= LANE_KEY_CHARS_MAX:
            raise TurnMisused(f"to={to!r}: write the key of a conversation, 1 to {LANE_KEY_CHARS_MAX} characters")
        return to


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsChange:
    """How this one effect is to be sent otherwise than its channel says."""

    gate: Gate | None = None
    doubt: DoubtPolicy | None = None
    on_refused: RefusedPolicy | None = None
    answer_within: timedelta | None = None

    def applied(self, terms: Terms) -> Terms:
        return replace(
            terms,
            gate=self.gate or terms.gate,
            doubt=self.doubt or terms.doubt,
            on_refused=self.on_refused or terms.on_refused,
            answer_within=self.answer_within or terms.answer_within,
        )


AS_THE_CHANNEL_SAYS: Final = TermsChange()


def terms_change(
    gate: Gate | None,
    doubt: DoubtPolicy | str | None,
    on_refused: RefusedPolicy | str | None,
    answer_within: timedelta | None,
) -> TermsChange:
    """What a handler wrote, checked; words are taken for the policies that they name."""
    if gate is None and doubt is None and on_refused is None and answer_within is None:
        return AS_THE_CHANNEL_SAYS
    return TermsChange(
        gate=gate,
        doubt=_policy(DoubtPolicy, doubt, "doubt"),
        on_refused=_policy(RefusedPolicy, on_refused, "on_refused"),
        answer_within=answer_within,
    )


P = TypeVar("P", DoubtPolicy, RefusedPolicy)


def _policy(policies: type[P], value: P | str | None, name: str) -> P | None:
    if value is None:
        return None
    try:
        return policies(value)
    except ValueError:
        words = ", ".join(repr(str(policy)) for policy in policies)
        raise TurnMisused(f"{name}={value!r}: write one of {words}") from None
