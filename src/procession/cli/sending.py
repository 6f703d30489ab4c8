"""`procession sending …`: stop, or go on with, all sending of this store; see and end what is held back."""

import click

from procession.cli import session, show
from procession.core.ids import ChannelName, TenantId


@click.group()
def sending() -> None:
    """All sending of this store at once, and what a provider's answer has held back. A new era (after `restore`) begins
    with sending paused.
    """


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


@sending.command("show")
@session.reads
@session.of_tenant
def sending_show(tenant: str | None) -> None:
    """What is held back since a provider said so, and until when."""
    found = session.at_desk(lambda desk: desk.halts(None if tenant is None else TenantId(tenant)))
    show.answer(
        found,
        lambda: show.table(
            ("tenant", "channel", "since", "until", "reason"),
            (
                (
                    view.tenant,
                    "all of them" if view.channel is None else view.channel,
                    view.since,
                    "it is released" if view.until is None else view.until,
                    view.reason,
                )
                for view in found
            ),
            empty="nothing is held back",
        ),
    )


@sending.command("release")
@session.acts
@click.argument("tenant", metavar="TENANT")
@click.argument("channel", metavar="[CHANNEL]", required=False)
def sending_release(tenant: str, channel: str | None) -> None:
    """Let a channel send again, or (none named) the tenant with all its channels. A credential that `apply` replaces
    does so by itself.
    """
    own = None if channel is None else ChannelName(channel)
    changed = session.at_desk(lambda desk: desk.release(TenantId(tenant), own, actor=session.actor()))
    show.answer({"released": changed}, lambda: show.say("released" if changed else "nothing held it back"))


def _set(*, paused: bool) -> None:
    changed = session.at_desk(lambda desk: desk.sending(paused=paused, actor=session.actor()))
    word = "paused" if paused else "resumed"
    show.answer({"changed": changed}, lambda: show.say(f"sending {word}" if changed else f"it was {word} already"))
