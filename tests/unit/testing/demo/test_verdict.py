"""The demo's verdict calls what is wrong by its name; a demo that could not fail would show nothing."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from procession.testing.demo.show import Show
from procession.testing.demo.verdict import Kill, Verdict
from procession.testing.demo.view import panel, said
from procession.testing.stand_ins import ManualClock
from tests.unit.testing.demo.world import DemoWorld

ANA, EVE = "bistro.ana", "sushi.ana"
KILL = Kill(turns=2, sends=3, owed=4, accepting_after_s=0.8, replying_after_s=1.0, made_good_after_s=1.5)


def judged(own: DemoWorld, folder: Path) -> Verdict:
    show = Show(folder, seconds=30, seed=0, clock=ManualClock())
    show.kills.append(KILL)
    return show.verdict(show.watch(own.world))


def in_order(own: DemoWorld) -> None:
    for label in (ANA, EVE):
        own.reply(own.typed(label), 1, 2, 3)


def backwards(own: DemoWorld) -> None:
    own.reply(own.typed(ANA), 3, 2, 1)


def one_missing(own: DemoWorld) -> None:
    own.reply(own.typed(ANA), 1, 2)


def one_twice(own: DemoWorld) -> None:
    own.reply(own.typed(ANA), 1, 2, 3, 3)


def at_another_tenant(own: DemoWorld) -> None:
    own.reply(own.typed(ANA), 1, 2, 3, to=EVE)


def test_a_verdict_holds_when_every_step_is_there_once_and_in_order(tmp_path: Path) -> None:
    own = DemoWorld()
    in_order(own)

    result = judged(own, tmp_path)

    assert result.holds
    assert said(result)[0].startswith("PASSED: 2 texts accepted, 2 answered in three steps")
    assert any("kill -9 of the engine with 2 turns in flight" in line for line in said(result))
    assert result.document()["kills"]


@pytest.mark.parametrize(
    ("plant", "word"),
    [
        (backwards, "out of order 6"),
        (one_missing, "lost 1"),
        (one_twice, "twice 1"),
        (at_another_tenant, "astray 3"),
    ],
)
def test_each_planted_wrong_fails_the_demo_by_its_name(
    tmp_path: Path, plant: Callable[[DemoWorld], None], word: str
) -> None:
    own = DemoWorld()
    in_order(own)
    plant(own)

    result = judged(own, tmp_path)

    assert not result.holds
    assert said(result)[0].startswith("FAILED")
    assert word in said(result)[0]
    assert "A PROMISE WAS BROKEN" in str(getattr(panel(result), "title", ""))


def test_a_doubt_that_is_left_open_fails_the_demo(tmp_path: Path) -> None:
    own = DemoWorld()
    in_order(own)

    assert not replace(judged(own, tmp_path), doubts_open=1).holds


def test_a_demo_that_has_shown_nothing_does_not_pass(tmp_path: Path) -> None:
    assert not judged(DemoWorld(), tmp_path).holds
