"""One effect, in the auditor's books: what was asked for, what the store said of it, and what Graph really has."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Final

from procession.connectors.whatsapp.actions import HARMLESS
from procession.core.effect import ENDED, DoubtPolicy, EffectDraft, EffectState
from procession.core.ids import EffectId, TenantId

if TYPE_CHECKING:
    from procession.testing.simulation.whatsapp.subject import Subject

_S: Final = EffectState


@dataclass(slots=True, kw_only=True, eq=False)
class Sent:
    tenant: TenantId
    draft: EffectDraft
    subject: "Subject"
    """In whose order it stands."""
    asked_at: datetime
    state: EffectState = EffectState.PENDING
    attempts: int = 0
    claimed_at: datetime | None = None
    """For the begin that was the first."""
    begun_at: datetime | None = None
    open_since: float = 0.0
    """When it was begun last, in the world's time: a store's clock may jump."""
    no: int = 0
    """Of all begins: when it was begun first."""
    track: "Subject | None" = None
    """Under whose lane it was begun first."""
    armed_by: str = ""
    is_recorded: bool = True
    """The newest attempt has a verdict."""
    wired: set[int] = field(default_factory=set)
    taken: list[datetime] = field(default_factory=list)
    """When Graph has taken it."""
    wamids: list[str] = field(default_factory=list)
    resends: int = 0
    confirmed_at: datetime | None = None
    is_unshown: bool = False
    """It was confirmed before its channel had ever shown a status."""
    ref: str | None = None
    receipt: int = 0
    failed: bool = False
    gate_expired: bool = False
    came_droppable: bool = False
    may_be_skipped: bool = False
    """Time may have ended its doubt before evidence did."""
    passed_in_doubt: bool = False
    """Those behind it have gone on although nobody knew."""
    not_before: datetime | None = None

    @property
    def id(self) -> EffectId:
        return self.draft.id

    @property
    def is_harmless(self) -> bool:
        """Read marks and signs of typing: a repeat does nothing more, and nobody waits for them."""
        return self.draft.action in HARMLESS

    @property
    def has_ended(self) -> bool:
        return self.state in ENDED

    @property
    def is_open(self) -> bool:
        """It was begun, and what became of it is not known."""
        return self.state in (_S.ARMED, _S.DOUBT)

    @property
    def is_strict(self) -> bool:
        return self.draft.terms.doubt is not DoubtPolicy.RESEND

    @property
    def is_gated(self) -> bool:
        """Order on the handset is promised behind it."""
        return self.draft.terms.gate.receipt > 1

    def has_reached_gate(self) -> bool:
        return self.failed or self.receipt >= self.draft.terms.gate.receipt

    def opens_at(self, at: datetime) -> datetime:
        """When the next one may go; it has ended."""
        if self.state is not _S.CONFIRMED or self.confirmed_at is None or self.may_be_skipped:
            return at
        gate = self.draft.terms.gate
        opens = self.confirmed_at + gate.gap
        if self.has_reached_gate():
            return opens
        wait = gate.wait_max if gate.unshown is None or not self.is_unshown else min(gate.wait_max, gate.unshown)
        return max(opens, self.confirmed_at + wait)

    def pass_by_time(self, at: datetime) -> None:
        """It was passed: then a sweep has ended it, with a pause, or with its doubt by the tenant's policy."""
        if self.state is _S.PENDING and self.may_be_dropped(at):
            self.state = _S.CANCELLED
        elif self.is_open and self.is_skippable(at):
            self.state, self.passed_in_doubt = _S.SKIPPED, True
        elif self.is_open and self.is_resendable(at) and self.may_be_dropped(at):
            self.state = _S.CANCELLED
        elif self.may_be_skipped:
            self.passed_in_doubt = True

    def is_skippable(self, at: datetime) -> bool:
        # What does no harm is sent again first, and skipped when that was in vain: nobody is told which.
        return not self.is_harmless and self.draft.terms.doubt is DoubtPolicy.SKIP and self.doubt_may_be_over(at)

    def may_be_dropped(self, at: datetime) -> bool:
        """By the end of a pause, in this conversation or in the one that it came from."""
        return self.came_droppable or self.subject.drops(self.asked_at, at)

    def is_resendable(self, at: datetime) -> bool:
        terms = self.draft.terms
        return terms.doubt is DoubtPolicy.RESEND and self.doubt_may_be_over(at) and self.resends < terms.resends_max

    def doubt_may_be_over(self, at: datetime) -> bool:
        return self.begun_at is not None and at >= self.begun_at + self.draft.terms.doubt_wait

    def confirm(self, at: datetime, *, unshown: bool) -> None:
        if not self.has_ended:
            self.may_be_skipped = self.is_open and self.is_skippable(at)
            self.state, self.confirmed_at, self.is_unshown = _S.CONFIRMED, at, unshown
            self.receipt = max(self.receipt, 1)
