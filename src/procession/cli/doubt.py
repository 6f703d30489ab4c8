"""`procession doubt …`: sends of which it is not known whether the provider has taken them."""

import click

from procession.cli import session, show
from procession.core.ids import EffectId, TenantId


@click.group()
def doubt() -> None:
    """Sends in doubt: begun, without a clear answer, and not proven since."""


@doubt.command("list")
@session.reads
@session.of_tenant
@session.up_to
def doubt_list(tenant: str | None, limit: int) -> None:
    """Those in doubt, the longest first."""
    found = session.at_desk(lambda desk: desk.doubts(None if tenant is None else TenantId(tenant), limit))
    show.answer(
        found,
        lambda: show.table(
            ("effect", "tenant", "channel", "action", "since", "attempts", "reason", "waits for"),
            (
                (
                    view.id,
                    view.tenant,
                    view.channel,
                    view.action,
                    view.changed_at,
                    view.attempts,
                    view.reason,
                    view.waits_for,
                )
                for view in found
            ),
            empty="nothing is in doubt",
        ),
    )


@doubt.command("resolve")
@session.acts
@session.of_tenant
@click.argument("effect", metavar="EFFECT")
@click.argument("how", type=click.Choice(["sent", "resend", "skip"]))
def doubt_resolve(effect: str, how: str, tenant: str | None) -> None:
    """End a doubt by hand: it was sent, it is sent again (and may then be there twice), or it is skipped."""
    own = None if tenant is None else TenantId(tenant)
    changed = session.at_desk(lambda desk: desk.resolve(EffectId(effect), how, own, actor=session.actor()))
    show.answer({"resolved": changed}, lambda: show.say("resolved" if changed else "it is not in doubt (any more)"))
