"""Draws the show: one screen, from what it holds at this moment. 100 columns and 30 lines are what it is made for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from procession.testing.demo import palette as ink
from procession.testing.demo.ground import FLOODS, TENANTS
from procession.testing.demo.pulse import SAMPLE_S
from procession.testing.demo.referee import Call, Came, Conversation
from procession.testing.demo.show import KILLS_MAX, Show

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.layout import Layout
    from rich.table import Table
    from rich.text import Text

TAGLINE: Final = "every conversation in order, every reply once, every tenant apart"
TONE: Final = {"bakery": "#57c7ff", "clinic": "#7ee0c0", FLOODS: "#c4a1ff"}
CAME: Final = {Came.IN_PLACE: ink.PLAIN, Came.EARLY: ink.EARLY, Came.AGAIN: f"{ink.TWICE} strike"}
NEWS: Final = {"kill": ("✗", f"bold {ink.BAD}"), "good": ("✓", f"bold {ink.GOOD}"), "note": ("·", ink.PLAIN)}
ROWS_EACH: Final = 3
ROOMY: Final = 28
"""Lines; with fewer, fewer conversations are shown."""
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
DOWN: Final = "✗"
"""In the place of a value, while the engine is dead."""
_HEAD, _TILES, _LINES = 4, 4, 4
_TABLE_AROUND: Final = 3


def screen(show: Show, width: int, height: int) -> "Layout":
    from rich.layout import Layout

    each = ROWS_EACH if height >= ROOMY else ROWS_EACH - 1
    table = each * len(TENANTS) + _TABLE_AROUND
    whole = Layout()
    whole.split_column(
        Layout(_head(show, width), size=_HEAD),
        Layout(_tiles(show), size=_TILES),
        Layout(_lines(show, width), size=_LINES),
        Layout(_conversations(show, width, each), size=table),
        Layout(_news(show, max(1, height - _HEAD - _TILES - _LINES - table - 1))),
        Layout(_foot(show), size=1),
    )
    return whole


# --- the head ---


def _head(show: Show, width: int) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    line = Table.grid(expand=True)
    line.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    line.add_column(justify="right", no_wrap=True)
    title = Text.assemble((" PROCESSION ", f"{ink.ON_COLOUR} on {ink.GOOD}"), "  ", (TAGLINE, "bold"))
    line.add_row(title, Text(f"{min(show.passed, show.seconds):4.0f} s of {show.seconds:.0f} s ", ink.DIM))
    share = min(1.0, show.passed / show.seconds)
    done = round(share * width)
    bar = Text.assemble(("━" * done, ink.GOOD), ("─" * (width - done), ink.FRAME))
    state = ("● DOWN ", f"bold white on {ink.BAD}") if show.pulse.is_down else ("● LIVE ", f"bold {ink.GOOD}")
    return Group(
        line,
        bar,
        Text(),
        Text.assemble(" ", state, " ", (show.now, f"bold {ink.BAD}" if show.pulse.is_down else ink.PLAIN)),
    )


def _frame(show: Show) -> str:
    return ink.BAD if show.pulse.is_down else ink.FRAME


def _tiles(show: Show) -> "RenderableType":
    from rich import box
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    referee = show.referee
    wrong, doubt = referee.wrong_calls, len(show.ground.doubted)
    tiles = (
        (f"{referee.accepted:,}", "accepted", "bold white"),
        (f"{referee.duplicates:,}", "came twice", f"bold {ink.TWICE}"),
        (f"{referee.early:,}", "came early", f"bold {ink.EARLY}"),
        (f"{referee.turns:,}", "turns", "bold white"),
        (f"{referee.replies:,}", "replies sent", "bold white"),
        (
            f" {wrong:,} wrong ",
            "order checked",
            f"bold white on {ink.BAD}" if wrong else f"{ink.ON_COLOUR} on {ink.GOOD}",
        ),
        (f"{doubt:,}", "in doubt", f"bold {ink.BAD}" if doubt else "bold white"),
    )
    grid = Table.grid(expand=True)
    for _ in tiles:
        grid.add_column(justify="center", ratio=1, no_wrap=True)
    grid.add_row(*(Text(number, style) for number, _, style in tiles))
    grid.add_row(*(Text(label, ink.DIM, overflow="ellipsis") for _, label, _ in tiles))
    return Panel(grid, box=box.ROUNDED, border_style=_frame(show), padding=(0, 0))


# --- lines over time ---


def _lines(show: Show, width: int) -> "RenderableType":
    from rich.table import Table

    each = width // 2 - 4
    samples = list(show.pulse.samples)[-each:]
    grid = Table.grid(expand=True)
    grid.add_column(ratio=1)
    grid.add_column(ratio=1)
    last = next((sample.answer_ms for sample in reversed(samples) if sample.answer_ms is not None), None)
    accepted = [None if sample.is_down else sample.accepted / SAMPLE_S for sample in samples]
    grid.add_row(
        _line(f"accepted: {show.pulse.per_second:,.0f} a second", accepted, each, ink.GOOD),
        _line(
            "answered 200" + ("" if last is None else f" within {last:,.0f} ms"),
            [None if sample.is_down else sample.answer_ms or 0.0 for sample in samples],
            each,
            ink.CALM,
        ),
    )
    return grid


def _line(title: str, values: Sequence[float | None], width: int, style: str) -> "RenderableType":
    from rich import box
    from rich.panel import Panel
    from rich.text import Text

    rows = [Text(row.rjust(width), style) for row in bars(values, 2)]
    for row in rows:
        row.highlight_words([DOWN], f"bold {ink.BAD}")
    return Panel(
        Text("\n").join(rows),
        title=Text(title, style),
        title_align="left",
        box=box.ROUNDED,
        border_style=ink.FRAME,
        padding=(0, 1),
    )


def bars(values: Sequence[float | None], rows: int) -> list[str]:
    """A chart of so many rows, the top one first; None is a time when the engine was down."""
    highest = max((value for value in values if value is not None), default=0.0) or 1.0
    return ["".join(_bar(value, highest, rows, row) for value in values) for row in range(rows - 1, -1, -1)]


def _bar(value: float | None, highest: float, rows: int, row: int) -> str:
    if value is None:
        return DOWN if row == 0 else " "
    steps = len(_BLOCKS) - 1
    level = round(value / highest * rows * steps) - row * steps
    return _BLOCKS[max(0, min(steps, level))]


# --- conversations ---


def _conversations(show: Show, width: int, rows: int) -> "RenderableType":
    from rich import box
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    each = (width - 46) // 2
    table = Table(box=None, expand=True, padding=(0, 1), pad_edge=False, header_style=ink.DIM, show_edge=False)
    table.add_column("shop", width=15, no_wrap=True)
    table.add_column("person", width=8, no_wrap=True)
    table.add_column("waits", width=5, justify="right")
    came = Text.assemble("delivered: ", ("twice", ink.TWICE), ", ", ("early", ink.EARLY))
    table.add_column(came, width=each, no_wrap=True, justify="right")
    table.add_column("", width=1)
    table.add_column(Text.assemble("answered: ", ("in order", ink.GOOD)), width=each, no_wrap=True, justify="right")
    for tenant in TENANTS:
        _rows_of(table, show, tenant, each, rows)
    return Panel(table, box=box.ROUNDED, border_style=_frame(show), padding=(0, 1))


def _rows_of(table: "Table", show: Show, tenant: str, width: int, rows: int) -> None:
    from rich.text import Text

    everybody = [own for own in show.referee.conversations.values() if own.tenant == tenant]
    waiting = sum(max(0, len(own.accepted) - own.turns) for own in everybody)
    reply = show.pulse.reply_ms(tenant)
    labels = (
        Text(tenant, f"bold {TONE[tenant]}"),
        Text("" if reply is None else f" reply {_duration(reply)}", ink.DIM),
        Text(f" {waiting:,} waiting", ink.TWICE if waiting > len(everybody) else ink.DIM),
    )
    busiest = sorted(everybody, key=lambda own: own.typed, reverse=True)[:rows]
    for label, own in zip(labels, sorted(busiest, key=lambda own: own.name), strict=False):
        table.add_row(
            label,
            Text(own.name, TONE[tenant]),
            Text(str(max(0, len(own.accepted) - own.turns) or "·"), ink.DIM),
            _fitting([(str(n), CAME[came]) for n, came in own.arrived], width),
            Text("→", ink.DIM),
            _fitting(_answers(own), width),
        )


def _answers(conversation: Conversation) -> list[tuple[str, str]]:
    return [
        (str(n), ink.GOOD if call is Call.RIGHT else f"bold white on {ink.BAD}") for n, call in conversation.answered
    ]


def _fitting(parts: Sequence[tuple[str, str]], width: int) -> "Text":
    """The last of them that fit, with blanks between; the newest stands right."""
    from rich.text import Text

    taken: list[tuple[str, str]] = []
    for part in reversed(parts):
        width -= len(part[0]) + 1
        if width < -1:
            break
        taken.append(part)
    return Text(" ").join(Text(text, style) for text, style in reversed(taken))


def _duration(milliseconds: float) -> str:
    return f"{milliseconds:,.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"


# --- news and keys ---


def _news(show: Show, lines: int) -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    told = [
        Text.assemble((f"{at:5.1f} s ", ink.DIM), (f" {NEWS[kind][0]} ", NEWS[kind][1]), (text, NEWS[kind][1]))
        for at, kind, text in list(show.news)[-lines:]
    ]
    return Padding(Text("\n").join(told), (0, 2))


def _foot(show: Show) -> "Text":
    from rich.text import Text

    may_kill = len(show.kills) < KILLS_MAX
    key = f"{ink.ON_COLOUR} on {ink.GOOD}"
    left = ((" k ", key), (" kill -9 the engine    ", "")) if may_kill else ()
    return Text.assemble(
        " ",
        *left,
        (" q ", key),
        (" end, and the verdict", ""),
        ("     real processes, a real file, 127.0.0.1 only", ink.DIM),
    )
