"""A handler: a function of a turn, and how its turns are to be treated."""

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from procession.core.errors import Misconfigured, TurnMisused
from procession.core.retry import Retry
from procession.lanes.mode import Mode
from procession.lanes.open_turn import OpenTurn, is_async
from procession.lanes.turn import PlainTurn, Turn

AsyncHandler = Callable[[Turn], Awaitable[None]]
PlainHandler = Callable[[PlainTurn], None]


class WhenUsedUp(StrEnum):
    """What becomes of a turn whose tries are used up."""

    SET_ASIDE = "set_aside"
    PARK = "park"


@dataclass(frozen=True, slots=True, kw_only=True)
class Handler:
    """What `@app.on(...)` declares."""

    kinds: tuple[str, ...]
    call: Callable[..., object]
    plain: bool
    """It is no async function: it runs in a thread, with a `PlainTurn`."""
    mode: Mode
    retry: Retry
    when_used_up: WhenUsedUp
    deadline: timedelta

    async def play(self, opened: OpenTurn) -> None:
        """Run it over a turn, in this coroutine or in a thread."""
        if self.plain:
            answer = await opened.means.threads.run(lambda: self._begin(opened, PlainTurn(opened)))
            if inspect.iscoroutine(answer):
                answer.close()
                raise TurnMisused(f"{self.name} is a plain function that returned a coroutine: write `async def`")
        else:
            waiting = self._begin(opened, Turn(opened))
            if not inspect.isawaitable(waiting):
                raise TurnMisused(f"{self.name} looked like an async function and returned no coroutine")
            await waiting

    def _begin(self, opened: OpenTurn, turn: Turn | PlainTurn) -> object:
        opened.begun = True
        return self.call(turn)

    @property
    def name(self) -> str:
        return function_name(self.call)


def checked_function(call: object) -> tuple[Callable[..., object], bool]:
    """The function, and whether it is a plain one; Misconfigured if it can be no handler."""
    if not callable(call):
        raise Misconfigured(f"@app.on(…) stands over {call!r}: it belongs over a function of a turn")
    if inspect.isasyncgenfunction(call) or inspect.isgeneratorfunction(call):
        raise Misconfigured(
            f"{function_name(call)} yields: a handler is a function that returns; ask with turn.reply(…)"
        )
    try:
        inspect.signature(call).bind(None)
    except TypeError:
        raise Misconfigured(
            f"{function_name(call)} cannot be called with one argument: "
            "a handler is `async def name(turn: Turn) -> None`"
        ) from None
    except ValueError:
        pass  # A callable of an extension module may have no signature that Python can see.
    return call, not is_async(call)


def function_name(call: object) -> str:
    """How a person finds it: module, name and line."""
    inner = inspect.unwrap(call) if callable(call) else call
    code = getattr(inner, "__code__", None)
    line = f":{code.co_firstlineno}" if code is not None else ""
    module = getattr(inner, "__module__", None) or "?"
    return f"{module}{line} {getattr(inner, '__qualname__', type(inner).__name__)}"
