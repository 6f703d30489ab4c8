"""`procession aside …`: set-aside events, elsewhere called dead letters."""

import click

from procession.cli import session, show
from procession.core.ids import EventId, TenantId


@click.group()
def aside() -> None:
    """Set-aside events (dead letters): those whose tries were used up. Their lanes went on."""


@aside.command("list")
@session.reads
@session.of_tenant
@session.up_to
def aside_list(tenant: str | None, limit: int) -> None:
    """What was set aside, and why; the newest first."""
    found = session.at_desk(lambda desk: desk.asides(_tenant(tenant), limit))
    show.answer(
        found,
        lambda: show.table(
            ("event", "tenant", "lane", "kind", "at", "tries", "reason"),
            ((view.id, view.tenant, view.lane_key, view.kind, view.at, view.tries, view.reason) for view in found),
            empty="nothing is set aside",
        ),
    )


@aside.command("show")
@session.acts
@session.of_tenant
@click.argument("event", metavar="EVENT")
def aside_show(event: str, tenant: str | None) -> None:
    """One of them, with its content. Whoever looks is audited."""
    view = session.at_desk(lambda desk: desk.aside_show(EventId(event), _tenant(tenant), actor=session.actor()))
    show.answer(
        view,
        lambda: show.facts(
            (
                ("event", view.id),
                ("tenant", view.tenant),
                ("lane", view.lane_key),
                ("place", f"#{view.seq}"),
                ("kind", view.kind),
                ("set aside", view.at),
                ("tries", view.tries),
                ("reason", view.reason),
                ("content", view.payload),
            )
        ),
    )


@aside.command("replay")
@session.acts
@session.of_tenant
@click.argument("event", metavar="EVENT")
def aside_replay(event: str, tenant: str | None) -> None:
    """Play it once more, before whatever waits in its lane. Its remembered steps hold, and nothing is sent twice."""
    changed = session.at_desk(lambda desk: desk.replay(EventId(event), _tenant(tenant), actor=session.actor()))
    show.answer({"replayed": changed}, lambda: show.say("it will be played" if changed else "it is not set aside"))


@aside.command("drop")
@session.acts
@session.of_tenant
@click.argument("event", metavar="EVENT")
def aside_drop(event: str, tenant: str | None) -> None:
    """Give it up, for good."""
    changed = session.at_desk(lambda desk: desk.aside_drop(EventId(event), _tenant(tenant), actor=session.actor()))
    show.answer({"dropped": changed}, lambda: show.say("dropped" if changed else "it is not set aside"))


def _tenant(name: str | None) -> TenantId | None:
    return None if name is None else TenantId(name)
