"""What each conversation waits for is told from outside, and doubts are proven by statuses only."""

from procession.testing.demo.standing import Standings, Waits
from procession.testing.whatsapp.faults import Faults
from tests.unit.testing.demo.world import DemoWorld

ANA = "bistro.ana"
CUT = Faults(cut_after=1.0)
CUT_AND_UNTOLD = Faults(cut_after=1.0, status_lost=1.0)


def waits(standings: Standings, label: str = ANA) -> Waits:
    standings.look()
    return standings.of[label].waits


def test_a_conversation_goes_from_typing_over_each_step_to_rest() -> None:
    own = DemoWorld(None, 200)
    standings = Standings(own.world)
    assert waits(standings) is Waits.NOTHING

    text = own.typed(ANA)
    assert waits(standings) is Waits.TYPING
    own.time.move(5)
    assert waits(standings) is Waits.PLAYING
    own.reply(text, 1, wait_s=0.0)
    assert waits(standings) is Waits.DELIVERY
    own.time.move(20)
    assert waits(standings) is Waits.SENDING
    assert (standings.of[ANA].unanswered, standings.turns) == (1, 0)
    own.reply(text, 2, 3)
    assert waits(standings) is Waits.NOTHING
    assert (standings.of[ANA].unanswered, standings.turns) == (0, 1)


def test_a_send_whose_answer_was_cut_is_in_doubt_until_a_status_proves_it() -> None:
    own = DemoWorld(faults=CUT)
    standings = Standings(own.world)

    own.reply(own.typed(ANA), 1, wait_s=0.0)
    assert waits(standings) is Waits.DOUBT
    assert (standings.in_doubt, standings.proven) == (1, 0)

    own.time.move(20)
    assert waits(standings) is Waits.SENDING
    assert (standings.in_doubt, standings.proven) == (0, 1)


def test_a_doubt_that_no_status_proves_stays_one() -> None:
    own = DemoWorld(faults=CUT_AND_UNTOLD)
    standings = Standings(own.world)

    own.reply(own.typed(ANA), 1, wait_s=500.0)

    assert waits(standings) is Waits.DOUBT
    assert (standings.in_doubt, standings.proven) == (1, 0)


def test_what_a_kill_left_is_in_doubt_whether_it_was_taken_or_not() -> None:
    own = DemoWorld()
    standings = Standings(own.world)
    text = own.typed(ANA)
    own.reply(text, 1, wait_s=0.0)

    standings.kill_left(frozenset({f"{ANA}:1/1", f"{ANA}:1/2"}))
    assert waits(standings) is Waits.DOUBT
    assert (standings.in_doubt, standings.never_sent) == (2, frozenset({f"{ANA}:1/2"}))

    own.time.move(20)
    standings.look()
    assert (standings.in_doubt, standings.proven) == (1, 1)

    own.reply(text, 2)
    standings.look()
    assert (standings.in_doubt, standings.never_sent) == (0, frozenset())


def test_the_first_step_of_a_text_is_told_once_with_how_long_it_took() -> None:
    own = DemoWorld()
    standings = Standings(own.world)

    own.reply(own.typed(ANA), 1, 2, wait_s=0.0)
    standings.look()
    standings.look()

    (told,) = standings.replies
    assert told[0] == "bistro"
    assert 0.09 < told[1] < 0.11


def test_what_is_owed_is_what_was_accepted_and_misses_a_step() -> None:
    own = DemoWorld()
    standings = Standings(own.world)
    own.reply(own.typed(ANA), 1, 2, 3)
    own.reply(own.typed(ANA), 1)
    standings.look()

    assert standings.owed() == {(ANA, 2)}
