"""`procession sending …`: stop, or go on with, all sending of this store."""

import click

from procession.cli import session, show


@click.group()
def sending() -> None:
    """All sending of this store at once. A new era (after `restore`) begins with sending paused."""


@sending.command("pause")
@session.acts
def sending_pause() -> None:
    """Begin no further send; turns are still played."""
    _set(paused=True)


@sending.command("resume")
@session.acts
def sending_resume() -> None:
    """Go on: look at `procession doubt list` first."""
    _set(paused=False)


def _set(*, paused: bool) -> None:
    changed = session.at_desk(lambda desk: desk.sending(paused=paused, actor=session.actor()))
    word = "paused" if paused else "resumed"
    show.answer({"changed": changed}, lambda: show.say(f"sending {word}" if changed else f"it was {word} already"))
