"""`procession secret …`: a tenant's own named secrets, for its handlers. They go in and are never shown."""

import os
import sys

import click

from procession.cli import session, show
from procession.core.errors import BadRequest
from procession.core.ids import TenantId
from procession.ports.vault import SecretName


@click.group()
def secret() -> None:
    """A tenant's own secrets (a model's key, a calendar's token), for `turn.secret(NAME)`."""


@secret.command("set")
@session.acts
@click.option("--env", "variable", help="Take it from this variable of the environment instead of standard input.")
@click.argument("tenant")
@click.argument("name")
def secret_set(tenant: str, name: str, variable: str | None) -> None:
    """Seal a secret, read from standard input or --env; it is never an argument, since arguments can be seen."""
    if "/" in name or not name.isprintable():
        raise BadRequest("a secret's name has no '/' in it: those are the engine's own")
    plain = _read(variable)
    changed = session.at_desk(
        lambda desk: desk.secret_set(TenantId(tenant), SecretName(name), plain, actor=session.actor())
    )
    show.answer({"changed": changed}, lambda: show.say("sealed" if changed else "it was the same already"))


def _read(variable: str | None) -> bytes:
    if variable is not None:
        if variable not in os.environ:
            raise BadRequest(f"the environment has no {variable}")
        plain = os.environ[variable].encode("utf-8", "surrogateescape")
    elif sys.stdin.isatty():
        plain = str(click.prompt("Secret", hide_input=True)).encode()
    else:
        plain = sys.stdin.buffer.read().removesuffix(b"\n").removesuffix(b"\r")
    if not plain:
        raise BadRequest("the secret is empty")
    return plain


@secret.command("list")
@session.reads
@session.of_tenant
def secret_list(tenant: str | None) -> None:
    """Names and fingerprints: two that differ are two different secrets."""
    found = session.at_desk(lambda desk: desk.secrets(None if tenant is None else TenantId(tenant)))
    show.answer(
        [{"tenant": owner, "name": name, "fingerprint": mark} for owner, name, mark in found],
        lambda: show.table(
            ("tenant", "name", "fingerprint"),
            ((owner or "(platform)", name, mark) for owner, name, mark in found),
            empty="there are no secrets",
        ),
    )


@secret.command("forget")
@session.acts
@click.argument("tenant")
@click.argument("name")
def secret_forget(tenant: str, name: str) -> None:
    """Remove a secret; whatever still opens it fails from now on."""
    session.at_desk(lambda desk: desk.secret_forget(TenantId(tenant), SecretName(name), actor=session.actor()))
    show.answer({"forgotten": name}, lambda: show.say("forgotten"))
