"""How commands speak: JSON for programs, tables for people, plain text where there is no terminal."""

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import MAXYEAR, UTC, datetime, timedelta
from typing import Final

import click

from procession.cli.blame import blame_of
from procession.core.errors import ProcessionError

_JSON: Final = "procession.json"


def wants_json() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_JSON))


def choose_json(context: click.Context, parameter: click.Parameter, value: bool) -> None:  # noqa: ARG001 (click's own)
    context.meta[_JSON] = value


def answer(value: object, human: Callable[[], None]) -> None:
    """The one result of a command."""
    if wants_json():
        print_json(value)
    else:
        human()


def print_json(value: object) -> None:
    import msgspec

    click.echo(msgspec.json.encode(_plain(msgspec.to_builtins(value, builtin_types=(bytes,)))).decode())


def _plain(value: object) -> object:
    """Bytes as text where they are text: that is what they nearly always are, and base64 helps nobody who reads."""
    match value:
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                import base64

                return {"base64": base64.b64encode(value).decode()}
        case dict():
            return {key: _plain(part) for key, part in value.items()}
        case list() | tuple():
            return [_plain(part) for part in value]
        case _:
            return value


def say(text: str) -> None:
    click.echo(text)


def facts(pairs: Iterable[tuple[str, object]]) -> None:
    """One name and its value a line; what is empty is left out."""
    shown = [(name, text(value)) for name, value in pairs]
    width = max((len(name) for name, value in shown if value), default=0)
    for name, value in shown:
        if value:
            click.echo(f"{name:<{width}}  {value}")


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, empty: str) -> None:
    cells = [[text(cell) for cell in row] for row in rows]
    if not cells:
        click.echo(empty)
    elif sys.stdout.isatty():
        _rich_table(columns, cells)
    else:
        _plain_table(columns, cells)


def _rich_table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in cells:
        # As plain text: what tenants and providers write must not be taken for markup.
        made.add_row(*[Text(cell) for cell in row])
    Console().print(made)


def _plain_table(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[at]) for row in (columns, *cells)) for at in range(len(columns))]
    for row in (columns, *cells):
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def text(value: object) -> str:
    match value:
        case None:
            return ""
        case datetime():
            return "until resumed" if value.year == MAXYEAR else value.astimezone(UTC).strftime(_MOMENT)
        case timedelta():
            return f"{value.total_seconds():g}s"
        case bool():
            return "yes" if value else "no"
        case bytes():
            return value.decode("utf-8", "backslashreplace")
        case _:
            # A lane's key may be anything that a provider sent: it must not move the terminal's cursor.
            return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in str(value))


_MOMENT: Final = "%Y-%m-%d %H:%M:%SZ"


def failure(error: ProcessionError) -> None:
    blame = blame_of(error)
    if wants_json():
        kind = type(error).__name__
        print_json({"error": {"kind": kind, "text": str(error), "whose": blame.whose, "next": blame.next}})
    click.echo(f"procession: {error}\n  whose: {blame.whose}\n  next:  {blame.next}", err=True)
