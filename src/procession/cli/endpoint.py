"""`procession endpoint …`: one endpoint at a time; `procession apply` does all of them from a file."""

import click

from procession.cli import amend, session, show


@click.group()
def endpoint() -> None:
    """Endpoints, one at a time: the URLs that deliveries come to, each with its provider's verification."""


@endpoint.command("add", epilog=amend.PAIRS)
@session.acts
@click.argument("name")
@click.option("--connector", required=True, help="What speaks the provider's language: plain, standard, whatsapp.")
@click.option("--tenant", help="Of this tenant alone, whose own application it is. Without: of the platform.")
@amend.settings_argument
def endpoint_add(name: str, connector: str, tenant: str | None, settings: tuple[str, ...]) -> None:
    """Add an endpoint: `procession endpoint add meta --connector whatsapp app_secret=env:META_SECRET`."""
    found = amend.listing_or_none()
    amend.check_there(f"endpoint {name}", there=name in {own.name for own in found.endpoints}, wanted=False)
    table = {**amend.pairs(settings), "name": name, "connector": connector}
    if tenant is not None:
        table["tenant"] = tenant
    amend.put("endpoint", table, makes=True)


@endpoint.command("set", epilog=amend.PAIRS)
@session.acts
@click.argument("name")
@amend.settings_argument
def endpoint_set(name: str, settings: tuple[str, ...]) -> None:
    """Change an endpoint; what is not named stays.

    Several signing secrets are valid at once while one is changed for another: write all that are to be valid,
    `signing=env:OLD signing=env:NEW`, and later the new one alone.
    """
    found = amend.listing()
    there = next((own for own in found.endpoints if own.name == name), None)
    amend.check_there(f"endpoint {name}", there=there is not None, wanted=True)
    assert there is not None
    table = {**there.settings, **amend.pairs(settings), "name": name, "connector": there.connector}
    if there.tenant is not None:
        table["tenant"] = there.tenant
    amend.put("endpoint", table, found)


@endpoint.command("remove")
@session.acts
@click.argument("name")
def endpoint_remove(name: str) -> None:
    """Remove an endpoint that no channel is bound to any more."""
    amend.remove(f"endpoint {name}")


@endpoint.command("list")
@session.reads
def endpoint_list() -> None:
    """All endpoints; of secrets only how many there are."""
    found = amend.listing().endpoints
    show.answer(
        found,
        lambda: show.table(
            ("endpoint", "connector", "tenant", "secrets", "url"),
            (
                (own.name, own.connector, own.tenant or "(platform)", len(own.signing), f"/hooks/{own.name}")
                for own in found
            ),
            empty="there are no endpoints",
        ),
    )
