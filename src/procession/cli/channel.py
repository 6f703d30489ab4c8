"""`procession channel …`: one channel at a time; `procession apply` does all of them from a file."""

import click

from procession.cli import amend, session, show
from procession.core.errors import BadRequest


@click.group()
def channel() -> None:
    """Channels, one at a time: tenants' accounts at a provider, each bound to the endpoint that it delivers to."""


@channel.command("add", epilog=amend.PAIRS)
@session.acts
@click.argument("connector")
@click.option("--tenant", required=True, help="Whose it is.")
@click.option("--endpoint", required=True, help="Where its deliveries come in.")
@click.option("--name", help="How it is called among its tenant's. Default: as the endpoint.")
@click.option(
    "--account",
    "--phone-number-id",
    "account",
    help="How a delivery names it; needed where an endpoint has several channels.",
)
@amend.settings_argument
def channel_add(
    connector: str, tenant: str, endpoint: str, name: str | None, account: str | None, settings: tuple[str, ...]
) -> None:
    """Add a channel: `procession channel add whatsapp --tenant acme --endpoint meta --phone-number-id 1234
    token=env:ACME_TOKEN gate=delivered`.
    """
    found = amend.listing()
    own = name or endpoint
    there = any((each.tenant, each.name) == (tenant, own) for each in found.channels)
    amend.check_there(f"channel {tenant}/{own}", there=there, wanted=False)
    table = {**amend.pairs(settings), "tenant": tenant, "endpoint": endpoint, "name": own, "connector": connector}
    if account is not None:
        table["account"] = account
    amend.put("channel", table, found)


@channel.command("set", epilog=amend.PAIRS)
@session.acts
@click.argument("name", metavar="TENANT/NAME")
@amend.settings_argument
def channel_set(name: str, settings: tuple[str, ...]) -> None:
    """Change a channel; what is not named stays. A new token is `procession channel set acme/main token=env:NEW`."""
    tenant, _, own = _parted(name)
    found = amend.listing()
    there = next((each for each in found.channels if (each.tenant, each.name) == (tenant, own)), None)
    amend.check_there(f"channel {name}", there=there is not None, wanted=True)
    assert there is not None
    before: dict[str, object] = {**there.settings, "account": there.account, "active": there.active}
    fixed = {"tenant": tenant, "name": own, "endpoint": there.endpoint, "connector": there.connector}
    amend.put("channel", {**before, **amend.pairs(settings), **fixed}, found)


@channel.command("remove")
@session.acts
@click.argument("name", metavar="TENANT/NAME")
def channel_remove(name: str) -> None:
    """Remove a channel; with unfinished work it becomes inactive instead."""
    _parted(name)
    amend.remove(f"channel {name}")


@channel.command("list")
@session.reads
@session.of_tenant
def channel_list(tenant: str | None) -> None:
    """All channels, or those of a tenant. `statuses`: none have ever come, though its gate waits for them."""
    listing = amend.listing()
    found = tuple(own for own in listing.channels if tenant in (None, own.tenant))
    show.answer(
        found,
        lambda: show.table(
            ("channel", "connector", "account", "endpoint", "active", "statuses"),
            (
                (
                    f"{own.tenant}/{own.name}",
                    own.connector,
                    own.account,
                    own.endpoint,
                    "" if own.active else "no",
                    "none yet" if f"{own.tenant}/{own.name}" in listing.silent else "",
                )
                for own in found
            ),
            empty="there are no channels",
        ),
    )


def _parted(name: str) -> tuple[str, str, str]:
    parted = name.partition("/")
    if not all(parted):
        raise BadRequest(f"{name!r}: a channel is named TENANT/NAME, as `procession channel list` shows")
    return parted
