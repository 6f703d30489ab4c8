"""`procession version`."""

from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Final

import click

from procession.cli import session, show


def _version() -> str:
    try:
        return installed("procession")
    except PackageNotFoundError:
        return "unknown (not installed)"


__version__: Final = _version()


@click.command()
@session.common
def version() -> None:
    """Which version this is."""
    show.answer({"version": __version__}, lambda: show.say(__version__))
