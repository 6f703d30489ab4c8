"""A row of procession_effect, without its payload (which is read only to be sent)."""

from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

from procession.core.effect import (
    DoubtPolicy,
    Effect,
    EffectMove,
    EffectState,
    Gate,
    Receipt,
    RefusedPolicy,
    Repeatability,
    Terms,
    moved,
)
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, TenantId
from procession.storage.instants import duration, moment
from procession.storage.ledger.lane import Lane

PENDING: Final[str] = EffectState.PENDING.value
ARMED: Final[str] = EffectState.ARMED.value
DOUBT: Final[str] = EffectState.DOUBT.value
CONFIRMED: Final[str] = EffectState.CONFIRMED.value
REFUSED: Final[str] = EffectState.REFUSED.value
CANCELLED: Final[str] = EffectState.CANCELLED.value
SKIPPED: Final[str] = EffectState.SKIPPED.value

ENDED: Final = frozenset({CONFIRMED, REFUSED, CANCELLED, SKIPPED})


class Sent:
    """The columns in the table's order, but for the payload; a plain class, see `Lane`."""

    COLUMNS: Final = (
        "no",
        "tenant",
        "id",
        "lane",
        "oseq",
        "state",
        "channel",
        "turn",
        "key",
        "action",
        "repeatability",
        "gate_receipt",
        "gate_wait_max",
        "gate_gap",
        "gate_unshown",
        "doubt",
        "doubt_wait",
        "resends_max",
        "on_refused",
        "tries_max",
        "answer_within",
        "window",
        "asked_at",
        "about_at",
        "attempts",
        "tries",
        "armed_epoch",
        "not_before",
        "doubt_until",
        "accepted_at",
        "receipt",
        "failed",
        "ref",
        "reason",
        "resends",
        "unproven",
        "gate_expired",
        "slot_at",
        "changed_at",
        "ended_at",
    )
    __slots__ = (*COLUMNS, "kept_gate_expired", "kept_resends", "kept_state")

    no: int
    tenant: int
    id: str
    lane: int
    oseq: int
    state: str
    channel: str
    turn: str
    key: str
    action: str
    repeatability: str
    gate_receipt: int
    gate_wait_max: int
    gate_gap: int
    gate_unshown: int | None
    doubt: str
    doubt_wait: int
    resends_max: int
    on_refused: str
    tries_max: int
    answer_within: int
    window: int | None
    asked_at: int
    about_at: int | None
    attempts: int
    tries: int
    armed_epoch: int | None
    not_before: int | None
    doubt_until: int | None
    accepted_at: int | None
    receipt: int
    failed: int
    ref: str | None
    reason: str
    resends: int
    unproven: int
    gate_expired: int
    slot_at: int | None
    changed_at: int
    ended_at: int | None

    kept_state: str
    kept_resends: int
    kept_gate_expired: int
    """How the row in the file stands: what the tallies start from."""

    def __init__(self, row: tuple[Any, ...]) -> None:
        (
            self.no,
            self.tenant,
            self.id,
            self.lane,
            self.oseq,
            self.state,
            self.channel,
            self.turn,
            self.key,
            self.action,
            self.repeatability,
            self.gate_receipt,
            self.gate_wait_max,
            self.gate_gap,
            self.gate_unshown,
            self.doubt,
            self.doubt_wait,
            self.resends_max,
            self.on_refused,
            self.tries_max,
            self.answer_within,
            self.window,
            self.asked_at,
            self.about_at,
            self.attempts,
            self.tries,
            self.armed_epoch,
            self.not_before,
            self.doubt_until,
            self.accepted_at,
            self.receipt,
            self.failed,
            self.ref,
            self.reason,
            self.resends,
            self.unproven,
            self.gate_expired,
            self.slot_at,
            self.changed_at,
            self.ended_at,
        ) = row
        self.kept_state, self.kept_resends, self.kept_gate_expired = self.state, self.resends, self.gate_expired

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    def move(self, move: EffectMove, now: int) -> None:
        """By the state table; an illegal move raises and changes nothing."""
        self.state = moved(EffectState(self.state), move).value
        self.changed_at = now
        if self.state in ENDED:
            self.ended_at = now
        if self.state != DOUBT:
            self.doubt_until = None

    def gate_reached(self) -> bool:
        """A failed one will get no further, so nobody waits for it."""
        return bool(self.failed) or self.receipt >= self.gate_receipt

    def gate_opens_at(self) -> int:
        """When the effect behind this ended one may go. Only a confirmed one has a gate."""
        if self.state != CONFIRMED or self.accepted_at is None:
            return 0
        if self.gate_reached():
            return self.accepted_at + self.gate_gap
        wait = self.gate_wait_max if self.gate_unshown is None else min(self.gate_wait_max, self.gate_unshown)
        return self.accepted_at + max(self.gate_gap, wait)


EFFECT_VALUES: Final[Callable[[Sent], tuple[Any, ...]]] = attrgetter(
    "state",
    "attempts",
    "tries",
    "armed_epoch",
    "not_before",
    "doubt_until",
    "accepted_at",
    "receipt",
    "failed",
    "ref",
    "reason",
    "resends",
    "unproven",
    "gate_expired",
    "gate_unshown",
    "slot_at",
    "changed_at",
    "ended_at",
    "no",
)
"""Of save_effect: every column that may change, then the number."""


def effect_of(sent: Sent, tenant: str, lane: Lane, payload: bytes) -> Effect:
    return Effect(
        tenant=TenantId(tenant),
        id=EffectId(sent.id),
        channel=ChannelName(sent.channel),
        lane=LaneId(lane.lane),
        lane_key=lane.key,
        oseq=sent.oseq,
        turn=EventId(sent.turn),
        key=sent.key,
        action=sent.action,
        payload=payload,
        terms=terms_of(sent),
        state=EffectState(sent.state),
        attempts=sent.attempts,
        tries=sent.tries,
        asked_at=moment(sent.asked_at),
        receipt=Receipt(sent.receipt),
        failed=bool(sent.failed),
        ref=sent.ref,
        reason=sent.reason,
        resends=sent.resends,
    )


def terms_of(sent: Sent) -> Terms:
    return _terms(
        sent.repeatability,
        (sent.gate_receipt, sent.gate_wait_max, sent.gate_gap, sent.gate_unshown),
        sent.doubt,
        sent.doubt_wait,
        sent.resends_max,
        sent.on_refused,
        sent.tries_max,
        (sent.answer_within, sent.window),
    )


@lru_cache(maxsize=256)
def _terms(
    repeatability: str,
    gate: tuple[int, int, int, int | None],
    doubt: str,
    doubt_wait: int,
    resends_max: int,
    on_refused: str,
    tries_max: int,
    ages: tuple[int, int | None],
) -> Terms:
    """Each channel has its own, and all its effects share them."""
    receipt, wait_max, gap, unshown = gate
    answer_within, window = ages
    return Terms(
        repeatability=Repeatability(repeatability),
        gate=Gate(
            receipt=Receipt(receipt),
            wait_max=duration(wait_max),
            gap=duration(gap),
            unshown=None if unshown is None else duration(unshown),
        ),
        doubt=DoubtPolicy(doubt),
        doubt_wait=duration(doubt_wait),
        resends_max=resends_max,
        on_refused=RefusedPolicy(on_refused),
        tries_max=tries_max,
        answer_within=duration(answer_within),
        window=None if window is None else duration(window),
    )
