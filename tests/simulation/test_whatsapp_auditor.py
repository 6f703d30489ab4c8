"""The auditor of WhatsApp worlds: what breaks a promise is told and counted, what is declared is counted apart."""

from datetime import timedelta

import pytest

from procession.core.effect import DoubtPolicy, EffectDraft, EffectState, Gate, Receipt, Terms
from procession.core.event import Sighting
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, TenantId, WorkerId
from procession.core.lane import Lease, Side
from procession.core.turn import Began, NotBegun, Recorded
from procession.core.verdict import Confirmed, Deferred, Fate, Halted, Scope, Uncertain, Verdict
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import BEGINNING
from procession.testing.simulation.history import History
from procession.testing.simulation.whatsapp.audit_sends import SendsAudit
from procession.testing.simulation.whatsapp.names import Names
from procession.testing.simulation.whatsapp.rare import Sight
from procession.testing.simulation.whatsapp.said import Said
from procession.testing.simulation.whatsapp.shape import draw_whatsapp_shape
from procession.testing.simulation.whatsapp.subject import Merge, Pause, Subject
from procession.testing.simulation.whatsapp.tally import Declared, Tally, Wrong
from procession.testing.simulation.whatsapp.tokens import Tokens
from procession.testing.whatsapp.book import Accepted
from procession.testing.whatsapp.number import Number
from procession.testing.whatsapp.rules import Rules

TENANT, CHANNEL, LANE, WORKER = TenantId("acme"), ChannelName("main"), LaneId("ln_1"), "n1"
NUMBER = Number(tenant=TENANT, id="100", waba="200", display="+49", token="a token")
SECOND = timedelta(seconds=1)


def _effect(n: int, terms: Terms | None = None) -> EffectDraft:
    body = b'{"text": {"body": "%d/2 #acme.1:1 hello"}}' % n
    return EffectDraft(
        id=EffectId(f"ef_{n}"),
        key=f"#{n}",
        channel=CHANNEL,
        lane=LANE,
        lane_key="49171",
        action="text",
        payload=body,
        terms=terms or Terms(gate=Gate(receipt=Receipt.DELIVERED, wait_max=5 * SECOND)),
    )


class Books:
    """A conversation of two bubbles, and the words of its story."""

    def __init__(self, terms: Terms | None = None, rules: Rules | None = None) -> None:
        self.history = History(lambda: 0.0)
        self.tally = Tally(self.history)
        self.subject = Subject(tenant=TENANT, channel=CHANNEL, label="acme.1", no=1, lane=LANE)
        self.sends = SendsAudit(self.tally, rules or Rules(), lambda _: self.subject)
        self.at = BEGINNING
        self.lease = Lease(tenant=TENANT, lane=LANE, side=Side.SENDS, era=1, epoch=1, worker=WorkerId(WORKER))
        self.sends.asked(self.subject, EventId("ev_1"), (_effect(1, terms), _effect(2, terms)), self.at)

    @property
    def rule(self) -> str | None:
        return None if self.history.violation is None else self.history.violation.rule

    def begin(self, n: int, attempt: int = 1, answer: Began | NotBegun | None = None) -> None:
        self.sends.began(self.lease, EffectId(f"ef_{n}"), attempt, answer or Began(attempt=attempt), self.at)

    def take(self, n: int, attempt: int = 1, label: str = "acme.1", effect: str = "") -> None:
        sent = Accepted(
            at=0.0,
            number=NUMBER,
            token="a token",
            label=label,
            to="49171",
            effect=effect or f"ef_{n}",
            wamid=f"wamid.{n}.{attempt}",
            kind="text",
            body=f"{n}/2 #acme.1:1 hello",
        )
        self.sends.evidence.took(sent, attempt, self.at)

    def record(self, n: int, verdict: Verdict, attempt: int = 1) -> None:
        self.sends.recorded(self.lease, EffectId(f"ef_{n}"), attempt, verdict, Recorded(fate=Fate.KEPT), self.at)

    def see(self, n: int, receipt: Receipt) -> None:
        seen = Sighting(tenant=TENANT, channel=CHANNEL, receipt=receipt, effect=EffectId(f"ef_{n}"))
        self.sends.sighted(seen, self.at)


def test_a_conversation_that_keeps_every_promise_is_let_pass() -> None:
    books = Books()

    for n in (1, 2):
        books.begin(n)
        books.take(n)
        books.record(n, Confirmed(ref=f"wamid.{n}.1"))
        books.see(n, Receipt.DELIVERED)

    assert books.rule is None
    assert not books.tally.counts


def test_a_bubble_behind_an_open_gate_only_is_told_and_behind_an_expired_one_counted() -> None:
    early, late = Books(), Books()

    for books, wait in ((early, 1), (late, 6)):
        books.begin(1)
        books.take(1)
        books.record(1, Confirmed())
        books.at += wait * SECOND
        books.begin(2)

    assert early.rule == "D2"
    assert late.rule is None
    assert late.tally.counts == {Declared.PAIRS_BEHIND_EXPIRED_GATES: 1}


