"""`procession migrate` and `procession restore`: what is done to a store as a whole."""

import click

from procession.cli import session, show


@click.command()
@session.reads
def migrate() -> None:
    """Bring the store's schema forward to this version; offline. It never goes back."""
    from procession.app.wiring import migrated

    before, after = session.run(migrated(session.settings()))
    show.answer(
        {"from": before, "to": after},
        lambda: show.say(f"schema {before}, nothing to do" if before == after else f"schema {before} -> {after}"),
    )


@click.command()
@session.acts
@click.option("--reason", default="restored by hand", show_default=True, help="Why; it stands in the audit.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def restore(reason: str, yes: bool) -> None:
    """Begin a new era, after a backup was put in place of the store's file.

    The file may lack the last writes: every lease is void, sending is paused, and each effect that was pending or under
    way is in doubt, since it may have been sent. Go through `procession doubt list`, then `procession sending resume`.
    """
    if not yes:
        click.confirm(
            "Sending is paused, and all unfinished sends will be in doubt. Begin a new era?", abort=True, err=True
        )
    era = session.at_desk(lambda desk: desk.new_era(reason=reason, actor=session.actor()))
    show.answer({"era": era}, lambda: show.say(f"era {era} has begun; sending is paused"))
