"""The demo's screen: it fits what it is made for, and what is wrong cannot be overlooked."""

import io
from datetime import timedelta
from pathlib import Path

from rich.console import Console

from procession.testing.demo.driver import TERMINAL_LEAST
from procession.testing.demo.referee import Call
from procession.testing.demo.screen import DOWN, bars, screen
from procession.testing.demo.show import Show
from procession.testing.stand_ins import ManualClock

WIDTH, HEIGHT = 100, 30


def a_show(folder: Path) -> Show:
    show = Show(folder, seconds=25, seed=0, clock=ManualClock())
    for tenant, name in (("bakery", "ana"), ("clinic", "farid"), ("megastore", "buyer-01")):
        conversation = show.referee.conversation(tenant, name)
        conversation.typed = 30
        for n in range(1, 31):
            show.referee.accepted_one(conversation, n)
    return show


def drawn(show: Show, width: int = WIDTH, height: int = HEIGHT) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(screen(show, width, height), end="")
    return captured.get().splitlines()


def test_the_screen_fits_a_hundred_columns_and_thirty_lines(tmp_path: Path) -> None:
    lines = drawn(a_show(tmp_path))

    assert len(lines) == HEIGHT
    assert max(map(len, lines)) <= WIDTH
    for label in ("came twice", "came early", "order checked", "in doubt", "kill -9 the engine"):
        assert any(label in line for line in lines), label


def test_the_smallest_terminal_still_shows_the_score_and_the_keys(tmp_path: Path) -> None:
    width, height = TERMINAL_LEAST

    lines = drawn(a_show(tmp_path), width, height)

    assert len(lines) == height
    assert max(map(len, lines)) <= width
    for label in ("PROCESSION", "0 wrong", "megastore", "kill -9 the engine", " q "):
        assert any(label in line for line in lines), label


def test_a_wrong_reply_is_counted_on_the_screen(tmp_path: Path) -> None:
    show = a_show(tmp_path)
    assert any("0 wrong" in line for line in drawn(show))

    assert show.referee.replied("bakery", "bakery/ana", 7, 1) is Call.OUT_OF_ORDER

    assert any("1 wrong" in line for line in drawn(show))


def test_the_time_without_an_engine_is_marked_in_the_chart() -> None:
    upper, lower = bars([1.0, None, 2.0], 2)

    assert lower == f"█{DOWN}█"
    assert upper == "  █"


def test_a_screen_before_the_first_sample_can_be_drawn(tmp_path: Path) -> None:
    show = Show(tmp_path, seconds=25, seed=0, clock=ManualClock())
    show.pulse.beat()

    assert any("DOWN" in line for line in drawn(show))
    assert timedelta(seconds=show.passed) >= timedelta(0)
