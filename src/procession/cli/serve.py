"""`procession serve`: run an engine."""

from pathlib import Path

import click

from procession.cli import session, show


@click.command()
@session.reads
@session.flag("--host", "host", "The address to listen on.")
@session.flag("--port", "port", "The port to listen on; 0 takes a free one.")
@session.flag("--only", "only", "Some roles only, with commas: ingress, lanes, outbox, upkeep.")
@session.flag("--pools", "pools", "Play only tenants of these pools, with commas.")
@session.flag("--slots", "slots", "Turns in flight in this process.")
@session.flag("--lease", "lease", "How long a dead worker's lanes stay with it, like 10s.")
@session.flag("--drain-wait", "drain_wait", "How long a stopping process waits for what is under way.")
@session.flag("--log", "log", "What goes to standard error: note, warn or silent.")
@session.flag("--allow-private", "outbound.allow_private", "Private networks that sends may reach, with commas.")
@session.flag("--outbound-ports", "outbound.ports", "Ports that sends may reach, like 443,8000-8999.")
@click.argument("application", metavar="[module:app]", required=False)
def serve(application: str | None) -> None:
    """Run an engine: webhooks in, turns played, effects sent. Stop it with SIGTERM; a second one stops at once."""
    from procession.app.config import load
    from procession.app.engine import serve as run
    from procession.app.settings import Role

    flags = session.flags()
    config = load(flags if application is None else {**flags, "app": application})
    if not config.app and Role.LANES in config.roles:
        click.echo("procession: no application is named, so events are kept, and wait: serve module:app", err=True)
    raise SystemExit(run(config, _announce, Path.cwd()))


def _announce(host: str, port: int | None) -> None:
    address = None if port is None else f"http://{f'[{host}]' if ':' in host else host}:{port}"
    where = "" if address is None else f", listening on {address}"
    show.answer({"listening": address, "port": port}, lambda: show.say(f"procession runs{where}"))
