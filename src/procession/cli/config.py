"""`procession config`: every setting, and where its value comes from."""

import click

from procession.cli import session, show


@click.command()
@session.reads
def config() -> None:
    """Every setting with its value and its origin; passwords are masked.

    Defaults, procession.toml of the working directory, the environment (PROCESSION_…), flags: the later wins.
    """
    from procession.app.config import shown

    found = [(setting, shown(setting, value), value.origin) for setting, value in session.settings()]
    show.answer(
        {setting.name: {"value": value, "origin": origin} for setting, value, origin in found},
        lambda: show.table(
            ("setting", "value", "origin"),
            ((setting.name, value, origin) for setting, value, origin in found),
            empty="",
        ),
    )
