"""`procession simulate …`: providers that are not there, for an engine that is."""

import click

from procession.cli import elsewhere

_SHARE = click.FloatRange(0.0, 1.0)


@click.group()
def simulate() -> None:
    """A simulated provider, to try your own engine and handlers against."""


@simulate.command("whatsapp")
@click.option("--target", required=True, metavar="URL", help="The endpoint: http://127.0.0.1:8080/hooks/meta.")
@click.option("--app-secret-env", default="APP_SECRET", show_default=True, help="Where its app_secret stands.")
@click.option("--verify-token-env", help="Where its verify_token stands: then it is asked first, as Meta does.")
@click.option("--declare", is_flag=True, help="Only print what the engine has to be told, as a platform.toml.")
@click.option("--numbers", type=click.IntRange(1, 500), default=5, show_default=True, help="Each of its own tenant.")
@click.option("--people", type=click.IntRange(1, 10_000), default=40, show_default=True, help="Of each number.")
@click.option("--bursts", type=click.IntRange(1), help="Of each person; by default until time is up.")
@click.option(
    "--bubbles",
    type=click.IntRange(1),
    help="So many replies to each text, which name it, as procession.testing.whatsapp.bot does; else any bot will do.",
)
@click.option("--redeliver", type=_SHARE, default=0.2, show_default=True, help="Deliveries that are made twice.")
@click.option("--faults", default="some", show_default=True, help="none, some, or NAME=SHARE with commas.")
@click.option("--limits/--no-limits", default=True, show_default=True, help="Whether Meta's limits hold.")
@click.option("--pace", type=click.FloatRange(0.1, 100.0), default=1.0, show_default=True, help="Faster than life.")
@click.option("--seconds", type=click.FloatRange(1.0), default=60.0, show_default=True, help="How long people type.")
@click.option("--drain", type=click.FloatRange(0.0), default=180.0, show_default=True, help="Seconds for the rest.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that happens.")
@click.option("--port", type=click.IntRange(1, 65535), default=8098, show_default=True, help="Where Graph listens.")
@click.option("--anywhere", is_flag=True, help="The target may be another machine: it serves no real people.")
@click.option("--json", "as_json", is_flag=True, help="No view; the verdict as one JSON document.")
def whatsapp(**options: object) -> None:
    """Graph with its limits, people who type in bursts, handsets, faults; and a verdict. Exit status 1: it broke."""
    elsewhere.run("procession.testing.whatsapp.driver:main", **options)
