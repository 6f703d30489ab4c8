"""The application that is measured: handlers that do nothing, reply, or note how late they began."""

import atexit
import json
import time
from pathlib import Path
from typing import Final

from procession.lanes.app import App
from procession.lanes.turn import Turn

app = App()
_lags: Final[list[float]] = []


@app.on("quiet")
async def quiet(turn: Turn) -> None:
    """Nothing: what is left is the engine's own cost."""


@app.on("reply")
async def reply(turn: Turn) -> None:
    turn.reply("Danke, wir melden uns.")


@app.on("whatsapp.text")
async def echo(turn: Turn) -> None:
    """The beginning of a text says when it was sent: see `texts`."""
    turn.reply(f"{(turn.event.text or '').partition(' ')[0]} Danke, wir melden uns.")


@app.on("timed")
async def timed(turn: Turn) -> None:
    # The sender's monotonic clock is this process's as well: one machine has one.
    _lags.append(time.monotonic() - turn.event.data["sent"])


@atexit.register
def _write_lags() -> None:
    if _lags:
        Path("lags.json").write_text(json.dumps(_lags))
