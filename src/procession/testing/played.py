"""What came of a turn that was tried out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from procession.core.effect import EffectDraft
from procession.core.turn import Advance, Delay, Outcome, Park
from procession.runtime import document
from procession.testing.stand_ins import REPLY, LogLine

Json = Any
"""A parsed JSON value, as a test compares it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """An effect that a turn asked for."""

    action: str
    payload: Json
    """Parsed, or the bytes as they are if they are no JSON."""
    key: str
    to: str
    """The key of the conversation."""
    channel: str
    draft: EffectDraft


@dataclass(frozen=True, slots=True, kw_only=True)
class Reminder:
    after: timedelta
    content: Json
    """What was given with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """One try of one turn, from its claim to what was kept of it."""

    outcome: Outcome
    """What was settled: Advance, Delay, Park or SetAside."""
    state: Mapping[str, Json]
    """The lane's state afterwards."""
    sends: tuple[Sent, ...] = ()
    """All effects asked for, flushed ones first; in order."""
    reminders: Mapping[str, Reminder] = field(default_factory=dict)
    cancelled_reminders: tuple[str, ...] = ()
    cancelled_effects: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    """Steps that were called in this try; those that were remembered from an earlier one are not among them."""
    events: tuple[str, ...] = ()
    """The provider ids of its events."""
    kind: str = ""
    tries: int = 1
    paused: bool = False
    pause: timedelta | None = None
    """For how long; None with `paused`: until an operator resumes it."""
    log: tuple[LogLine, ...] = ()
    error: BaseException | None = None
    """What the handler raised."""

    @property
    def done(self) -> bool:
        return isinstance(self.outcome, Advance)

    @property
    def replies(self) -> list[Json]:
        """What it replied, in order, as it was handed to `turn.reply`."""
        return [sent.payload for sent in self.sends if sent.action == REPLY]

    @property
    def reason(self) -> str:
        """Why it was delayed, parked or set aside."""
        return "" if isinstance(self.outcome, Advance) else self.outcome.reason

    @property
    def delay(self) -> timedelta | None:
        """How long it waits for its next try."""
        return self.outcome.after if isinstance(self.outcome, Delay) else None

    @property
    def parked(self) -> bool:
        return isinstance(self.outcome, Park)


def sent(draft: EffectDraft) -> Sent:
    return Sent(
        action=draft.action,
        payload=_read(draft.payload),
        key=draft.key,
        to=draft.lane_key,
        channel=draft.channel,
        draft=draft,
    )


def _read(payload: bytes) -> Json:
    try:
        return document.read(payload)
    except ValueError:
        return payload