def test_a_second_taking_is_a_duplicate_and_after_a_declared_resend_is_counted_apart() -> None:
    strict, declared = Books(), Books(Terms(doubt=DoubtPolicy.RESEND, doubt_wait=SECOND))

    for books in (strict, declared):
        books.begin(1)
        books.take(1)
        books.record(1, Uncertain(reason="no answer"))
        books.at += 2 * SECOND
    declared.begin(1, 2)
    declared.take(1, 2)
    strict.take(1)

    assert (strict.rule, strict.tally.counts[Wrong.DUPLICATES]) == ("S8", 1)
    assert (declared.rule, declared.tally.counts[Declared.DECLARED_DUPLICATES]) == (None, 1)


def test_a_doubt_that_is_begun_again_without_a_declaration_is_told() -> None:
    books = Books()
    books.begin(1)
    books.record(1, Uncertain(reason="no answer"))

    books.at += timedelta(hours=1)
    books.begin(1, 2)

    assert books.rule == "S8"


def test_a_verdict_that_is_not_true_is_told() -> None:
    lost, made_up = Books(), Books()
    lost.begin(1)
    lost.take(1)
    made_up.begin(1)

    lost.record(1, Deferred(after=SECOND, reason="no answer"))
    made_up.record(1, Confirmed())

    assert (lost.rule, made_up.rule) == ("S10", "S10")


def test_a_bubble_for_somebody_else_is_told() -> None:
    books = Books()
    books.begin(1)

    books.take(1, label="bright.1")

    assert books.tally.counts[Wrong.CROSS_TENANT] == 1


def test_what_is_begun_while_a_tenant_is_halted_or_a_person_has_taken_over_is_told() -> None:
    halted, taken_over = Books(), Books()
    halted.begin(1)
    halted.record(1, Halted(reason="190", code="190", scope=Scope.TENANT))
    taken_over.subject.pauses.append(Pause(begun_at=BEGINNING, until=BEGINNING + SECOND, keeps=False))

    halted.begin(1, 2)
    taken_over.begin(1)

    assert (halted.rule, taken_over.rule) == ("D10", "B2")


def test_more_than_whatsapp_takes_from_one_pair_is_told() -> None:
    gate = Terms(gate=Gate())
    books = Books(gate, Rules(pair_every_s=6.0, pair_burst=1))
    books.begin(1)
    books.take(1)
    books.record(1, Confirmed())

    books.at += SECOND
    books.begin(2)

    assert books.rule == "B5"


def test_a_status_proves_a_doubt_and_one_of_what_was_never_taken_is_told() -> None:
    proven, forged = Books(), Books()
    proven.begin(1)
    proven.take(1)
    proven.record(1, Uncertain(reason="no answer"))

    proven.see(1, Receipt.SENT)
    forged.see(1, Receipt.SENT)

    assert proven.sends.effects[EffectId("ef_1")].state is EffectState.CONFIRMED
    assert proven.tally.rare[Sight.DOUBT_PROVEN_BY_STATUS] == 1
    assert forged.rule == "S10"


def test_a_token_of_another_number_or_one_long_replaced_is_told() -> None:
    shape = draw_whatsapp_shape(0, SeededChance(0))
    first, second = shape.numbers[:2]
    late = BEGINNING + timedelta(minutes=1)
    rules: list[str | None] = []

    for token, at in ((first.token, BEGINNING), (second.token, BEGINNING), (first.token, late)):
        history = History(lambda: 0.0)
        tokens = Tokens(Tally(history), shape)
        tokens.replaced(first.id, "a new one", BEGINNING)
        tokens.check(first.id, token, at)
        rules.append(None if history.violation is None else history.violation.rule)

    assert rules == [None, "S13", "S13"]


def _said(n: int, *names: str, retires: tuple[str, ...] = ()) -> Said:
    return Said(
        key=(TENANT, EventId(f"ev_{n}")),
        tenant=TENANT,
        channel=CHANNEL,
        kind="whatsapp.text",
        label="acme.1",
        names=names,
        retires=retires,
        text="",
    )


@pytest.mark.parametrize("together", [("49171", "DE.1"), ("DE.1", "49171")])
def test_two_that_meet_in_one_event_are_one_from_then_on_and_the_older_goes_on(together: tuple[str, ...]) -> None:
    merged: list[tuple[Subject, Subject]] = []

    def merge(loser: Subject, heir: Subject, _at: object) -> None:
        merged.append((loser, heir))
        loser.heir = heir
        heir.merges.append(Merge(loser=loser, at=BEGINNING, had_open=False))

    names = Names(merge)
    by_phone = names.subject_of(_said(1, "49171"), BEGINNING)
    by_id = names.subject_of(_said(2, "DE.1"), BEGINNING)

    assert by_phone is not by_id
    assert names.subject_of(_said(3, *together), BEGINNING) is by_phone
    assert merged == [(by_id, by_phone)]
    assert names.subject_of(_said(4, "DE.1"), BEGINNING) is by_phone


def test_a_name_that_was_given_up_leads_on_and_changes_nothing() -> None:
    names = Names(lambda *_: None)
    somebody = names.subject_of(_said(1, "49171"), BEGINNING)

    assert names.subject_of(_said(2, "49172", "49171", retires=("49171",)), BEGINNING) is somebody
    assert names.subject_of(_said(3, "49171"), BEGINNING) is somebody
    assert names.subject_of(_said(4, "49172"), BEGINNING) is somebody
    assert names.subject_of(_said(5, "49171", "DE.9"), BEGINNING) is not somebody
