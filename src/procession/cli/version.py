"""`procession version`."""

import click

from procession.cli import session, show


@click.command()
@session.reads
def version() -> None:
    """Which version this is."""
    own = version_text()
    show.answer({"version": own}, lambda: show.say(own))


def version_text() -> str:
    # The reader of metadata brings half of `email` along, which no other command needs.
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("procession")
    except PackageNotFoundError:
        return "unknown (not installed)"
