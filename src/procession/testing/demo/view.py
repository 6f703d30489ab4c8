"""Shows the show: live on a terminal, or line by line where there is none; and its verdict in the end."""

import asyncio
import os
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from procession.runtime.pause import pause
from procession.testing.demo import keys
from procession.testing.demo import palette as ink
from procession.testing.demo.screen import TAGLINE, screen
from procession.testing.demo.show import Show
from procession.testing.demo.verdict import Verdict

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

_FRAME: Final = timedelta(milliseconds=125)
_LINE_EVERY: Final = timedelta(seconds=2)


def fits(least: tuple[int, int]) -> bool:
    """A terminal that is large enough."""
    if not sys.stdout.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return False
    size = os.get_terminal_size(sys.stdout.fileno())
    return size.columns >= least[0] and size.lines >= least[1]


async def live(show: Show) -> Verdict:
    from rich.console import Console
    from rich.live import Live

    console = Console()
    with (
        Live(console=console, screen=True, auto_refresh=False) as display,
        keys.listening({"k": show.kill, "q": show.end}),
    ):
        async with asyncio.TaskGroup() as group:
            frames = group.create_task(_frames(show, display, console))
            result = await show.run()
            frames.cancel()
    console.print(panel(result))
    return result


async def _frames(show: Show, display: "Live", console: "Console") -> None:
    while True:
        display.update(screen(show, console.width, console.height), refresh=True)
        await pause(_FRAME)


async def plain(show: Show) -> Verdict:
    show.on_news = lambda at, text: _say(f"{at:5.1f} s  {text}")
    _say(f"Procession: {TAGLINE}")
    async with asyncio.TaskGroup() as group:
        lines = group.create_task(_lines(show))
        result = await show.run()
        lines.cancel()
    for line in said(result):
        _say(line)
    return result


async def _lines(show: Show) -> None:
    while True:
        await pause(_LINE_EVERY)
        referee = show.referee
        _say(
            f"{show.passed:5.1f} s  accepted {referee.accepted:,}  duplicates dropped {referee.duplicates:,}  "
            f"turns {referee.turns:,}  replies checked {referee.replies:,}  wrong {referee.wrong_calls}"
        )


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


# --- the verdict ---


def said(result: Verdict) -> list[str]:
    """The verdict in plain lines."""
    lines = [f"{'PASSED' if result.holds else 'FAILED'}: {result.line}"]
    lines += [
        f"  killed with {kill.turns} turns in flight and {kill.sends} sends begun; back in {kill.accepting_after_s} s"
        for kill in result.kills
    ]
    if result.not_accepted or result.in_doubt or result.not_asked_for:
        lines.append(
            f"  not accepted in time {result.not_accepted}, in doubt {result.in_doubt}, "
            f"not asked for {result.not_asked_for}"
        )
    return lines + [f"  {wrong}" for wrong in result.wrong]


def panel(result: Verdict) -> "RenderableType":
    from rich import box
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    colour = ink.GOOD if result.holds else ink.BAD
    score = Table.grid(expand=True)
    cells = (
        ("accepted", result.accepted, False),
        ("lost", result.lost, True),
        ("sent twice", result.sent_twice, True),
        ("out of order", result.out_of_order, True),
        ("wrong tenant", result.wrong_tenant, True),
        ("in doubt", result.in_doubt, True),
    )
    for _ in cells:
        score.add_column(justify="center", ratio=1)
    score.add_row(
        *(
            Text(
                f"{number:,}",
                "bold white" if not is_bad else f"bold white on {ink.BAD}" if number else f"bold {ink.GOOD}",
            )
            for _, number, is_bad in cells
        )
    )
    score.add_row(*(Text(label, ink.DIM) for label, _, _ in cells))
    return Panel(
        Group(Text(), score, Text(), *(Text(f"  {line}") for line in _story(result))),
        title=Text(
            " ✓ EVERY PROMISE KEPT " if result.holds else " ✗ A PROMISE WAS BROKEN ", f"{ink.ON_COLOUR} on {colour}"
        ),
        box=box.HEAVY,
        border_style=colour,
        padding=(0, 1),
        width=100,
    )


def _story(result: Verdict) -> list[str]:
    lines = [
        f"{result.replies:,} replies to {result.turns:,} texts, each checked as it came, from outside.",
        f"{result.duplicates_dropped:,} deliveries came a second time: dropped.",
        f"{result.early_put_in_place:,} came too early: held, and played in their place.",
    ]
    for kill in result.kills:
        lines.append("")
        lines.append(f"kill -9 with {kill.turns} turns in flight, {kill.sends} sends begun, {kill.owed} texts waiting:")
        good = (
            ""
            if kill.made_good_after_s is None
            else f"; after {kill.made_good_after_s:.1f} s all of that was made good"
        )
        lines.append(f"back in {kill.accepting_after_s:.1f} s{good}.")
    if result.resent_and_dropped_by_key:
        lines.append(
            f"{result.resent_and_dropped_by_key} sends went out again under their key: the receiver dropped them."
        )
    if result.not_accepted:
        lines.append(f"{result.not_accepted} texts were not accepted before time was up.")
    return lines + list(result.wrong)
