"""What the engine under test plays: it thinks for a moment, remembers it, counts, writes a row of its own, and replies.

Whatever comes twice shows: in the lane's own count, in the application's table, at the provider.
"""

import asyncio
import sqlite3

from procession.lanes.app import App
from procession.lanes.turn import Turn

app = App()


@app.on("chaos", tries=50)
async def play(turn: Turn) -> None:
    carried = turn.event.data
    assert isinstance(carried, dict)
    lane, n = carried["lane"], carried["n"]
    await turn.step("think", think)
    played = turn.state.get("played", 0)
    assert isinstance(played, int)
    turn.state["played"] = played + 1
    turn.sql(lambda connection: keep(connection, str(lane), int(str(n)), played + 1))
    turn.reply({"event": turn.event.provider_id, "lane": lane, "n": n})


async def think() -> str:
    """As long as a very quick model."""
    await asyncio.sleep(0.005)
    return "thought"


def keep(connection: sqlite3.Connection, lane: str, n: int, played: int) -> None:
    """No key on purpose: a row that is written twice has to be seen twice."""
    connection.execute("CREATE TABLE IF NOT EXISTS chaos_played (lane TEXT, n INTEGER, played INTEGER)")
    connection.execute("INSERT INTO chaos_played VALUES (?, ?, ?)", (lane, n, played))
