"""`procession quarantine …`: what was signed, but could not be read or routed."""

import click

from procession.cli import session, show
from procession.core.ids import EndpointName, QuarantineId


@click.group()
def quarantine() -> None:
    """Signed deliveries that could not be read or routed: kept with their reason, answered 200."""


@quarantine.command("list")
@session.reads
@session.up_to
def quarantine_list(limit: int) -> None:
    """What is kept there, the newest first."""
    found = session.at_desk(lambda desk: desk.quarantine(limit))
    show.answer(
        found,
        lambda: show.table(
            ("id", "endpoint", "at", "bytes", "reason"),
            ((view.id, view.endpoint, view.at, view.body_bytes, view.reason) for view in found),
            empty="the quarantine is empty",
        ),
    )


@quarantine.command("show")
@session.acts
@click.argument("kept", metavar="ID")
def quarantine_show(kept: str) -> None:
    """One of them, with its body. Whoever looks is audited."""
    view = session.at_desk(lambda desk: desk.quarantine_show(QuarantineId(kept), actor=session.actor()))

    def tell() -> None:
        show.facts((("id", view.id), ("endpoint", view.endpoint), ("at", view.at), ("reason", view.reason)))
        show.facts(view.headers)
        show.say(show.text(view.body))

    show.answer(view, tell)


@quarantine.command("route")
@session.acts
@click.option("--endpoint", help="Read it as if it had come to this endpoint.")
@click.argument("kept", metavar="ID")
def quarantine_route(kept: str, endpoint: str | None) -> None:
    """Read it once more with the directory as it is now, and accept it: an ordinary event, with the place of now."""
    events = session.at_desk(
        lambda desk: desk.quarantine_route(
            QuarantineId(kept), None if endpoint is None else EndpointName(endpoint), actor=session.actor()
        )
    )
    show.answer({"events": events}, lambda: show.say("\n".join(events) or "accepted; it held no event"))


@quarantine.command("drop")
@session.acts
@click.argument("kept", metavar="ID")
def quarantine_drop(kept: str) -> None:
    """Give it up, for good."""
    changed = session.at_desk(lambda desk: desk.quarantine_drop(QuarantineId(kept), actor=session.actor()))
    show.answer({"dropped": changed}, lambda: show.say("dropped" if changed else "it is not there (any more)"))
