"""A whole simulated WhatsApp on time that is moved by hand, with a bot in the same process that is right, or is not."""

import json
from dataclasses import replace

import pytest

from procession.testing.whatsapp.faults import SOME, Faults
from procession.testing.whatsapp.person import Shows
from procession.testing.whatsapp.rules import FREE, Rules
from procession.testing.whatsapp.shape import Shape
from procession.testing.whatsapp.verdict import Verdict
from procession.testing.whatsapp.world import World
from tests.unit.testing.whatsapp.bot import Bot
from tests.unit.testing.whatsapp.scene import SECRET, HandTime, Wire

SMALL = Shape(numbers=3, people=8, bursts=3, moves=0.3)
LONG_S = 3600.0


def played(bot: Bot, seed: int = 1, *, rules: Rules = FREE, faults: Faults | None = None) -> tuple[World, Verdict]:
    time = HandTime()
    bot.world = world = World(time=time, carrier=bot, secret=SECRET, seed=seed, shape=SMALL, rules=rules, faults=faults)
    world.crowd.start()
    time.move(LONG_S)
    return world, world.verdict()


@pytest.mark.parametrize("seed", range(5))
def test_a_bot_that_waits_for_delivery_passes(seed: int) -> None:
    world, told = played(Bot(), seed)

    assert told.holds, told.wrong
    assert world.is_quiet
    assert told.texts > 24
    assert told.sends == told.shown == 2 * told.texts
    assert told.repeated > 0


def test_what_happens_comes_from_the_seed() -> None:
    _, once = played(Bot(), 7)
    _, again = played(Bot(), 7)
    _, other = played(Bot(), 8)

    assert once == again
    assert once != other


def test_a_bot_that_does_not_wait_is_out_of_order_on_the_handset_only() -> None:
    bot = Bot()
    bot.waits_for_delivery = False

    _, told = played(bot)

    assert told.out_of_order_shown > 0
    assert told.out_of_order_accepted == 0


def test_a_bot_that_answers_redeliveries_is_convicted_of_duplicates() -> None:
    bot = Bot()
    bot.drops_repeats = False

    _, told = played(bot)

    assert told.duplicate > 0
    assert not told.holds


def test_people_come_in_all_kinds_and_some_write_to_two_tenants_or_move() -> None:
    world, _ = played(Bot(), 3)

    assert len({person.shows for person in world.people}) > 3
    assert any(person.former for person in world.people)
    names = [name for person in world.people for name in (person.phone, *person.former) if "." not in name]
    assert len(set(names)) < len(names)
    assert {person.shows for person in world.people} <= set(Shows)


def test_the_wishes_of_a_bad_day_all_come_true() -> None:
    class Deaf(Bot):
        """Takes no notice of answers: what is sent is sent."""

        def _go_on(self, lane: str) -> None:
            assert self.world is not None
            while self._owed[lane]:
                number, bubble, rest = self._owed[lane].popleft()
                token = next(one.token for one in self.world.numbers if one.id == number)
                document = {"messaging_product": "whatsapp", "type": "text", "text": {"body": bubble}, **rest}
                self.world.graph.asked("POST", f"/{number}/messages", token, json.dumps(document).encode())

    many = replace(SOME, **dict.fromkeys(("late_after", "silent_after", "cut_after", "error_after"), 0.1))
    world, told = played(Deaf(), faults=many)

    assert told.faults.keys() >= {"error_before", "throttled", "late_after", "silent_after", "cut_after", "error_after"}
    assert told.faults.keys() >= {"status_lost", "status_doubled", "status_reversed", "status_late"}
    assert told.lost > 0
    assert world.is_delivered


def test_whoever_rests_when_all_are_hushed_is_not_waited_for() -> None:
    time = HandTime()
    world = World(
        time=time, carrier=Wire(), secret=SECRET, seed=1, shape=replace(SMALL, bursts=None, rest_s=(50.0, 500.0))
    )
    world.crowd.start()
    time.move(0.1)

    world.crowd.hush()

    assert world.crowd.typing == 0
    time.move(LONG_S)
    assert (world.crowd.typing, world.book.texts) == (0, {})


def test_whoever_is_hushed_types_no_more() -> None:
    time = HandTime()
    bot = Bot()
    bot.world = world = World(
        time=time, carrier=bot, secret=SECRET, seed=1, shape=replace(SMALL, bursts=None), rules=FREE
    )
    world.crowd.start()
    time.move(60)
    assert world.crowd.typing == 24
    world.crowd.hush()
    time.move(60)
    texts = len(world.book.texts)

    time.move(LONG_S)

    assert world.crowd.typing == 0
    assert len(world.book.texts) == texts
    assert world.verdict().holds
