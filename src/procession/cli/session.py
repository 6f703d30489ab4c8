"""What every command shares: options that choose settings, `--json`, the actor, and a desk to ask at."""

import asyncio
import getpass
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Final, ParamSpec, TypeVar

import click

from procession.cli import show

if TYPE_CHECKING:
    from procession.app.access import Absent
    from procession.app.config import Config
    from procession.app.desk import Desk

P = ParamSpec("P")
R = TypeVar("R")
F = TypeVar("F", bound=Callable[..., object])
_FLAGS: Final = "procession.flags"
_ACTOR: Final = "procession.actor"


def flag(option: str, setting: str, text: str) -> Callable[[F], F]:
    """An option that is a setting."""

    def keep(context: click.Context, parameter: click.Parameter, value: str | None) -> None:  # noqa: ARG001 (click's)
        if value is not None:
            context.meta.setdefault(_FLAGS, {})[setting] = value

    return click.option(option, callback=keep, expose_value=False, help=text)


def _keep_set(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> None:
    for value in values:
        name, equals, rest = value.partition("=")
        if not equals:
            raise click.BadParameter("write NAME=VALUE", context, parameter)
        context.meta.setdefault(_FLAGS, {})[name.strip()] = rest.strip()


def _keep_actor(context: click.Context, parameter: click.Parameter, value: str | None) -> None:  # noqa: ARG001 (click's)
    context.meta[_ACTOR] = value


def reads(function: F) -> F:
    """Of every command."""
    for option in (
        click.option(
            "--json",
            is_flag=True,
            callback=show.choose_json,
            expose_value=False,
            help="One JSON document on standard output.",
        ),
        click.option(
            "--set",
            multiple=True,
            metavar="NAME=VALUE",
            callback=_keep_set,
            expose_value=False,
            help="Any setting, for this command: see `procession config`.",
        ),
        flag("--data", "data", "The folder of the master key and the control socket."),
        flag("--store", "store", "sqlite:PATH or memory:."),
    ):
        function = option(function)
    return function


def acts(function: F) -> F:
    """Of every command that changes something: who did it stands in the audit."""
    return reads(
        click.option(
            "--actor",
            callback=_keep_actor,
            expose_value=False,
            help="Who does this, for the audit. Default: your login name.",
        )(function)
    )


def of_tenant(function: F) -> F:
    return click.option("--tenant", help="Of this tenant only; needed where several have what you name.")(function)


def up_to(function: F) -> F:
    return click.option(
        "--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="At most so many."
    )(function)


def actor() -> str:
    said = click.get_current_context().meta.get(_ACTOR)
    if isinstance(said, str) and said:
        return said
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a user without a name.
        return "unknown"


def flags() -> dict[str, object]:
    """The settings that were given on this command line."""
    return dict(click.get_current_context().meta.get(_FLAGS, {}))


def settings() -> "Config":
    from procession.app.config import load

    return load(flags())


def at_desk(ask: "Callable[[Desk], Awaitable[R]]", *, makes: bool = False, imagines: bool = False) -> R:
    """Ask at the running engine, or at the store itself if none runs.

    Where there is no store yet, a command that `makes` makes it, one that `imagines` acts as if it were there and
    empty, and any other is refused.
    """
    from procession.app.access import Absent

    absent = Absent.IMAGINE if imagines else Absent.MAKE if makes else Absent.REFUSE
    return run(_at_desk(settings(), ask, absent))


def run(work: Coroutine[object, object, R]) -> R:
    return asyncio.run(work)


async def _at_desk(config: "Config", ask: "Callable[[Desk], Awaitable[R]]", absent: "Absent") -> R:
    from procession.app.access import open_desk

    async with open_desk(config, absent) as desk:
        return await ask(desk)
