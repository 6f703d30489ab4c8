"""`procession bench`: what it does on your own machine, beside a floor in the same run."""

import click

from procession.cli import elsewhere

_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")


@click.group(invoke_without_command=True)
@click.option("--store", type=click.Choice(["sqlite"]), default="sqlite", show_default=True, help="On this store.")
@click.option("--seconds", type=click.FloatRange(0.5), default=5.0, show_default=True, help="Of each measure.")
@click.option("--connections", type=click.IntRange(1), default=64, show_default=True, help="Of the load.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="The median of so many.")
@click.option("--only", default="", help="These measures only, with commas.")
@_JSON
@click.pass_context
def bench(
    context: click.Context, store: str, seconds: float, connections: int, rounds: int, only: str, as_json: bool
) -> None:
    """Accepted, drained and whole-line events a second, beside a floor: one INSERT a request, one event a claim."""
    if context.invoked_subcommand is None:
        elsewhere.run(
            "procession.testing.bench.driver:main",
            store=store,
            seconds=seconds,
            connections=connections,
            rounds=rounds,
            only=only,
            as_json=as_json,
        )


@bench.command("memory")
@click.option("--store", type=click.Choice(["sqlite"]), default="sqlite", show_default=True, help="On this store.")
@click.option("--rate", type=click.IntRange(1), default=500, show_default=True, help="Events a second.")
@click.option("--seconds", type=click.FloatRange(1.0), default=20.0, show_default=True, help="Of load.")
@_JSON
def memory(store: str, rate: int, seconds: float, as_json: bool) -> None:
    """The memory of an engine that is idle, and of one under load."""
    elsewhere.run("procession.testing.bench.driver:memory", store=store, rate=rate, seconds=seconds, as_json=as_json)


@bench.command("scale")
@click.option("--store", type=click.Choice(["sqlite"]), default="sqlite", show_default=True, help="On this store.")
@click.option("--events", type=click.IntRange(1), default=100_000, show_default=True, help="So many.")
@_JSON
def scale(store: str, events: int, as_json: bool) -> None:
    """One lane of very many events, and very many lanes of one: memory, and the cost of a claim from first to last."""
    elsewhere.run("procession.testing.bench.driver:scale", store=store, events=events, as_json=as_json)


@bench.command("whatsapp")
@click.option("--store", type=click.Choice(["sqlite"]), default="sqlite", show_default=True, help="On this store.")
@click.option("--rate", type=click.IntRange(1), default=200, show_default=True, help="Texts a second.")
@click.option("--seconds", type=click.FloatRange(0.5), default=10.0, show_default=True, help="Of each round.")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True, help="The median of so many.")
@_JSON
def whatsapp(store: str, rate: int, seconds: float, rounds: int, as_json: bool) -> None:
    """WhatsApp at a pace: how soon a webhook has its 200, beside a server without a store, and a person a reply."""
    elsewhere.run(
        "procession.testing.bench.driver:whatsapp",
        store=store,
        rate=rate,
        seconds=seconds,
        rounds=rounds,
        as_json=as_json,
    )
