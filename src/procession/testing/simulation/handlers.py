"""The application of a simulated world: its handlers do what the event in their hands says."""

from collections import Counter
from datetime import timedelta
from typing import Any, Final

from procession.core.retry import Retry
from procession.lanes.app import App
from procession.lanes.mode import collect
from procession.lanes.turn import PlainTurn, Turn, TurnFace
from procession.testing.simulation.auditor import Auditor
from procession.testing.simulation.clock import sleep
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.shape import COLLECTED_MAX, FLUSH_WORD, QUIET, WAIT_MAX, canary
from procession.testing.simulation.workload import TRIES_MAX, Op

_RETRY: Final = Retry(tries_max=TRIES_MAX, base=timedelta(seconds=0.1), cap=timedelta(seconds=1))
HANG_DEADLINE: Final = timedelta(seconds=2)
_FOR_EVER: Final = 100_000.0


class HandlerBroke(Exception):
    """What a handler raises on purpose."""


class Script:
    """What all handlers share: how often something went wrong already, and whether it still may."""

    def __init__(self, auditor: Auditor) -> None:
        self.auditor = auditor
        self.is_healed = False
        self._times: Counter[tuple[str, str]] = Counter()

    def goes_wrong(self, turn: TurnFace, word: str, times: int) -> bool:
        """Whether it does so this time: `times` times in the life of the turn, and never after the healing."""
        if self.is_healed or self._times[turn.id, word] >= times:
            return False
        self._times[turn.id, word] += 1
        return True


def app_of(node: Node, script: Script) -> App:
    app = App()

    @app.on("plan.*", "reminder.*", retry=_RETRY)
    async def plan(turn: Turn) -> None:
        await _Play(node, script, turn).whole()

    @app.on("park.*", retry=_RETRY, when_used_up="park")
    async def park(turn: Turn) -> None:
        await _Play(node, script, turn).whole()

    @app.on("hang.*", retry=_RETRY, deadline=HANG_DEADLINE)
    async def hang(turn: Turn) -> None:
        await _Play(node, script, turn).whole()

    @app.on(
        "chat.*",
        retry=_RETRY,
        mode=collect(quiet=QUIET, wait_max=WAIT_MAX, events_max=COLLECTED_MAX, flush=(FLUSH_WORD,)),
    )
    async def chat(turn: Turn) -> None:
        await _Play(node, script, turn).whole()

    @app.on("thread.*", retry=_RETRY)
    def thread(turn: PlainTurn) -> None:
        _begin(node, script, turn, in_thread=True)
        turn.reply(_content(turn, 0))
        script.auditor.ended(node, turn.id)

    return app


def _begin(node: Node, script: Script, turn: TurnFace, *, in_thread: bool = False) -> None:
    held = turn._open.held
    script.auditor.started(node, held, in_thread=in_thread)
    state = turn.state
    state["played"] = state.get("played", 0) + 1
    state["sum"] = (state.get("sum", 0) * 31 + sum(event.seq for event in turn.events)) % 1_000_003


def _content(turn: TurnFace, place: int) -> dict[str, Any]:
    """What is sent: it says by itself whose it is, so that a second sending is seen whatever it is called."""
    return {
        "tenant": turn.tenant,
        "canary": canary(turn.tenant),
        "lane": turn.lane_key,
        "turn": turn.id,
        "place": place,
    }


class _Play:
    """One try of one turn."""

    def __init__(self, node: Node, script: Script, turn: Turn) -> None:
        self._node = node
        self._script = script
        self._turn = turn
        self._place = 0
        self._calls: Counter[str] = Counter()

    async def whole(self) -> None:
        _begin(self._node, self._script, self._turn)
        try:
            await self._do_all()
        finally:
            if not self._node.dead:
                self._script.auditor.ended(self._node, self._turn.id)

    async def _do_all(self) -> None:
        turn = self._turn
        for event in turn.events:
            content = event.data
            for op in content.get("do", ()) if isinstance(content, dict) else ():
                await self._do(op)
                if turn._open.asks.outcome is not None:
                    return

    async def _do(self, op: Op) -> None:
        word = op[0]
        if word in _ASKS:
            self._ask(word, op)
        elif word in _GOES_WRONG:
            await self._go_wrong(word, op)
        elif word == "step":
            await self._turn.step(op[1], self._call, op[1], self._number(op[1]))
        elif word == "flush":
            await self._turn.flush()
        else:
            assert word == "sleep", word
            await sleep(op[1])

    def _number(self, name: str) -> int:
        self._calls[name] += 1
        return self._calls[name] - 1

    async def _call(self, name: str, occurrence: int) -> dict[str, Any]:
        """The outer call of a step."""
        self._script.auditor.step_called(self._node, self._turn._open.held, name, occurrence)
        await sleep(0.02)
        return {"step": name, "occurrence": occurrence, "turn": self._turn.id}

    def _ask(self, word: str, op: Op) -> None:
        turn = self._turn
        if word == "remind":
            turn.remind(op[1], timedelta(seconds=op[2]), {"turn": turn.id, "name": op[1]})
        elif word == "forget":
            turn.cancel(op[1])
        elif word == "pause":
            turn.pause(timedelta(seconds=op[1]), keep_effects=op[2], reason="a person takes over")
        elif word == "cancel":
            turn.cancel_effect(op[1])
        elif word == "recall":
            if "sent" in turn.state:
                turn.cancel_effect(turn.state["sent"])
        else:
            self._send(word, op)

    def _send(self, word: str, op: Op) -> None:
        turn, content = self._turn, _content(self._turn, self._place)
        self._place += 1
        if word == "send":
            turn.state["sent"] = turn.send(op[1], content)
        elif word == "named":
            turn.reply(content, key=op[1])
        else:
            turn.state["sent"] = turn.reply(content)

    async def _go_wrong(self, word: str, op: Op) -> None:
        turn, script = self._turn, self._script
        if word in ("delay", "park", "aside"):
            if script.goes_wrong(turn, word, op[-1]):
                self._decide(word, op)
        elif word == "stop":
            if script.goes_wrong(turn, word, 1):
                script.auditor.note(repr(self._node), "stands still", (turn.id,), "stopped by its handler")
                self._node.pause(turn._open.means.lease_ttl * op[1])
                await sleep(0.01)
        elif script.goes_wrong(turn, word, op[1]):
            if word == "kill":
                script.auditor.poisoned(self._node, turn.id)
                self._node.halt()
            if word == "raise":
                script.auditor.handler_failed(turn.id)
                raise HandlerBroke(f"for the {turn.tries}. time")
            script.auditor.handler_failed(turn.id)
            await sleep(_FOR_EVER)

    def _decide(self, word: str, op: Op) -> None:
        if word == "delay":
            self._turn.delay(timedelta(seconds=op[1]), "not now")
        elif word == "park":
            self._turn.park("an operator should look")
        else:
            self._turn.set_aside("cannot be played")


_ASKS: Final = frozenset({"reply", "send", "named", "cancel", "recall", "remind", "forget", "pause"})
_GOES_WRONG: Final = frozenset({"raise", "hang", "kill", "stop", "delay", "park", "aside"})
