"""`procession tenant …`: one tenant at a time; `procession apply` does all of them from a file."""

import click

from procession.cli import amend, session, show


@click.group()
def tenant() -> None:
    """Tenants, one at a time: their weight, the most of their lanes that are held at once, their pool."""


@tenant.command("add")
@session.acts
@click.argument("name")
@amend.settings_argument
def tenant_add(name: str, settings: tuple[str, ...]) -> None:
    """Add a tenant: `procession tenant add acme weight=2 lanes_max=20`."""
    _put(name, settings, exists=False)


@tenant.command("set")
@session.acts
@click.argument("name")
@amend.settings_argument
def tenant_set(name: str, settings: tuple[str, ...]) -> None:
    """Change a tenant; what is not named stays."""
    _put(name, settings, exists=True)


@tenant.command("remove")
@session.acts
@click.argument("name")
def tenant_remove(name: str) -> None:
    """Remove a tenant that has no channels any more; with unfinished work it becomes inactive instead."""
    amend.remove(f"tenant {name}")


@tenant.command("list")
@session.reads
def tenant_list() -> None:
    """All tenants, with their shares."""
    found = amend.listing().tenants
    show.answer(
        found,
        lambda: show.table(
            ("tenant", "weight", "lanes_max", "pool", "active"),
            ((own.id, own.weight, own.lanes_max or "", own.pool, "" if own.active else "no") for own in found),
            empty="there are no tenants",
        ),
    )


def _put(name: str, settings: tuple[str, ...], *, exists: bool) -> None:
    found = amend.listing() if exists else amend.listing_or_none()
    there = next((own for own in found.tenants if own.id == name), None)
    amend.check_there(f"tenant {name}", there=there is not None, wanted=exists)
    before: dict[str, object] = {}
    if there is not None:
        before = {"weight": there.weight, "pool": there.pool, "active": there.active}
        before |= {} if there.lanes_max is None else {"lanes_max": there.lanes_max}
    amend.put("tenant", {**before, **amend.pairs(settings), "name": name}, makes=not exists)
