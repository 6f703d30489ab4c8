"""One effect, and one conversation, in the auditor's books."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from procession.core.effect import DoubtPolicy, EffectDraft, EffectState, Repeatability, Terms
from procession.core.ids import EffectId, LaneId, TenantId
from procession.core.lane import Lease
from procession.core.verdict import Absent, Confirmed, Deferred, Refused, Verdict

_S: Final = EffectState


@dataclass(slots=True, kw_only=True, eq=False)
class EffectBook:
    tenant: TenantId
    draft: EffectDraft
    oseq: int
    asked_at: datetime
    state: EffectState = EffectState.PENDING
    attempts: int = 0
    tries: int = 0
    not_before: datetime | None = None
    doubt_until: datetime | None = None
    confirmed_at: datetime | None = None
    armed_epoch: int = 0
    armed_by: str = ""
    wired: set[int] = field(default_factory=set)
    """Attempts whose first byte went out."""
    taken: list[int] = field(default_factory=list)
    """The attempts by which the provider has taken it."""
    disproved: set[int] = field(default_factory=set)
    """Attempts that a verdict has called not taken."""
    resends: int = 0
    receipt: int = 0
    failed: bool = False
    ref: str | None = None
    may_be_over: bool = False
    """Time may have ended it before evidence came: then the evidence has changed its receipt only."""
    is_unproven: bool = False
    """D8: KEYED, and an attempt ended without a clear answer: it may have been taken."""

    @property
    def terms(self) -> Terms:
        return self.draft.terms

    def opens_at(self, at: datetime) -> datetime:
        """When the next one may go; it has ended."""
        if self.state is not _S.CONFIRMED or self.confirmed_at is None or self.may_be_over:
            return at
        gate = self.terms.gate
        opens = self.confirmed_at + gate.gap
        is_reached = self.failed or self.receipt >= gate.receipt
        return opens if is_reached else max(opens, self.confirmed_at + gate.wait_max)

    def doubt(self, at: datetime) -> None:
        """Nobody knows: D5, S2."""
        if self.terms.repeatability is Repeatability.KEYED and self.tries < self.terms.tries_max:
            self.state, self.is_unproven = _S.PENDING, True
        else:
            self.state = _S.DOUBT
            self.doubt_until = self.doubt_until or at + self.terms.doubt_wait

    def lie_in(self, verdict: Verdict, attempt: int) -> str | None:
        """S10: what a verdict says, against what the provider has."""
        match verdict:
            case Confirmed() if not self.taken:
                return "it is called confirmed, and the provider has never taken it"
            case Deferred() | Refused():
                self.disproved.add(attempt)
                return f"attempt {attempt} is called not taken, and was taken" if attempt in self.taken else None
            case Absent() if self.taken:
                return "it is called absent, and the provider has it"
            case _:
                return None

    def end_unsent(self, at: datetime) -> None:
        """D4, D8."""
        if self.is_unproven:
            self.state, self.doubt_until, self.not_before = _S.DOUBT, at + self.terms.doubt_wait, None
        else:
            self.state = _S.REFUSED

    def defer(self, verdict: Deferred, at: datetime) -> None:
        """D3."""
        self.state, self.not_before = _S.PENDING, at + verdict.after
        if not verdict.counts:
            self.tries -= 1
        elif self.tries >= self.terms.tries_max:
            self.end_unsent(at)

    def resend(self) -> None:
        """Declared, by policy or by hand."""
        self.state, self.doubt_until, self.not_before = _S.PENDING, None, None
        self.resends += 1
        self.is_unproven = False


@dataclass(slots=True, kw_only=True)
class Pause:
    begun_at: datetime
    until: datetime
    passes: int
    """Effects up to this place are not covered by it."""
    keeps: bool


@dataclass(slots=True, kw_only=True, eq=False)
class ConversationBook:
    tenant: TenantId
    lane: LaneId
    effects: list[EffectBook] = field(default_factory=list)
    cursor: int = 0
    epoch: int = 0
    held_until: datetime | None = None
    worker: str = ""
    recorded: tuple[int, EffectId, int] | None = None
    pauses: list[Pause] = field(default_factory=list)

    @property
    def head(self) -> EffectBook | None:
        return self.effects[self.cursor] if self.cursor < len(self.effects) else None

    def is_held(self, lease: Lease, era: int) -> bool:
        return self.held_until is not None and lease.epoch == self.epoch and lease.era == era

    def let_go(self) -> None:
        self.held_until, self.worker = None, ""

    def pause_of(self, effect: EffectBook, at: datetime) -> Pause | None:
        """The pause that holds the effect back."""
        newest = self.pauses[-1] if self.pauses else None
        if newest is None or effect.oseq <= newest.passes or not newest.begun_at <= at < newest.until:
            return None
        return newest

    # --- what a sweep may have done by now ---

    def pass_by_time(self, effect: EffectBook, at: datetime) -> None:
        """What a sweep may have done to it by now."""
        if effect.state is _S.DOUBT and effect.doubt_until is not None and effect.doubt_until <= at:
            if effect.terms.doubt is DoubtPolicy.SKIP:
                effect.state = _S.SKIPPED
            elif effect.terms.doubt is DoubtPolicy.RESEND and effect.resends < effect.terms.resends_max:
                effect.resend()
        if effect.state is _S.PENDING and self.is_droppable(effect, at):
            effect.state = _S.CANCELLED

    def may_be_over(self, own: EffectBook, at: datetime) -> bool:
        if own.state is _S.DOUBT:
            if own.doubt_until is None or own.doubt_until > at or own.terms.doubt is DoubtPolicy.PARK:
                return False
            if own.terms.doubt is DoubtPolicy.SKIP:
                return True
        elif own.state is not _S.PENDING:
            return False
        return self.is_droppable(own, at)

    def is_droppable(self, effect: EffectBook, at: datetime) -> bool:
        """It waited through a pause that is over, and was not to be kept."""
        return not effect.is_unproven and any(
            not pause.keeps and pause.until <= at and effect.oseq > pause.passes and effect.asked_at <= at
            for pause in self.pauses
        )

    def end_pauses(self, at: datetime) -> None:
        for pause in self.pauses:
            pause.until = min(pause.until, at)
