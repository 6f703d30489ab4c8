"""The application of a WhatsApp world: two bubbles for each text, and on the way there everything that goes wrong with
handlers. What is played stands in the lane's state, so that a state that was lost, or kept twice, is seen.
"""

from collections import Counter
from datetime import timedelta
from typing import Final

from procession.core.event import LANE_MERGED
from procession.core.retry import Retry
from procession.lanes.app import App
from procession.lanes.mode import collect, one
from procession.lanes.turn import Turn
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.whatsapp.shape import COLLECTED_MAX, QUIET, WAIT_MAX
from procession.testing.whatsapp.label import bubbles, read_reply

BUBBLES: Final = 2
_RETRY: Final = Retry(tries_max=50, base=timedelta(seconds=0.1), cap=timedelta(seconds=1))
_MOODS: Final = (
    (0.08, "raises"),
    (0.03, "kills"),
    (0.12, "thinks"),
    (0.10, "dawdles"),
    (0.08, "flushes"),
    (0.10, "marks"),
    (0.03, "gives_up"),
)


class BotBroke(Exception):
    """What a handler raises on purpose."""


class Moods:
    """What goes wrong with which turn, and how often it has already: the same for all nodes."""

    def __init__(self, chance: SeededChance) -> None:
        self.is_healed = False
        self._chance = chance
        self._times: Counter[str] = Counter()

    def of(self, turn: str) -> str:
        drawn = self._chance.fraction(f"mood {turn}")
        for share, mood in _MOODS:
            drawn -= share
            if drawn < 0:
                return mood
        return "fine"

    def strikes(self, turn: str, times: int) -> bool:
        """Whether it goes wrong this time: `times` times in the life of the turn, and never after the healing."""
        if self.is_healed or self._times[turn] >= times:
            return False
        self._times[turn] += 1
        return True


def bot_of(node: Node, moods: Moods, *, collects: bool) -> App:
    app = App()
    mode = collect(quiet=QUIET, wait_max=WAIT_MAX, events_max=COLLECTED_MAX) if collects else one

    @app.on("whatsapp.text", retry=_RETRY, mode=mode)
    async def answer(turn: Turn) -> None:
        await _answer(node, moods, turn)

    @app.on(LANE_MERGED, retry=_RETRY)
    async def merged(turn: Turn) -> None:
        told = turn.event.data
        state = told["state"] if isinstance(told, dict) else {}
        assert isinstance(state, dict)
        _remember(turn, state.get("seen", []))

    @app.on("whatsapp.*", retry=_RETRY)
    async def other(turn: Turn) -> None:
        turn.state["others"] = _number(turn.state.get("others", 0)) + 1

    return app


async def _answer(node: Node, moods: Moods, turn: Turn) -> None:
    text = " ".join(event.text or "" for event in turn.events)
    first, *rest = bubbles(text, BUBBLES)
    await _get_ready(node, moods, turn)
    if moods.of(turn.id) == "gives_up" and moods.strikes(turn.id, 1):
        turn.set_aside("somebody should look at it")
        return
    turn.reply(first)
    if moods.of(turn.id) == "flushes":
        await turn.flush()
        if moods.strikes(turn.id, 1):
            raise BotBroke("after its first bubble")
    for bubble in rest:
        turn.reply(bubble)
    reply = read_reply(first)
    assert reply is not None
    _remember(turn, [f"{named.label}:{named.n}" for named in reply.answers])


async def _get_ready(node: Node, moods: Moods, turn: Turn) -> None:
    mood = moods.of(turn.id)
    if mood == "marks":
        turn.send("read", {"message_id": turn.event.provider_id})
    elif mood == "thinks":
        await turn.step("think", _think)
    elif mood == "dawdles":
        await sleep(0.9)
    elif mood == "kills":
        await sleep(0.01)
        if moods.strikes(turn.id, 1):
            node.halt()
    elif mood == "raises" and moods.strikes(turn.id, 2):
        raise BotBroke("for once")


async def _think() -> str:
    await sleep(0.05)
    return "thought"


def _remember(turn: Turn, more: object) -> None:
    seen = turn.state.get("seen", [])
    assert isinstance(seen, list)
    assert isinstance(more, list)
    turn.state["seen"] = [*seen, *more]


def _number(value: object) -> int:
    assert isinstance(value, int)
    return value
