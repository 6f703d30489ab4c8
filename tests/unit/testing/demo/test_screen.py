"""The demo's screen: it fits what it is made for, and what is wrong cannot be overlooked."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from procession.testing.demo.driver import TERMINAL_LEAST
from procession.testing.demo.screen import DOWN, bars, screen
from procession.testing.demo.show import Show
from procession.testing.demo.view import panel
from procession.testing.stand_ins import ManualClock
from tests.unit.testing.demo.world import DemoWorld

WIDTH, HEIGHT = 120, 40


def a_show(folder: Path) -> tuple[Show, DemoWorld]:
    """Somebody of each shop has written and got replies; the pizzeria owes many more."""
    own = DemoWorld()
    show = Show(folder, seconds=30, seed=0, clock=ManualClock())
    show.watch(own.world)
    show.pulse.came_up()
    for tenant in ("bistro", "sushi", "tapas", "pizzeria"):
        own.reply(own.typed(f"{tenant}.ana"), 1, 2, 3)
    for _ in range(70):
        own.typed("pizzeria.ben")
    looked(show)
    return show, own


def looked(show: Show) -> None:
    """As if it were looked at for the first time in a while: the verdict too."""
    show.judge()
    show.look()


def drawn(show: Show, width: int = WIDTH, height: int = HEIGHT) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(screen(show, width, height), end="")
    return captured.get().splitlines()


def shows(lines: list[str], *labels: str) -> None:
    for label in labels:
        assert any(label in line for line in lines), (label, lines)


def test_a_large_terminal_shows_every_shop_its_conversations_and_a_handset_each(tmp_path: Path) -> None:
    show, _ = a_show(tmp_path)

    lines = drawn(show)

    assert len(lines) == HEIGHT
    assert max(map(len, lines)) <= WIDTH
    shows(lines, "repeats dropped", "doubts proven", "0 wrong", "0 twice", "0 astray", "kill -9 the engine")
    shows(lines, "ana · bistro", "ana · sushi", "ana · tapas", "ben · pizzeria", "70 waiting", "waits for delivered")
    shows(lines, "hello #1 ✓✓", "#1 step 1: looking", "#1 step 2: found one", "#1 step 3: booked!")


@pytest.mark.parametrize("height", [24, 30])
def test_the_smallest_terminal_still_shows_the_score_the_handsets_and_the_keys(tmp_path: Path, height: int) -> None:
    show, _ = a_show(tmp_path)
    width, _ = TERMINAL_LEAST

    lines = drawn(show, width, height)

    assert len(lines) == height
    assert max(map(len, lines)) <= width
    shows(lines, "every tenant apart", "0 wrong", "0 twice", "0 astray", "in doubt", "pizzeria", "step 3: booked!")
    shows(lines, " k  kill -9 the engine", " q  end, and the verdict")
    assert not any("…" in line for line in lines if "waiting" not in line and "typing" not in line)


def test_what_is_wrong_is_counted_on_the_screen(tmp_path: Path) -> None:
    show, own = a_show(tmp_path)
    shows(drawn(show), "0 wrong")

    own.reply(own.typed("bistro.ben"), 2, 1)
    looked(show)

    shows(drawn(show), "4 wrong")


def test_a_text_that_was_overtaken_is_marked_as_late(tmp_path: Path) -> None:
    own = DemoWorld(None, 200)
    show = Show(tmp_path, seconds=30, seed=0, clock=ManualClock())
    show.watch(own.world)

    own.typed("bistro.ana")
    own.typed("bistro.ana")
    own.time.move(20)
    looked(show)

    shows(drawn(show), "hello #1 late ✓✓", "are you there? #2 ✓✓")


def test_a_dead_engine_cannot_be_overlooked(tmp_path: Path) -> None:
    show, _ = a_show(tmp_path)
    shows(drawn(show), "● LIVE")

    show.pulse.went_down()

    shows(drawn(show), "● DOWN")


def test_the_time_without_an_engine_is_marked_in_the_chart() -> None:
    assert bars([1.0, None, 0.0, 0.001, 2.0], 2.0) == f"▄{DOWN} ▁█"


def test_a_screen_before_the_engine_runs_can_be_drawn(tmp_path: Path) -> None:
    show = Show(tmp_path, seconds=30, seed=0, clock=ManualClock())

    shows(drawn(show), "DOWN", "starting an engine")


@pytest.mark.parametrize("width", [80, 120])
def test_the_verdict_fits_too(tmp_path: Path, width: int) -> None:
    show, own = a_show(tmp_path)
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)

    with console.capture() as captured:
        assert show.cast is not None
        console.print(panel(show.verdict(show.cast), width))

    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= width
    shows(lines, "A PROMISE WAS BROKEN", "out of order", f"{own.world.book.taken} texts to 4 shops")
