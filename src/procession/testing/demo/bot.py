"""The bot that the demo's engine plays: it thinks for some milliseconds, remembers that, and answers in two steps."""

from datetime import timedelta

from procession.lanes.app import App
from procession.lanes.turn import Turn
from procession.runtime.pause import pause

app = App()


@app.on("chat.text", tries=50)
async def answer(turn: Turn) -> None:
    said = turn.event.data
    assert isinstance(said, dict)
    thought = await turn.step("think", think, turn.event.text)
    about = {"event": turn.event.provider_id, "lane": turn.lane_key, "n": said["n"]}
    turn.reply({**about, "step": 1, "text": "step 1"})
    turn.reply({**about, "step": 2, "text": f"step 2: {thought}"})


async def think(text: str) -> str:
    """As long as a very quick model."""
    await pause(timedelta(milliseconds=12))
    return text.upper()
