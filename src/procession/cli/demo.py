"""`procession demo`: see it work."""

import click

from procession.app.system import SystemClock
from procession.cli import elsewhere


@click.command()
@click.option("--seconds", type=click.FloatRange(1.0), default=30.0, show_default=True, help="How long it runs.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of what its people do.")
@click.option("--json", "as_json", is_flag=True, help="No live view; the verdict as one JSON document.")
def demo(seconds: float, seed: int, as_json: bool) -> None:
    """A simulated WhatsApp, live: four shops, people with handsets, a flood, a killed engine, and a verdict."""
    elsewhere.run(
        "procession.testing.demo.driver:main", seconds=seconds, seed=seed, as_json=as_json, clock=SystemClock()
    )
