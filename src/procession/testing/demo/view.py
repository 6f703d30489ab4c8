"""Shows the show: live on a terminal, or line by line where there is none; and its verdict in the end."""

import asyncio
import os
import sys
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from procession.runtime.pause import pause
from procession.testing.demo import keys
from procession.testing.demo import palette as ink
from procession.testing.demo.screen import TAGLINE, screen
from procession.testing.demo.shops import TONE
from procession.testing.demo.show import Show
from procession.testing.demo.verdict import Verdict, astray, out_of_order

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.live import Live

_FRAME: Final = timedelta(milliseconds=125)
_LINE_EVERY: Final = timedelta(seconds=2)
_PANEL_MOST: Final = 100


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
    console.print(panel(result, console.width))
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
        cast = show.cast
        if cast is None:
            continue
        book, told, standings = cast.world.book, cast.told, cast.standings
        _say(
            f"{show.passed:5.1f} s  accepted {book.taken:,}  repeats dropped {book.repeated:,}  "
            f"turns {standings.turns:,}  sends {len(book.accepted):,}  statuses {book.statuses.total():,}  "
            f"doubts proven {standings.proven:,}  wrong {out_of_order(told)}  twice {told.duplicate}  "
            f"astray {astray(told)}"
        )


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


# --- the verdict ---


def said(result: Verdict) -> list[str]:
    """The verdict in plain lines."""
    lines = [f"{'PASSED' if result.holds else 'FAILED'}: {result.line}"]
    return lines + [f"  {line}" for line in _story(result)]


def panel(result: Verdict, width: int = _PANEL_MOST) -> "RenderableType":
    from rich import box
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    colour = ink.GOOD if result.holds else ink.BAD
    told = result.told
    score = Table.grid(expand=True)
    cells = (
        ("texts", told.taken, False),
        ("sends", told.sends, False),
        ("lost", told.not_taken + told.lost + told.unanswered, True),
        ("out of order", result.out_of_order, True),
        ("twice", told.duplicate, True),
        ("astray", result.astray, True),
        ("in doubt", result.doubts_open, True),
    )
    for _ in cells:
        score.add_column(justify="center", no_wrap=True)
    score.add_row(*(Text(f"{number:,}", _score_ink(number, is_bad=is_bad)) for _, number, is_bad in cells))
    score.add_row(*(Text(label, ink.DIM) for label, _, _ in cells))
    story = [_point(line) for line in _story(result)]
    return Panel(
        Group(Text(), score, Text(), *story),
        title=Text(
            " ✓ EVERY PROMISE KEPT " if result.holds else " ✗ A PROMISE WAS BROKEN ", f"{ink.ON_COLOUR} on {colour}"
        ),
        box=box.HEAVY,
        border_style=colour,
        padding=(0, 1, 1, 1),
        width=min(_PANEL_MOST, width),
    )


def _point(line: str) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    point = Table.grid(padding=(0, 1))
    point.add_row(Text("·", ink.DIM), Text(line))
    return point


def _score_ink(number: int, *, is_bad: bool) -> str:
    if not is_bad:
        return "bold white"
    return f"bold white on {ink.BAD}" if number else f"bold {ink.GOOD}"


def _story(result: Verdict) -> Iterator[str]:
    told = result.told
    yield (
        f"{told.taken:,} texts to {len(TONE)} shops, each owed three steps: judged by the {told.shown:,} bubbles "
        "on the handsets of the people, and by what WhatsApp took; the engine was asked for nothing."
    )
    yield f"{told.repeated:,} deliveries came a second time: dropped. {result.statuses:,} statuses came back."
    if result.doubts_proven:
        yield f"{result.doubts_proven:,} sends got no clear answer: not sent again, each proven by a status."
    if result.doubts_resolved:
        yield f"{result.doubts_resolved:,} could not be proven: an operator looked at the handset, and said what is so."
    quick = [f"{tenant} {seconds:.1f} s" for tenant, seconds in result.reply_s.items() if seconds is not None]
    yield f"Half of the first steps came within: {', '.join(quick)}."
    for kill in result.kills:
        good = "" if kill.made_good_after_s is None else f"; after {kill.made_good_after_s:.1f} s all were answered"
        yield (
            f"kill -9 of the engine with {kill.turns} turns in flight, {kill.sends} sends begun and {kill.owed} texts "
            f"waiting: back in {kill.accepting_after_s:.1f} s{good}."
        )
    yield from told.wrong
