"""All commands, and what becomes of an error: a text that says what happened, whose it is, and what to do next."""

import click

from procession.cli import show
from procession.cli.apply import apply
from procession.cli.aside import aside
from procession.cli.audit import audit
from procession.cli.bench import bench
from procession.cli.blame import FAILED
from procession.cli.channel import channel
from procession.cli.config import config
from procession.cli.demo import demo
from procession.cli.doctor import doctor
from procession.cli.doubt import doubt
from procession.cli.endpoint import endpoint
from procession.cli.lane import lane, lanes
from procession.cli.migrate import migrate, restore
from procession.cli.quarantine import quarantine
from procession.cli.secret import secret
from procession.cli.selftest import selftest
from procession.cli.sending import sending
from procession.cli.serve import serve
from procession.cli.simulate import simulate
from procession.cli.tenant import tenant
from procession.cli.version import version
from procession.cli.why import why
from procession.core.errors import ProcessionError


class Main(click.Group):
    """Errors that are told, not traced."""

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except ProcessionError as error:
            show.failure(error)
            context.exit(FAILED)
        except BrokenPipeError:
            # Whoever reads us has seen enough (`| head`).
            context.exit(FAILED)


@click.group(cls=Main, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
def main() -> None:
    """Every conversation in order, every reply once, every tenant apart.

    Commands ask the engine that runs on the data folder, or the store itself if none runs. Each takes --json.
    """


for _command in (
    serve, apply, tenant, endpoint, channel, why, lanes, lane, aside, quarantine, doubt, sending, secret, audit, config,
    doctor, migrate, restore, selftest, simulate, bench, demo, version,
):  # fmt: skip
    main.add_command(_command)
