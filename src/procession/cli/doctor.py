"""`procession doctor`: is everything as it should be?"""

import click

from procession.cli import session, show
from procession.cli.blame import FAILED


@click.command()
@session.reads
def doctor() -> None:
    """Check settings, store, folder, and what waits for somebody. Exits with 1 if anything is bad.

    A restored file cannot be told from the original: after you have put a backup in place, run `procession restore`.
    """
    from procession.app.doctor import examine

    config = session.settings()
    found = session.run(examine(config))
    show.answer(
        found,
        lambda: show.table(
            ("", "about", "finding"), ((finding.grade, finding.about, finding.text) for finding in found), empty=""
        ),
    )
    if any(finding.grade == "bad" for finding in found):
        raise SystemExit(FAILED)
