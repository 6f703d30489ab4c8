"""`procession audit`: who did what by hand."""

import click

from procession.cli import session, show
from procession.core.ids import TenantId


@click.command()
@session.reads
@session.of_tenant
@session.up_to
def audit(tenant: str | None, limit: int) -> None:
    """Every act of an operator, the newest first."""
    found = session.at_desk(lambda desk: desk.audit(None if tenant is None else TenantId(tenant), limit))
    show.answer(
        found,
        lambda: show.table(
            ("at", "actor", "tenant", "what", "about", "detail"),
            ((row.at, row.actor, row.tenant, row.verb, row.about, row.detail) for row in found),
            empty="nobody has done anything by hand",
        ),
    )
