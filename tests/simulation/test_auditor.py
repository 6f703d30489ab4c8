"""The auditor's own books: a history that breaks a rule is told, one that keeps it is not."""

from datetime import timedelta

import pytest

from procession.core.effect import Effect, EffectDraft, EffectState, Repeatability, Terms
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, TenantId, WorkerId
from procession.core.lane import Lease, Side
from procession.core.turn import Began, HeldEffect, Recorded
from procession.core.verdict import Confirmed, Deferred, Fate, Uncertain, Verdict
from procession.testing.simulation.audit_sends import SendsAudit
from procession.testing.simulation.clock import BEGINNING
from procession.testing.simulation.history import History
from procession.testing.simulation.rare import Rare, RareCounts

TENANT, LANE, TURN = TenantId("acme"), LaneId("ln_1"), EventId("ev_1")
TTL = timedelta(seconds=4)
BODY = b'{"tenant": "acme", "canary": "canary-of-acme", "turn": "ev_1", "place": 0}'


class Books:
    """A conversation with one effect, and the words of its story."""

    def __init__(self, repeatability: Repeatability = Repeatability.UNSAFE) -> None:
        self.history = History(lambda: 0.0)
        self.rare = RareCounts()
        self.sends = SendsAudit(self.history, self.rare)
        self.draft = EffectDraft(
            id=EffectId("ef_1"),
            key="#0",
            channel=ChannelName("chat"),
            lane=LANE,
            lane_key="person",
            action="say",
            payload=BODY,
            terms=Terms(repeatability=repeatability),
        )
        self.at = BEGINNING
        self.sends.asked(TENANT, TURN, (self.draft,), self.at)

    @property
    def rule(self) -> str | None:
        return None if self.history.violation is None else self.history.violation.rule

    def lease(self, epoch: int) -> Lease:
        return Lease(tenant=TENANT, lane=LANE, side=Side.SENDS, era=1, epoch=epoch, worker=WorkerId(f"n{epoch}"))

    def claim(self, epoch: int) -> None:
        own = self.sends.effects[self.draft.id]
        effect = _effect(self.draft, own.state, own.attempts)
        self.sends.claimed((HeldEffect(lease=self.lease(epoch), effect=effect),), self.at + TTL, self.at)

    def begin(self, epoch: int, attempt: int = 1) -> None:
        self.sends.began(self.lease(epoch), self.draft.id, attempt, Began(attempt=attempt), self.at)

    def send(self, epoch: int) -> None:
        self.sends.wired(f"n{epoch}", self.draft.id, self.at, is_probe=False)

    def take(self, attempt: int = 1) -> None:
        self.sends.took(self.draft.id, attempt, TENANT, BODY)

    def record(self, epoch: int, verdict: Verdict, attempt: int = 1) -> None:
        answer = Recorded(fate=Fate.KEPT)
        self.sends.recorded(self.lease(epoch), self.draft.id, attempt, verdict, TTL, answer, self.at)

    def pass_lease(self) -> None:
        self.at += TTL
        self.sends.swept(self.at)


def _effect(draft: EffectDraft, state: EffectState, attempts: int) -> Effect:
    return Effect(
        tenant=TENANT,
        id=draft.id,
        channel=draft.channel,
        lane=draft.lane,
        lane_key=draft.lane_key,
        oseq=1,
        turn=TURN,
        key=draft.key,
        action=draft.action,
        payload=draft.payload,
        terms=draft.terms,
        state=state,
        attempts=attempts,
        tries=attempts,
        asked_at=BEGINNING,
    )


def test_a_send_that_is_armed_taken_and_confirmed_breaks_nothing() -> None:
    books = Books()

    books.claim(1)
    books.begin(1)
    books.send(1)
    books.take()
    books.record(1, Confirmed())

    assert books.rule is None


def test_a_send_that_is_not_armed_is_told() -> None:
    books = Books()

    books.claim(1)
    books.send(1)

    assert books.rule == "S8"


def test_a_send_after_a_takeover_is_told() -> None:
    books = Books(Repeatability.PROBED)

    books.claim(1)
    books.begin(1)
    books.pass_lease()
    books.claim(2)
    books.send(1)

    assert books.rule == "S8"
    assert books.rare[Rare.TAKEOVER_WHILE_ARMED] == 1


def test_a_claim_before_the_lease_is_over_is_told() -> None:
    books = Books()

    books.claim(1)
    books.claim(2)

    assert books.rule == "S7"


def test_a_second_acceptance_is_told() -> None:
    books = Books()

    books.claim(1)
    books.begin(1)
    books.send(1)
    books.take()
    books.take()

    assert books.rule == "S8"


@pytest.mark.parametrize("verdict", [Deferred(after=timedelta(0), reason="no answer"), Confirmed()])
def test_a_verdict_that_is_not_true_is_told(verdict: Verdict) -> None:
    books = Books()

    books.claim(1)
    books.begin(1)
    books.send(1)
    if isinstance(verdict, Deferred):
        books.take()
    books.record(1, verdict)

    assert books.rule == "S10"


def test_what_was_called_not_taken_and_is_taken_later_is_told() -> None:
    books = Books()

    books.claim(1)
    books.begin(1)
    books.send(1)
    books.record(1, Deferred(after=timedelta(0), reason="refused"))
    assert books.rule is None
    books.take()

    assert books.rule == "S10"


def test_an_uncertain_send_that_is_begun_again_is_told() -> None:
    books = Books()

    books.claim(1)
    books.begin(1)
    books.send(1)
    books.record(1, Uncertain(reason="no answer"))
    books.begin(2, attempt=2)

    assert books.rule == "S7"


def test_an_effect_that_nobody_has_asked_for_is_told() -> None:
    books = Books()

    books.sends.wired("n1", EffectId("ef_other"), books.at, is_probe=False)

    assert books.rule == "S9"


def test_the_excerpt_of_a_history_shows_what_led_there_and_leaves_out_the_rest() -> None:
    books = Books()
    books.history.note("n9", "post", ("ev_elsewhere",))

    books.claim(1)
    books.claim(2)

    assert books.history.violation is not None
    excerpt = "\n".join(books.history.excerpt(books.history.violation.about))
    assert "effect asked" in excerpt
    assert "VIOLATION S7" in excerpt
    assert "ev_elsewhere" not in excerpt
