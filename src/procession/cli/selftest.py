"""`procession selftest …`: the proof, on your own machine."""

import click

from procession.cli import elsewhere

_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")


@click.group()
def selftest() -> None:
    """Prove it here: simulated worlds, planted bugs, real processes that are killed."""


@selftest.command("simulate")
@click.option(
    "--world",
    type=click.Choice(["standard", "whatsapp"]),
    default="standard",
    show_default=True,
    help="Signed webhooks and a messenger, or Graph, people and handsets.",
)
@click.option("--seeds", type=click.IntRange(1), default=200, show_default=True, help="So many worlds.")
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="The first seed.")
@click.option("--seed", type=click.IntRange(0), help="This one world only, told in full.")
@click.option("--workers", type=click.IntRange(1), help="Processes at a time; by default one a core.")
@_JSON
def simulate(seeds: int, first: int, seed: int | None, workers: int | None, as_json: bool, world: str) -> None:
    """Play seeded worlds with crashes, lost answers, storms and lies, and check every promise in each."""
    elsewhere.run(
        "procession.testing.simulation.driver:simulate",
        seeds=seeds,
        first=first,
        seed=seed,
        workers=workers,
        as_json=as_json,
        world=world,
    )


@selftest.command("planted")
@click.option("--plant", metavar="NAME", help="This planted bug only: prints seed, history and how to replay it.")
@click.option("--seeds-max", type=click.IntRange(1), default=500, show_default=True, help="Worlds for each bug.")
@click.option("--list", "only_list", is_flag=True, help="Name the planted bugs.")
@click.option("--workers", type=click.IntRange(1), help="Processes at a time; by default one a core.")
@_JSON
def planted(plant: str | None, seeds_max: int, only_list: bool, workers: int | None, as_json: bool) -> None:
    """Break the engine on purpose, one known way at a time, and see the simulation find each."""
    elsewhere.run(
        "procession.testing.simulation.driver:planted",
        plant=plant,
        seeds_max=seeds_max,
        only_list=only_list,
        workers=workers,
        as_json=as_json,
    )


@selftest.command("chaos")
@click.option("--store", type=click.Choice(["sqlite"]), default="sqlite", show_default=True, help="On this store.")
@click.option("--kills", type=click.IntRange(0), default=10, show_default=True, help="Times that serve is killed.")
@click.option("--powercuts", type=click.IntRange(0), default=0, show_default=True, help="Simulated power cuts.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of what happens when.")
@_JSON
def chaos(store: str, kills: int, powercuts: int, seed: int, as_json: bool) -> None:
    """Kill a real engine under load, again and again, and check the history against the promises."""
    elsewhere.run(
        "procession.testing.chaos.driver:main",
        store=store,
        kills=kills,
        powercuts=powercuts,
        seed=seed,
        as_json=as_json,
    )
