"""`procession demo`: the show in a folder of its own, live in a terminal, else line by line, or as one document."""

import asyncio
import signal
import sys
import tempfile
from pathlib import Path
from typing import Final

import msgspec

from procession.ports.clock import Clock
from procession.testing.demo.show import Show
from procession.testing.demo.verdict import Verdict

TERMINAL_LEAST: Final = (80, 24)


def main(*, seconds: float, seed: int, as_json: bool, clock: Clock) -> int:
    with tempfile.TemporaryDirectory(prefix="procession-demo-") as folder:
        show = Show(Path(folder), seconds=seconds, seed=seed, clock=clock)
        result = asyncio.run(_run(show, as_json=as_json))
    return 0 if result.holds else 1


async def _run(show: Show, *, as_json: bool) -> Verdict:
    loop = asyncio.get_running_loop()
    # A terminal that is closed must not leave the engine behind either.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, show.end)
    if as_json:
        result = await show.run()
        sys.stdout.write(msgspec.json.encode(result.document()).decode() + "\n")
        return result
    from procession.testing.demo import view

    if view.fits(TERMINAL_LEAST):
        return await view.live(show)
    return await view.plain(show)
