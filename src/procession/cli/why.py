"""`procession why`: the life of one event."""

import click

from procession.cli import session, show
from procession.core.errors import BadRequest
from procession.core.ids import TenantId
from procession.ports.console import EffectView, EventView


@click.command()
@session.reads
@session.of_tenant
@click.argument("what", metavar="ID")
def why(what: str, tenant: str | None) -> None:
    """The life of an event: when it came, what it waits for, what was tried, what was sent.

    ID is an event's id, the provider's id of it, an effect's id, or the provider's reference of one.
    """
    found = session.at_desk(lambda desk: desk.why(what, None if tenant is None else TenantId(tenant)))
    if not found:
        raise BadRequest(f"nothing here is called {what!r}: it never came, was never asked for, or was pruned since")
    show.answer(found, lambda: _tell(found))


def _tell(found: tuple[EventView, ...]) -> None:
    for number, view in enumerate(found):
        if number:
            show.say("")
        tell_event(view)


def tell_event(view: EventView) -> None:
    show.say(f"{view.kind}  {view.id}")
    show.facts(
        (
            ("  state", view.state),
            ("  tenant", view.tenant),
            ("  channel", view.channel),
            ("  provider id", view.provider_id),
            ("  lane", f"{view.lane_key}  ({view.lane})"),
            ("  place", None if view.seq is None else f"#{view.seq}{', late' if view.late else ''}"),
            ("  accepted", view.accepted_at),
            ("  ended", view.ended_at),
            ("  reason", view.reason),
            ("  waits for", view.waits_for),
            ("  since", view.waits_since),
        )
    )
    for tried in view.tries:
        reason = f": {tried.reason}" if tried.reason else ""
        show.say(show.text(f"  try {tried.number}  {show.text(tried.at)}  {tried.how}{reason}"))
    for effect in view.effects:
        _tell_effect(effect)


def _tell_effect(view: EffectView) -> None:
    parts = [f"  send #{view.oseq}  {view.action}  {view.state}", view.id]
    if view.attempts:
        parts.append(f"attempts {view.attempts}")
    if view.ref:
        parts.append(f"ref {view.ref}")
    if view.reason:
        parts.append(view.reason)
    if view.waits_for:
        parts.append(f"waits for {view.waits_for}")
    show.say(show.text("  ".join(parts)))
