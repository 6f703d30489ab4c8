"""`procession secret …`: a tenant's own named secrets, for its handlers. They go in and are never shown."""

import os
import sys
from typing import TYPE_CHECKING

import click

from procession.cli import session, show
from procession.core.errors import BadRequest
from procession.core.ids import TenantId
from procession.ports.vault import Rotated, SecretName

if TYPE_CHECKING:
    from procession.app.desk import Desk


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


@secret.command("rotate")
@session.acts
@click.option("--tenant", help="The data key of this tenant only.")
@click.option(
    "--master", is_flag=True, help="The master key instead: data keys are wrapped anew, secrets stay as they are."
)
def secret_rotate(tenant: str | None, master: bool) -> None:
    """New data keys, and all secrets sealed under them; while the engine runs. Stopped in the middle: run it again."""
    if master and tenant is not None:
        raise BadRequest("the master key is everybody's: leave --tenant out")
    actor = session.actor()
    owner = None if tenant is None else TenantId(tenant)
    done = session.at_desk(lambda desk: _all_of_master(desk, actor) if master else _all_of(desk, owner, actor))
    show.answer({"keys": done.keys, "secrets": done.secrets}, lambda: show.say(_told(done, master=master)))


async def _all_of(desk: "Desk", tenant: TenantId | None, actor: str) -> Rotated:
    """One tenant after the other, so that no single question takes long, and one that fails says whose it is."""
    owners = [owner for owner in await desk.secret_owners() if tenant in (None, owner)]
    if tenant is not None and not owners:
        raise BadRequest(f"{tenant} has no secrets")
    parts = [await desk.secret_rotate(owner, actor=actor) for owner in owners]
    return Rotated(keys=sum(part.keys for part in parts), secrets=sum(part.secrets for part in parts))


async def _all_of_master(desk: "Desk", actor: str) -> Rotated:
    keys, left = 0, True
    while left:
        part = await desk.master_rotate(actor=actor)
        keys, left = keys + part.keys, bool(part.left)
    return Rotated(keys=keys)


def _told(done: Rotated, *, master: bool) -> str:
    if master:
        return f"{done.keys} data keys wrapped anew. Keep a copy of the new master key; the old one opens only backups"
    return f"{done.keys} new data keys, {done.secrets} secrets sealed anew"
