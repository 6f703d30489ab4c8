"""The echo bot that a verdict understands: two bubbles for each text, which name it."""

from procession.lanes.app import App
from procession.lanes.turn import Turn
from procession.testing.whatsapp.label import bubbles

BUBBLES = 2
app = App()


@app.on("whatsapp.text", tries=50)
async def echo(turn: Turn) -> None:
    for bubble in bubbles(turn.event.text or "", BUBBLES):
        turn.reply(bubble)
