"""The bot that the demo's engine plays: it thinks for some milliseconds, remembers that, and answers in three steps."""

from datetime import timedelta
from typing import Final

from procession.lanes.app import App
from procession.lanes.turn import Turn
from procession.runtime.pause import pause
from procession.testing.whatsapp.label import bubbles

STEPS: Final = ("step 1: looking", "step 2: found one", "step 3: booked!")
app = App()


@app.on("whatsapp.text", tries=50)
async def answer(turn: Turn) -> None:
    about = await turn.step("think", think, turn.event.text or "")
    for bubble, step in zip(bubbles(about, len(STEPS)), STEPS, strict=True):
        turn.reply(f"{bubble} {step}")


async def think(text: str) -> str:
    """As long as a very quick model; which text it is that is answered."""
    await pause(timedelta(milliseconds=12))
    return text.partition(" ")[0]
