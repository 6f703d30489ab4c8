"""Draws the show: one screen, from what it holds at this moment. It fits 80 columns and 24 lines, and uses more."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from procession.testing.demo import palette as ink
from procession.testing.demo.phone import WAITS, phone
from procession.testing.demo.pulse import Sample
from procession.testing.demo.shops import FLOODS, TONE
from procession.testing.demo.show import KILLS_MAX, Cast, Show
from procession.testing.demo.verdict import astray, out_of_order

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.layout import Layout
    from rich.text import Text

TAGLINE: Final = "every conversation in order, every reply once, every tenant apart"
NEWS: Final = {"kill": ("✗", f"bold {ink.BAD}"), "good": ("✓", f"bold {ink.GOOD}"), "note": ("·", ink.PLAIN)}
DOWN: Final = "✗"
"""In the place of a value, while the engine is dead."""
WIDE: Final = 100
"""Columns; with fewer, words are shorter and a handset is left out."""
PHONE_MOST: Final = 44
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_HEAD, _TILES, _SHOPS, _FOOT = 3, 4, len(TONE) + 2, 1
_ROOMY: Final = 30
"""Lines; with fewer, less is told of what has happened."""


def screen(show: Show, width: int, height: int) -> "Layout":
    from rich.layout import Layout

    whole = Layout()
    news = 6 if height >= _ROOMY else 1
    rest = height - _HEAD - _FOOT
    if show.cast is None:
        whole.split_column(
            Layout(_head(show, width), size=_HEAD), Layout(_news(show, rest)), Layout(_foot(show, width), size=_FOOT)
        )
        return whole
    whole.split_column(
        Layout(_head(show, width), size=_HEAD),
        Layout(_tiles(show, show.cast, width), size=_TILES),
        Layout(_shops(show, show.cast, width), size=_SHOPS),
        Layout(_phones(show.cast, width, rest - _TILES - _SHOPS - news), size=rest - _TILES - _SHOPS - news),
        Layout(_news(show, news), size=news),
        Layout(_foot(show, width), size=_FOOT),
    )
    return whole


# --- the head ---


def _head(show: Show, width: int) -> "RenderableType":
    from rich.console import Group
    from rich.text import Text

    title = Text.assemble((" PROCESSION ", f"{ink.ON_COLOUR} on {ink.GOOD}"), " ", (TAGLINE, "bold"))
    passed = min(show.seconds, show.passed) if show.cast is not None else 0.0
    clock = f" {passed:2.0f} s of {show.seconds:.0f} s"
    done = round(passed / show.seconds * (width - len(clock)))
    bar = Text.assemble(
        ("━" * done, ink.GOOD), ("─" * (width - len(clock) - done), ink.FRAME), (clock, ink.DIM), no_wrap=True
    )
    state = ("● DOWN ", f"bold white on {ink.BAD}") if show.pulse.is_down else ("● LIVE ", f"bold {ink.GOOD}")
    now = (show.now, f"bold {ink.BAD}" if show.pulse.is_down else ink.PLAIN)
    return Group(title, bar, Text.assemble(" ", state, " ", now, no_wrap=True, overflow="ellipsis"))


def _frame(show: Show) -> str:
    return ink.BAD if show.pulse.is_down else ink.FRAME


def _tiles(show: Show, cast: Cast, width: int) -> "RenderableType":
    from rich import box
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    book, told, standings = cast.world.book, cast.told, cast.standings
    plain, is_wide = "bold white", width >= WIDE
    doubt = standings.in_doubt
    tiles = (
        (f"{book.taken:,}", "accepted", plain),
        (f"{book.repeated:,}", "repeats dropped" if is_wide else "repeats", f"bold {ink.TWICE}"),
        (f"{standings.turns:,}", "turns", plain),
        (f"{len(book.accepted):,}", "sends", plain),
        (f"{book.statuses.total():,}", "statuses", plain),
        (f"{doubt:,}", "in doubt", f"bold {ink.BAD}" if doubt else plain),
        (f"{standings.proven:,}", "doubts proven" if is_wide else "proven", f"bold {ink.CALM}"),
        _badge(out_of_order(told), "wrong", "order", is_wide=is_wide),
        _badge(told.duplicate, "twice", "once", is_wide=is_wide),
        _badge(astray(told), "astray", "apart", is_wide=is_wide),
    )
    grid = Table.grid(expand=True, padding=(0, 1, 0, 0))
    for _ in tiles:
        grid.add_column(justify="center", no_wrap=True)
    grid.add_row(*(Text(number, style) for number, _, style in tiles))
    grid.add_row(*(Text(label, ink.DIM, overflow="ellipsis") for _, label, _ in tiles))
    return Panel(grid, box=box.ROUNDED, border_style=_frame(show), padding=(0, 0))


def _badge(wrong: int, word: str, label: str, *, is_wide: bool) -> tuple[str, str, str]:
    around = "  " if is_wide else ""
    style = f"bold white on {ink.BAD}" if wrong else f"{ink.ON_COLOUR} on {ink.GOOD}"
    return f"{around}{wrong:,} {word}{around}", label, style


# --- the shops and their conversations ---


def _shops(show: Show, cast: Cast, width: int) -> "RenderableType":
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    gap = " " if width >= WIDE else ""
    people = len(cast.world.people) // len(TONE)
    signs = people * (1 + len(gap))
    chart = max(8, width - 2 - signs - (9 + 12 + 14 + 4))
    highest = max((sample.reply_s or 0.0 for own in show.pulse.samples.values() for sample in own), default=0.0)
    table = Table.grid(padding=(0, 1, 0, 0))
    for columns, justify in ((8, "left"), (11, "right"), (signs, "left"), (12, "right"), (chart, "left")):
        table.add_column(width=columns, no_wrap=True, justify=justify)  # type: ignore[arg-type]  # a literal of rich's
    for tenant, tone in TONE.items():
        own = [cast.standings.of[person.label] for person in cast.world.people if person.number.tenant == tenant]
        waiting = sum(standing.unanswered for standing in own)
        reply = show.pulse.reply_s(tenant)
        is_flooded = tenant == FLOODS and cast.flood.is_on
        table.add_row(
            Text(tenant, f"bold {tone} reverse" if is_flooded else f"bold {tone}"),
            Text(f"{waiting:,} waiting", ink.TWICE if waiting > 2 * len(own) else ink.DIM),
            Text(gap).join(Text(WAITS[standing.waits][0], WAITS[standing.waits][2]) for standing in own),
            Text("" if reply is None else f"reply {_duration(reply)}", ink.PLAIN),
            _chart(list(show.pulse.samples[tenant])[-chart:], highest, tone),
        )
    return Group(Padding(table, (0, 1)), Text(), _legend(cast))


def _legend(cast: Cast) -> "Text":
    from rich.text import Text

    often = Counter(standing.waits for standing in cast.standings.of.values())
    parts = [
        Text.assemble((sign, colour), (f" {words} ", ink.DIM), (f"{often[waits]}", ink.PLAIN))
        for waits, (sign, words, colour) in WAITS.items()
        if sign != "·"
    ]
    return Text(" ") + Text("  ").join(parts)


def _chart(samples: Sequence[Sample], highest: float, tone: str) -> "Text":
    from rich.text import Text

    chart = Text(bars([None if sample.is_down else sample.reply_s or 0.0 for sample in samples], highest), tone)
    chart.highlight_words([DOWN], f"bold {ink.BAD}")
    return chart


def bars(values: Sequence[float | None], highest: float) -> str:
    """A chart of one line; None is a time when the engine was down."""
    steps = len(_BLOCKS) - 1
    return "".join(
        DOWN if value is None else _BLOCKS[max(value > 0, round(value / (highest or 1.0) * steps))] for value in values
    )


def _duration(seconds: float) -> str:
    return f"{seconds * 1000:,.0f} ms" if seconds < 1 else f"{seconds:.1f} s"


# --- handsets ---


def _phones(cast: Cast, width: int, lines: int) -> "RenderableType":
    from rich.table import Table

    tenants = list(TONE) if width >= WIDE else [tenant for tenant in TONE if tenant != "tapas"]
    each = min(PHONE_MOST, width // len(tenants) - 1)
    grid = Table.grid(padding=(0, 1, 0, 0))
    for _ in tenants:
        grid.add_column(width=each)
    people = [cast.followed.of[tenant] for tenant in tenants]
    grid.add_row(
        *(
            phone(person, cast.standings.of[person.label], cast.world.book, TONE[tenant], (each, lines))
            for tenant, person in zip(tenants, people, strict=True)
        )
    )
    return grid


# --- news and keys ---


def _news(show: Show, lines: int) -> "RenderableType":
    from rich.padding import Padding
    from rich.text import Text

    told = [
        Text.assemble((f"{at:5.1f} s ", ink.DIM), (f"{NEWS[kind][0]} {text}", NEWS[kind][1]))
        for at, kind, text in list(show.news)[-lines:]
    ]
    return Padding(Text("\n", no_wrap=True, overflow="ellipsis").join(told), (0, 1))


def _foot(show: Show, width: int) -> "Text":
    from rich.text import Text

    may_kill = len(show.kills) < KILLS_MAX
    key = f"{ink.ON_COLOUR} on {ink.GOOD}"
    left = ((" k ", key), (" kill -9 the engine   ", "")) if may_kill else ()
    what = "   a real engine on a real file, a simulated WhatsApp" if width >= WIDE else ""
    return Text.assemble(" ", *left, (" q ", key), (" end, and the verdict", ""), (what, ink.DIM))
