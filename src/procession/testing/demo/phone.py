"""Draws one handset: what its person wrote on the right, what the shop replied on the left, the newest below."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from procession.testing.demo import palette as ink
from procession.testing.demo.standing import Standing, Waits
from procession.testing.whatsapp.book import Book
from procession.testing.whatsapp.crowd import words_of
from procession.testing.whatsapp.label import read_reply
from procession.testing.whatsapp.person import Person

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

WAITS: Final = {
    Waits.NOTHING: ("·", "all answered", ink.DIM),
    Waits.TYPING: ("…", "typing", ink.PLAIN),
    Waits.PLAYING: ("►", "playing", ink.CALM),
    Waits.SENDING: ("»", "sending", ink.GOOD),
    Waits.DELIVERY: ("◦", "waits for delivered", ink.TWICE),
    Waits.DOUBT: ("?", "in doubt", f"bold white on {ink.BAD}"),
}
"""The sign, the words and the colour of each."""
_LATEST: Final = 24


def phone(person: Person, standing: Standing, book: Book, tone: str, size: tuple[int, int]) -> "RenderableType":
    """`size`: columns and lines, with the frame."""
    from rich import box
    from rich.panel import Panel
    from rich.text import Text

    tenant, _, name = person.label.partition(".")
    width, lines = size[0] - 2, size[1] - 2
    _, words, colour = WAITS[standing.waits]
    shown = _bubbles(person, book, tone, width)[-lines:] if lines > 0 else []
    return Panel(
        Text("\n").join([Text()] * (lines - len(shown)) + shown),
        title=Text.assemble((f" {name}", "bold"), " · ", (f"{tenant} ", tone)),
        subtitle=Text(f" {words} ", colour),
        box=box.ROUNDED,
        border_style=tone,
        padding=0,
        height=size[1],
    )


def _bubbles(person: Person, book: Book, tone: str, width: int) -> list["Text"]:
    said = [*_written(person, book, width), *_replies(person, tone, width)]
    return [line for _, line in sorted(said, key=lambda one: one[0])]


def _written(person: Person, book: Book, width: int) -> Iterator[tuple[float, "Text"]]:
    """Two ticks: the engine has accepted it. `late`: it had accepted one that was written after it by then."""
    from rich.text import Text

    overtaken_at: float | None = None
    for n in range(person.typed, max(0, person.typed - _LATEST), -1):
        text = book.texts[(person.label, n)]
        taken_at = text.passage.taken_at
        is_late = overtaken_at is not None and (taken_at is None or taken_at > overtaken_at)
        overtaken_at = min((at for at in (overtaken_at, taken_at) if at is not None), default=None)
        line = Text.assemble(
            (f" {words_of(n)} ", ink.BUBBLE_TEXT),
            (f"#{n} ", ink.BUBBLE_DIM),
            ("late " if is_late else "", ink.LATE),
            ("✓ " if taken_at is None else "✓✓ ", ink.CALM),
        )
        yield text.typed_at, _beside(line, f"on {ink.OWN_BUBBLE}", width, is_own=True)


def _replies(person: Person, tone: str, width: int) -> Iterator[tuple[float, "Text"]]:
    from rich.text import Text

    for bubble in person.handset.shown[-_LATEST:]:
        reply = read_reply(bubble.body)
        n = reply.answers[0].n if reply is not None else 0
        step, colon, words = bubble.body.split(" ", 2)[-1].partition(":")
        line = Text.assemble(
            (f" #{n} ", ink.BUBBLE_DIM), (step + colon, f"bold {tone}"), (f"{words} ", ink.BUBBLE_TEXT)
        )
        yield bubble.at, _beside(line, f"on {ink.BUBBLE}", width, is_own=False)


def _beside(text: "Text", ground: str, width: int, *, is_own: bool) -> "Text":
    """At its side of the screen, on its own ground."""
    from rich.text import Text

    text.truncate(width, overflow="ellipsis")
    text.stylize_before(ground)
    blank = Text(" " * (width - text.cell_len))
    return blank + text if is_own else text + blank
