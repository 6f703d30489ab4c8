"""An application: which function plays the turns of which kinds of events."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final, Literal, TypeVar, cast

from procession.core.errors import Misconfigured
from procession.core.event import LANE_MERGED
from procession.core.limits import KIND_CHARS_MAX, TURN_DEADLINE
from procession.core.retry import Retry
from procession.lanes.handler import AsyncHandler, Handler, PlainHandler, WhenUsedUp, checked_function
from procession.lanes.mode import Collect, Mode, One, one
from procession.lanes.open_turn import is_async
from procession.lanes.turn import Turn
from procession.ports.directory import CollectRule
from procession.runtime.document import Json

H = TypeVar("H", bound=AsyncHandler | PlainHandler)
Merge = Callable[[dict[str, Json], dict[str, Json]], dict[str, Json]]

_FOUND_MAX: Final = 1_024
"""Kinds whose handler is remembered: kinds may come from outside, and the memory of them must not grow with it."""


class App:
    """Handlers by kind of event.

        app = App()

        @app.on("whatsapp.text")
        async def answer(turn: Turn) -> None:
            turn.reply("hello")

    An event that no handler is for is done as it is, and counted as `turn.unhandled`. With `strict=True` it is set
    aside instead, so that it can be replayed once there is a handler.
    """

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self._handlers: dict[str, Handler] = {}
        self._found: dict[str, Handler | None] = {}

    def on(
        self,
        *kinds: str,
        mode: Mode = one,
        retry: Retry | None = None,
        tries: int | None = None,
        when_used_up: WhenUsedUp | Literal["set_aside", "park"] = WhenUsedUp.SET_ASIDE,
        deadline: timedelta = TURN_DEADLINE,
    ) -> Callable[[H], H]:
        """Declare the function below it the handler of these kinds.

        kinds         exact (`whatsapp.text`), or all that begin so (`whatsapp.*`, `*`); the most specific one wins.
                      A reminder comes as `reminder.<name>`.
        mode          `one` event a turn, or `collect(quiet=..., ...)` the events of a burst.
        tries, retry  how often a turn is tried that fails (`tries=3`), or also how long to wait in between
                      (`retry=Retry(tries_max=3, base=..., factor=..., cap=...)`).
        when_used_up  then: `set_aside` (the events go to the dead letters, the lane goes on) or `park` (the lane stops
                      until an operator acts).
        deadline      how long one try may take; it has failed then.

        An async function runs on the engine's loop and must not block it. A plain function runs in a thread, gets a
        `PlainTurn`, and cannot be cancelled: past its deadline its turn is tried again, and whatever it still does
        is refused.
        """
        policy = _policy(when_used_up)
        chosen = _retry(retry, tries)
        if not isinstance(mode, One | Collect):
            raise Misconfigured(f"mode={mode!r}: write `one` or `collect(quiet=...)`, from procession")
        if not isinstance(deadline, timedelta) or deadline <= timedelta(0):
            raise Misconfigured(f"deadline={deadline!r}: write a duration, timedelta(seconds=30)")
        if not kinds or not all(isinstance(kind, str) for kind in kinds):
            raise Misconfigured("@app.on needs the kinds of events that the function is for: @app.on('whatsapp.text')")
        for kind in kinds:
            _check_kind(kind)

        def declare(function: H) -> H:
            call, plain = checked_function(function)
            handler = Handler(
                kinds=kinds,
                call=call,
                plain=plain,
                mode=mode,
                retry=chosen,
                when_used_up=policy,
                deadline=deadline,
            )
            self._add(handler)
            return function

        return declare

    def merges(self, function: Merge) -> Merge:
        """Declare how two states become one, when two lanes turn out to be one subject's:

            @app.merges
            def both(state: dict, other: dict) -> dict:
                return {**other, **state}

        `state` is that of the lane that goes on, `other` that of the lane that ended in it. It is called once for each
        such lane, in its place among the turns; without it the state of the lane that goes on is kept as it is. Plain
        and quick: it runs on the engine's loop.
        """
        if not callable(function) or is_async(function):
            raise Misconfigured("@app.merges stands over a plain function of two states that returns one")

        async def merge(turn: Turn) -> None:
            other = turn.event.data
            assert isinstance(other, dict), "a store has written it"
            turn.state = function(turn.state, cast("dict[str, Json]", other["state"]))

        self.on(LANE_MERGED)(merge)
        return function

    @property
    def handlers(self) -> tuple[Handler, ...]:
        """Each once, in the order declared."""
        return tuple(dict.fromkeys(self._handlers.values()))

    def handler_for(self, kind: str) -> Handler | None:
        """The handler of the exact kind, else of the longest prefix."""
        try:
            return self._found[kind]
        except KeyError:
            if len(self._found) >= _FOUND_MAX:
                self._found.clear()
            found = self._found[kind] = self._find(kind)
            return found

    @property
    def collects(self) -> tuple[CollectRule, ...]:
        """What the directory has to know so that ingress opens windows; the most specific rule stands first.

        Whoever reads them takes the first that fits. A rule with `events_max=1` opens no window: it stands for a kind
        that is played one by one although a wider rule collects.
        """
        rules = [
            _rule(kind, handler.mode)
            for kind, handler in self._handlers.items()
            if isinstance(handler.mode, Collect) or self._is_within_a_collect(kind)
        ]
        return tuple(sorted(rules, key=lambda rule: (rule.kinds[0].endswith("*"), -len(rule.kinds[0]))))

    def _add(self, handler: Handler) -> None:
        for kind in handler.kinds:
            other = self._handlers.get(kind)
            if other is not None:
                raise Misconfigured(f"two handlers for {kind!r}: {other.name} and {handler.name}. Remove one of them")
        self._handlers.update(dict.fromkeys(handler.kinds, handler))
        self._found.clear()

    def _find(self, kind: str) -> Handler | None:
        exact = self._handlers.get(kind)
        if exact is not None or kind == LANE_MERGED:
            # Only `merges` is for those: a handler of everything means everything that happens at a source.
            return exact
        fitting = [known for known in self._handlers if _fits(known, kind)]
        return self._handlers[max(fitting, key=len)] if fitting else None

    def _is_within_a_collect(self, kind: str) -> bool:
        inner = kind.removesuffix("*")
        return any(
            isinstance(handler.mode, Collect) and known != kind and _fits(known, inner)
            for known, handler in self._handlers.items()
        )


def _fits(known: str, kind: str) -> bool:
    return known.endswith("*") and kind.startswith(known[:-1])


def _rule(kind: str, mode: Mode) -> CollectRule:
    if isinstance(mode, One):
        return CollectRule(kinds=(kind,), quiet=timedelta(0), wait_max=timedelta(0), events_max=1)
    return CollectRule(
        kinds=(kind,),
        quiet=mode.quiet,
        wait_max=mode.wait_max,
        events_max=mode.events_max,
        flush_words=mode.flush_words,
    )


def _check_kind(kind: str) -> None:
    prefix = kind.removesuffix("*")
    if kind != "*" and (not prefix or "*" in prefix or len(kind) > KIND_CHARS_MAX or any(c.isspace() for c in kind)):
        raise Misconfigured(
            f"@app.on({kind!r}): write a kind of 1 to {KIND_CHARS_MAX} characters without blanks; a `*` may stand "
            "at its end only"
        )


def _retry(retry: Retry | None, tries: int | None) -> Retry:
    if retry is not None and tries is not None:
        raise Misconfigured("@app.on(retry=…, tries=…): write one of them, Retry(tries_max=…) says both")
    chosen = retry if retry is not None else Retry(tries_max=tries) if tries is not None else Retry()
    if chosen.tries_max < 1:
        raise Misconfigured(f"@app.on(tries={chosen.tries_max}): a turn needs at least one")
    return chosen


def _policy(word: str) -> WhenUsedUp:
    try:
        return WhenUsedUp(word)
    except ValueError:
        raise Misconfigured(f"@app.on(when_used_up={word!r}): write 'set_aside' or 'park'") from None
