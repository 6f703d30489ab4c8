"""Draws the show: one screen, from what it holds at this moment. 100 columns and 30 lines are what it is made for."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

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
TONE: Final = {"bakery": "bright_cyan", "clinic": "bright_blue", FLOODS: "magenta"}
CAME: Final = {Came.IN_PLACE: "white", Came.EARLY: "bright_magenta", Came.AGAIN: "yellow strike"}
NEWS: Final = {"kill": ("✗", "bold red"), "good": ("✓", "bold green"), "note": ("·", "cyan")}
ROWS_EACH: Final = 3
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_LEFT_OUT: Final = "─"
_HEAD, _TILES, _LINES = 3, 4, 5
_TABLE: Final = ROWS_EACH * len(TENANTS) + 3


def screen(show: Show, width: int, height: int) -> "Layout":
    from rich.layout import Layout

    whole = Layout()
    whole.split_column(
        Layout(_head(show, width), size=_HEAD),
        Layout(_tiles(show), size=_TILES),
        Layout(_lines(show, width), size=_LINES),
        Layout(_conversations(show, width), size=_TABLE),
        Layout(_news(show, max(1, height - _HEAD - _TILES - _LINES - _TABLE - 3))),
        Layout(_foot(show), size=1),
    )
    return whole


# --- the head ---


def _head(show: Show, width: int) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    line = Table.grid(expand=True)
    line.add_column(ratio=1)
    line.add_column(justify="right")
    title = Text.assemble((" PROCESSION ", "bold black on bright_green"), "  ", (TAGLINE, "bold"))
    line.add_row(title, Text(f"{min(show.passed, show.seconds):4.0f} s of {show.seconds:.0f} s ", "dim"))
    share = min(1.0, show.passed / show.seconds)
    done = round(share * width)
    bar = Text.assemble(("━" * done, "bright_green"), ("─" * (width - done), "bright_black"))
    state = ("● DOWN ", "bold white on red") if show.is_down else ("● LIVE ", "bold bright_green")
    return Group(line, bar, Text.assemble(" ", state, " ", (show.now, "bold red" if show.is_down else "white")))


def _tiles(show: Show) -> "RenderableType":
    from rich import box
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    referee = show.referee
    wrong, doubt = referee.wrong_calls, len(show.ground.doubted)
    tiles = (
        (f"{referee.accepted:,}", "accepted", "bold bright_white"),
        (f"{referee.duplicates:,}", "duplicates dropped", "bold yellow"),
        (f"{referee.early:,}", "early, put in place", "bold bright_magenta"),
        (f"{referee.turns:,}", "turns played", "bold bright_white"),
        (f"{referee.replies:,}", "replies checked", "bold bright_white"),
        (f"{wrong:,} wrong", "order, once, tenant", "bold white on red" if wrong else "bold bright_green"),
        (f"{doubt:,}", "sends in doubt", "bold red" if doubt else "bold bright_white"),
    )
    grid = Table.grid(expand=True)
    for _ in tiles:
        grid.add_column(justify="center", ratio=1, no_wrap=True)
    grid.add_row(*(Text(number, style) for number, _, style in tiles))
    grid.add_row(*(Text(label, "dim", overflow="ellipsis") for _, label, _ in tiles))
    return Panel(grid, box=box.ROUNDED, border_style="bright_black", padding=(0, 0))


# --- lines over time ---


def _lines(show: Show, width: int) -> "RenderableType":
    from rich.table import Table

    samples = list(show.pulse.samples)
    each = (width - 4) // 2 - 4
    grid = Table.grid(expand=True)
    grid.add_column(ratio=1)
    grid.add_column(ratio=1)
    last = next((sample.answer_ms for sample in reversed(samples) if sample.answer_ms is not None), None)
    grid.add_row(
        _line(
            f"accepted  {show.pulse.per_second:,.0f} a second",
            [sample.accepted / SAMPLE_S for sample in samples][-each:],
            each,
            "bright_green",
        ),
        _line(
            "answered 200" + ("" if last is None else f"  within {last:,.0f} ms"),
            [sample.answer_ms for sample in samples][-each:],
            each,
            "bright_cyan",
        ),
    )
    return grid


def _line(title: str, values: Sequence[float | None], width: int, style: str) -> "RenderableType":
    from rich import box
    from rich.panel import Panel
    from rich.text import Text

    upper, middle, lower = bars(values, 3)
    text = Text("\n").join(Text(row.rjust(width), style) for row in (upper, middle, lower))
    return Panel(text, title=title, title_align="left", box=box.ROUNDED, border_style="bright_black", padding=(0, 1))


def bars(values: Sequence[float | None], rows: int) -> list[str]:
    """A chart of so many rows, the top one first; a value that is not there leaves a mark at the bottom."""
    highest = max((value for value in values if value is not None), default=0.0) or 1.0
    steps = len(_BLOCKS) - 1
    drawn: list[str] = []
    for row in range(rows - 1, -1, -1):
        line = ""
        for value in values:
            if value is None:
                line += _LEFT_OUT if row == 0 else " "
                continue
            level = round(value / highest * rows * steps) - row * steps
            line += _BLOCKS[max(0, min(steps, level))]
        drawn.append(line)
    return drawn


# --- conversations ---


def _conversations(show: Show, width: int) -> "RenderableType":
    from rich import box
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    each = (width - 44) // 2
    table = Table(box=None, expand=True, padding=(0, 1), pad_edge=False, header_style="dim", show_edge=False)
    table.add_column("shop", width=15, no_wrap=True)
    table.add_column("who", width=10, no_wrap=True)
    table.add_column("waits", width=5, justify="right")
    came = Text.assemble("as delivered: ", ("twice", "not dim yellow"), " ", ("too early", "not dim bright_magenta"))
    table.add_column(came, width=each, no_wrap=True, justify="right")
    table.add_column("", width=1)
    table.add_column(Text("as answered"), width=each, no_wrap=True, justify="right")
    for tenant in TENANTS:
        _rows_of(table, show, tenant, each)
    return Panel(table, box=box.ROUNDED, border_style="bright_black", padding=(0, 1))


def _rows_of(table: "Table", show: Show, tenant: str, width: int) -> None:
    from rich.text import Text

    everybody = [own for own in show.referee.conversations.values() if own.tenant == tenant]
    waiting = sum(max(0, len(own.accepted) - own.turns) for own in everybody)
    reply = show.pulse.reply_ms(tenant)
    labels = (
        Text(tenant, f"bold {TONE[tenant]}"),
        Text("" if reply is None else f" reply {_duration(reply)}", "dim"),
        Text(f" {waiting:,} waiting", "yellow" if waiting > len(everybody) else "dim"),
    )
    busiest = sorted(everybody, key=lambda own: own.typed, reverse=True)[:ROWS_EACH]
    for label, own in zip(labels, sorted(busiest, key=lambda own: own.name), strict=False):
        table.add_row(
            label,
            Text(own.name, TONE[tenant]),
            Text(str(max(0, len(own.accepted) - own.turns) or "·"), "dim"),
            _fitting([(str(n), CAME[came]) for n, came in own.arrived], width),
            Text("→", "dim"),
            _fitting(_answers(own), width),
        )


def _answers(conversation: Conversation) -> list[tuple[str, str]]:
    return [
        (str(n), "green" if call is Call.RIGHT else "bold white on red") for n, call in conversation.answered
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
    from rich import box
    from rich.panel import Panel
    from rich.text import Text

    told = [
        Text.assemble((f"{at:5.1f} s ", "dim"), (f" {NEWS[kind][0]} ", NEWS[kind][1]), (text, NEWS[kind][1]))
        for at, kind, text in list(show.news)[-lines:]
    ]
    return Panel(Text("\n").join(told), box=box.ROUNDED, border_style="bright_black", padding=(0, 1))


def _foot(show: Show) -> "Text":
    from rich.text import Text

    may_kill = len(show.kills) < KILLS_MAX
    key = "bold black on bright_green"
    left = ((" k ", key), (" kill -9 the engine    ", "")) if may_kill else ()
    return Text.assemble(" ", *left, (" q ", key), (" end, and the verdict", ""), ("   real processes, real SQLite file", "dim"))
