"""Shows a run: live on a terminal, or line by line where there is none; and its verdict in the end."""

import asyncio
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from procession.runtime.pause import pause
from procession.testing.demo import keys
from procession.testing.demo import palette as ink
from procession.testing.whatsapp.course import Course
from procession.testing.whatsapp.verdict import Verdict

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

LEAST: Final = (80, 16)
_FRAME: Final = timedelta(milliseconds=250)
_LINE_EVERY: Final = timedelta(seconds=2)


async def live(course: Course) -> Verdict:
    from rich.console import Console
    from rich.live import Live

    console = Console()
    with Live(console=console, auto_refresh=False, transient=True) as display, keys.listening({"q": course.end}):
        async with asyncio.TaskGroup() as group:
            frames = group.create_task(_frames(course, display))
            result = await course.run()
            frames.cancel()
    console.print(panel(result))
    return result


async def _frames(course: Course, display: "Live") -> None:
    while True:
        display.update(table(course), refresh=True)
        await pause(_FRAME)


async def plain(course: Course) -> Verdict:
    async with asyncio.TaskGroup() as group:
        lines = group.create_task(_lines(course))
        result = await course.run()
        lines.cancel()
    for line in said(result):
        _say(line)
    return result


async def _lines(course: Course) -> None:
    while True:
        await pause(_LINE_EVERY)
        _say(f"{course.passed:5.1f} s  {progress(course)}")


def progress(course: Course) -> str:
    book, journeys = course.world.book, course.world.journeys
    return (
        f"typed {len(book.texts):,}  taken {book.taken:,}  deliveries {book.deliveries:,} ({book.repeated:,} twice)  "
        f"sends {len(book.accepted):,}  on their way {journeys.under_way:,}  refused {book.refused.total():,}"
    )


def table(course: Course) -> "RenderableType":
    """A row for each tenant, and what goes on in all."""
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    world = course.world
    rows = Table(box=box.SIMPLE_HEAD, border_style=ink.FRAME, header_style=ink.DIM)
    for name in ("tenant", "typed", "taken", "sends", "shown"):
        rows.add_column(name, justify="left" if name == "tenant" else "right")
    for number in world.numbers:
        people = [person for person in world.people if person.number == number]
        labels = {person.label for person in people}
        texts = [text for text in world.book.texts.values() if text.label in labels]
        cells = (
            len(texts),
            sum(text.passage.taken_at is not None for text in texts),
            sum(sent.number == number for sent in world.book.accepted),
            sum(len(person.handset.shown) for person in people),
        )
        rows.add_row(number.tenant, *(f"{cell:,}" for cell in cells))
    head = Text(f"  {course.passed:5.1f} s  {course.now}   q ends it", ink.CALM)
    faults = "  ".join(f"{name} {often:,}" for name, often in sorted(world.book.faults.items()))
    answers = "  ".join(f"{status}: {often:,}" for status, often in sorted(world.book.answers.items()))
    return Group(head, rows, Text(f"  the target answered {answers}", ink.PLAIN), Text(f"  {faults}", ink.DIM))


# --- the verdict ---


def said(result: Verdict) -> list[str]:
    """The verdict in plain lines."""
    counts = ", ".join(f"{name.replace('_', ' ')} {often}" for name, often in result.counts().items())
    lines = [f"{'PASSED' if result.holds else 'FAILED'}: {result.texts:,} texts, {result.sends:,} sends; {counts}"]
    if set(result.answers) - {"200"}:
        told = ", ".join(f"{status} {often:,}" for status, often in result.answers.items())
        lines.append(f"  the target answered {told}")
    if result.refused:
        lines.append(f"  refused by code: {', '.join(f'{code} {often:,}' for code, often in result.refused.items())}")
    return lines + [f"  {wrong}" for wrong in result.wrong]


def panel(result: Verdict) -> "RenderableType":
    from rich import box
    from rich.panel import Panel
    from rich.text import Text

    colour = ink.GOOD if result.holds else ink.BAD
    title = " ✓ EVERY PROMISE KEPT " if result.holds else " ✗ A PROMISE WAS BROKEN "
    return Panel(
        Text("\n".join(said(result))),
        title=Text(title, f"{ink.ON_COLOUR} on {colour}"),
        box=box.HEAVY,
        border_style=colour,
        padding=(1, 1),
        width=100,
    )


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
