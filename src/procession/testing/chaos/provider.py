"""A provider that can lie: takes the engine's outgoing calls, writes down each as it arrives, and answers as it likes.

It is the ground truth for sends. Keyed, it drops what it has taken before under the same `webhook-id`, as a provider
with idempotency keys does; otherwise each call that it takes is a send of its own.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Final, Self

from procession.ports.chance import Chance
from procession.testing.chaos.history import History, Wired
from procession.testing.chaos.listener import Line, Listener, Request

_ID_HEADER: Final = "webhook-id"
_DEPTH_MAX: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Lies:
    """The share of calls that meet each of these; the rest is taken and answered 200."""

    refused: float = 0.0
    """503, and not taken."""
    error_after_taking: float = 0.0
    """500, although it was taken."""
    cut_before_taking: float = 0.0
    cut_after_taking: float = 0.0
    taken_late: float = 0.0
    """The connection is cut at once, and the call is taken after the longest delay."""
    delay_max: timedelta = timedelta(0)
    """Each answer comes after a part of it, drawn anew."""

    def drawn(self, chance: Chance) -> str:
        left = chance.uniform(0.0, 1.0)
        for field in fields(self):
            share = getattr(self, field.name)
            if isinstance(share, float):
                if left < share:
                    return field.name
                left -= share
        return "taken"


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What the harness put into the event, found again in the effect's call."""

    event: str
    lane: str
    n: int
    oseq: int | None = None


def carried_in(body: bytes) -> Carried:
    """The first object in the body, outer before inner, that has `event`, `lane` and `n`."""
    level: list[object] = [json.loads(body)]
    for _ in range(_DEPTH_MAX):
        for found in level:
            match found:
                case {"event": str() as event, "lane": str() as lane, "n": int() as n, **others}:
                    oseq = others.get("oseq")
                    return Carried(event=event, lane=lane, n=n, oseq=oseq if isinstance(oseq, int) else None)
                case _:
                    pass
        level = [inner for found in level if isinstance(found, Mapping) for inner in found.values()]
    raise ValueError(f"no event, lane and n in this call: {body[:200]!r}")


class FakeProvider:
    def __init__(
        self,
        *,
        history: History,
        chance: Chance,
        lies: Lies | None = None,
        keyed: bool = True,
        read: Callable[[bytes], Carried] = carried_in,
    ) -> None:
        self.lies = lies or Lies()
        self.unreadable: list[bytes] = []
        self._history = history
        self._chance = chance
        self._keyed = keyed
        self._read = read
        self._taken: set[str] = set()
        self._listener = Listener(self._called)
        self._later: set[asyncio.TimerHandle] = set()

    @property
    def taken(self) -> int:
        """How many different effects have been taken so far."""
        return len(self._taken)

    @property
    def port(self) -> int:
        return self._listener.port

    async def start(self, port: int = 0) -> None:
        await self._listener.start(port)

    async def close(self) -> None:
        for later in self._later:
            later.cancel()
        await self._listener.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _called(self, line: Line, request: Request) -> None:
        try:
            carried = self._read(request.body)
        except ValueError:
            self.unreadable.append(request.body)
            line.answer(400)
            return
        effect = request.headers.get(_ID_HEADER, "")
        lie = self.lies.drawn(self._chance)
        delay = self._chance.uniform(0.0, 1.0) * self.lies.delay_max.total_seconds()
        match lie:
            case "refused":
                self._write_down(effect, carried, answer="503", taking=False)
                self._after(delay, lambda: line.answer(503))
            case "cut_before_taking":
                self._write_down(effect, carried, answer="cut", taking=False)
                line.cut()
            case "cut_after_taking":
                self._write_down(effect, carried, answer="cut", taking=True)
                line.cut()
            case "taken_late":
                self._write_down(effect, carried, answer="cut", taking=False)
                line.cut()
                late = self.lies.delay_max.total_seconds()
                self._after(late, lambda: self._write_down(effect, carried, answer="late", taking=True))
            case "error_after_taking":
                self._write_down(effect, carried, answer="500", taking=True)
                self._after(delay, lambda: line.answer(500))
            case _:
                self._write_down(effect, carried, answer="200", taking=True)
                self._after(delay, lambda: line.answer(200))

    def _write_down(self, effect: str, carried: Carried, *, answer: str, taking: bool) -> None:
        is_repeat = effect in self._taken
        accepted = taking and not (is_repeat and self._keyed)
        if taking:
            self._taken.add(effect)
        self._history.append(
            Wired(
                effect=effect,
                event=carried.event,
                lane=carried.lane,
                n=carried.n,
                oseq=carried.oseq,
                accepted=accepted,
                is_repeat=is_repeat,
                answer=answer,
            )
        )

    def _after(self, seconds: float, act: Callable[[], None]) -> None:
        if seconds <= 0:
            act()
            return

        def due() -> None:
            self._later.discard(timer)
            act()

        timer = asyncio.get_running_loop().call_later(seconds, due)
        self._later.add(timer)
