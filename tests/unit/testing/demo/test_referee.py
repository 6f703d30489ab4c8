"""The demo's referee calls what is wrong by its name; a demo that could not fail would show nothing."""

from dataclasses import replace

import pytest

from procession.testing.demo.referee import Call, Came, Referee
from procession.testing.demo.verdict import Verdict, verdict
from procession.testing.demo.view import panel, said


def a_referee(*, accepted: int = 3) -> Referee:
    """Bob of the bakery has typed so many texts, all accepted; Ann of the clinic as many."""
    referee = Referee()
    for tenant, name in (("bakery", "bob"), ("clinic", "ann")):
        conversation = referee.conversation(tenant, name)
        conversation.typed = accepted
        for n in range(1, accepted + 1):
            referee.accepted_one(conversation, n)
    return referee


def calls(referee: Referee, *replies: tuple[int, int], at: str = "bakery") -> list[Call]:
    return [referee.replied(at, "bakery/bob", n, step) for n, step in replies]


def judged(referee: Referee, *, in_doubt: int = 0) -> Verdict:
    return verdict(referee, kills=(), in_doubt=in_doubt, answer_ms=1.0)


def test_replies_in_order_and_once_are_right() -> None:
    referee = a_referee()

    assert set(calls(referee, (1, 1), (1, 2), (2, 1), (2, 2))) == {Call.RIGHT}
    assert referee.turns == 2
    assert referee.wrong_calls == 0


def test_a_reply_that_comes_a_second_time_is_called() -> None:
    referee = a_referee()

    assert calls(referee, (1, 1), (1, 2), (1, 1)) == [Call.RIGHT, Call.RIGHT, Call.SENT_TWICE]


def test_the_second_step_before_the_first_is_called() -> None:
    assert calls(a_referee(), (1, 2), (1, 1)) == [Call.OUT_OF_ORDER, Call.OUT_OF_ORDER]


def test_a_turn_that_overtakes_another_is_called_and_what_follows_it_is_not() -> None:
    referee = a_referee()

    assert calls(referee, (2, 1), (2, 2), (3, 1)) == [Call.OUT_OF_ORDER, Call.RIGHT, Call.RIGHT]


def test_another_tenants_reply_is_called() -> None:
    assert calls(a_referee(), (1, 1), at="clinic") == [Call.WRONG_TENANT]


@pytest.mark.parametrize(("n", "step"), [(4, 1), (0, 1), (1, 3)])
def test_a_reply_to_what_nobody_typed_is_called(n: int, step: int) -> None:
    assert calls(a_referee(), (n, step)) == [Call.NOT_ASKED_FOR]


def test_an_accepted_text_without_all_its_replies_is_lost_also_behind_a_gap() -> None:
    referee = a_referee()
    calls(referee, (1, 1), (1, 2), (3, 1), (3, 2))

    assert ("bakery/bob", 2) in referee.owed()
    assert ("bakery/bob", 3) not in referee.owed()
    assert judged(referee).lost == 1 + 3


def test_repeats_and_early_ones_are_told_apart_from_those_in_place() -> None:
    referee = Referee()
    conversation = referee.conversation("bakery", "bob")
    conversation.typed = 2

    for n in (2, 1, 1):
        referee.accepted_one(conversation, n)

    assert list(conversation.arrived) == [(2, Came.EARLY), (1, Came.IN_PLACE), (1, Came.AGAIN)]
    assert (referee.accepted, referee.duplicates, referee.early) == (2, 1, 1)


def a_good_verdict() -> Verdict:
    referee = Referee()
    conversation = referee.conversation("bakery", "bob")
    conversation.typed = 1
    referee.accepted_one(conversation, 1)
    calls(referee, (1, 1), (1, 2))
    return judged(referee)


def test_a_verdict_holds_when_everything_is_there_once_in_order() -> None:
    result = a_good_verdict()

    assert result.holds
    assert said(result)[0].startswith("PASSED")


@pytest.mark.parametrize(
    "wrong",
    ["lost", "sent_twice", "out_of_order", "wrong_tenant", "not_asked_for", "not_accepted", "in_doubt"],
)
def test_a_verdict_fails_for_each_thing_that_can_be_wrong(wrong: str) -> None:
    result = replace(a_good_verdict(), **{wrong: 1})  # type: ignore[arg-type]  # a name of a whole number

    assert not result.holds
    assert said(result)[0].startswith("FAILED")
    assert "A PROMISE WAS BROKEN" in str(getattr(panel(result), "title", ""))


def test_a_demo_that_has_shown_nothing_does_not_pass() -> None:
    assert not judged(Referee()).holds
