"""`procession apply`: tenants, endpoints and channels as a file says."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from procession.cli import session, show
from procession.core.errors import Misconfigured
from procession.ports.directory import Change

if TYPE_CHECKING:
    from procession.app.plan import Plan


@click.command()
@session.acts
@click.option(
    "-f", "--file", "path", required=True, metavar="FILE", help="The declaration, in TOML; - is standard input."
)
@click.option("--dry-run", is_flag=True, help="Say what would change, and change nothing.")
def apply(path: str, dry_run: bool) -> None:
    """Make tenants, endpoints, channels and shares what FILE says; the same file again changes nothing.

    What FILE does not name is removed; with unfinished work, it becomes inactive instead. Secrets are never written
    into FILE: { env = "NAME" }, { file = "path" } or { stdin = true } say where each is, and it is sealed at once.
    """
    plan = _plan(path)
    changes = session.at_desk(
        lambda desk: desk.apply(plan, dry_run=dry_run, actor=session.actor()), makes=True, imagines=dry_run
    )
    show.answer({"changes": changes, "dry_run": dry_run}, lambda: _tell(changes, dry_run=dry_run))


def _plan(path: str) -> "Plan":
    from procession.app.declared import Sources, read_declared

    if path == "-":
        text, folder, stdin = sys.stdin.read(), Path(), _taken
    else:
        text, folder, stdin = _read(Path(path)), Path(path).parent, _stdin
    return read_declared(text, Sources(folder=folder, environment=os.environ, stdin=stdin))


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{path} cannot be read: {error}") from None


def _stdin() -> bytes:
    return sys.stdin.buffer.read()


def _taken() -> bytes:
    raise Misconfigured("standard input is the declaration itself: a secret cannot come from there too")


def _tell(changes: tuple[Change, ...], *, dry_run: bool) -> None:
    for change in changes:
        show.say(show.text(f"{change.sign} {change.what}{f': {change.detail}' if change.detail else ''}"))
    if not changes:
        show.say("nothing to change")
    elif dry_run:
        made = sum(change.sign != "!" for change in changes)
        show.say(f"{made} changes would be made; nothing was")
