"""The turn that a handler holds: what it may look at, ask for, and decide.

    @app.on("whatsapp.text")
    async def answer(turn: Turn) -> None:
        intent = await turn.step("intent", understand, turn.event.text)
        turn.state["visits"] = turn.state.get("visits", 0) + 1
        turn.reply(f"{intent}: hello for the {turn.state['visits']}. time")

A handler may run more than once for the same turn (it raised, its process died): its calls belong into steps, which
are remembered, and what it asks for is kept only with the try that succeeds.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import TimeoutError as NoAnswer
from datetime import timedelta
from functools import partial
from typing import Final, ParamSpec, TypeVar, cast, overload

from procession.core.effect import DoubtPolicy, Gate, RefusedPolicy
from procession.core.errors import LaneLost, TurnMisused
from procession.core.ids import ChannelName, EffectId, EventId, LaneId, TenantId, effect_id
from procession.core.lane import PauseDraft
from procession.core.limits import ANSWER_WINDOW
from procession.core.turn import Delay, Park, SetAside, SqlWork, Step
from procession.lanes.asks import terms_change
from procession.lanes.event import Event, Media
from procession.lanes.handed import file_of, media_id, reason_of, secret_name
from procession.lanes.log import TurnLog
from procession.lanes.open_turn import OpenTurn, step_value
from procession.runtime import document
from procession.runtime.document import Json

P = ParamSpec("P")
T = TypeVar("T")

_GRACE: Final = 2.0
"""Seconds beyond the deadline that a plain handler waits for an answer of ours before it takes the turn for lost."""


class TurnFace:
    """What `Turn` and `PlainTurn` have in common: everything that does not wait."""

    __slots__ = ("_open",)

    def __init__(self, opened: OpenTurn) -> None:
        self._open = opened

    # --- what the turn is ---

    @property
    def event(self) -> Event:
        """The turn's event; in a collecting handler the newest one."""
        return self._open.events[-1]

    @property
    def events(self) -> tuple[Event, ...]:
        """All events of the turn, in order. More than one only in a collecting handler."""
        return self._open.events

    @property
    def id(self) -> EventId:
        """The turn's id (its first event's): the same in every try."""
        return self._open.held.id

    @property
    def tenant(self) -> TenantId:
        return self._open.held.lease.tenant

    @property
    def channel(self) -> ChannelName:
        return self._open.held.events[0].channel

    @property
    def lane(self) -> LaneId:
        return self._open.held.lease.lane

    @property
    def lane_key(self) -> str:
        """Whose lane it is: the person, the order."""
        return self._open.held.lane_key

    @property
    def tries(self) -> int:
        """Which try this is: 1 for the first."""
        return self._open.held.tries

    @property
    def deadline(self) -> timedelta:
        """What is left until the handler is cancelled."""
        left = self._open.deadline_at - self._open.means.clock.monotonic()
        return timedelta(seconds=max(0.0, left))

    @property
    def log(self) -> TurnLog:
        """Structured log lines that name tenant, lane and turn by themselves: `turn.log.note("found", orders=3)`."""
        return TurnLog(self._open.means.telemetry, self._open.held)

    def idempotency_key(self, name: str) -> str:
        """A key for a call to somebody who drops repeats: the same in every try of this turn, and in no other turn."""
        held = self._open.held
        return "ik_" + effect_id(held.lease.tenant, held.id, f"ik_{name}").removeprefix("ef_")

    # --- the lane's state ---

    @property
    def state(self) -> dict[str, Json]:
        """The lane's own state, a JSON dict. Change it in place; it is saved with the turn, if the turn succeeds."""
        state: dict[str, Json] = self._open.state
        return state

    @state.setter
    def state(self, value: dict[str, Json]) -> None:
        self._open.check_undecided("state = …")
        self._open.state = value

    # --- asking for effects ---

    def reply(
        self,
        value: object,
        *,
        key: str | None = None,
        gate: Gate | None = None,
        doubt: DoubtPolicy | str | None = None,
        on_refused: RefusedPolicy | str | None = None,
        answer_within: timedelta | None = None,
    ) -> EffectId:
        """Ask for an answer to this lane's conversation: it is sent after the turn, in order, once.

        What `value` may be, the channel's connector says: a text, or a dict in the provider's own terms. Nothing is
        sent if the try fails, or ends in `delay`, `park` or `set_aside`. With a `key` it can be taken back by
        `cancel_effect`. Answers the effect's id, which is the same in every try.
        """
        self._open.check_undecided("reply(…)")
        change = terms_change(gate, doubt, on_refused, answer_within)
        return self._open.asks.effect(None, value, key=key, to=None, channel=None, change=change)

    def send(
        self,
        action: str,
        payload: object,
        *,
        key: str | None = None,
        to: str | None = None,
        channel: str | None = None,
        gate: Gate | None = None,
        doubt: DoubtPolicy | str | None = None,
        on_refused: RefusedPolicy | str | None = None,
        answer_within: timedelta | None = None,
    ) -> EffectId:
        """Ask for one of the connector's actions, sent after the turn, in order, once.

        `to` is the key of another conversation (its own order is kept there), `channel` another channel of the same
        tenant. The rest says how this one is to be sent otherwise than its channel's settings: `gate` (what it must
        have reached before the next goes), `doubt` (`park`, `resend`, `skip`), `on_refused` (`continue`, `park`),
        `answer_within` (too old after). As with `reply`, nothing is sent unless the turn succeeds.
        """
        self._open.check_undecided("send(…)")
        if not isinstance(action, str) or not action:
            raise TurnMisused(f"turn.send({action!r}, …): name the action first, turn.send('http', payload)")
        change = terms_change(gate, doubt, on_refused, answer_within)
        return self._open.asks.effect(action, payload, key=key, to=to, channel=channel, change=change)

    def template(
        self,
        name: str,
        *,
        language: str = "en",
        components: Sequence[object] = (),
        key: str | None = None,
        to: str | None = None,
        channel: str | None = None,
    ) -> EffectId:
        """Ask for an approved template, which may be sent at any time, also when the person has long been silent.

        As `turn.send("template", …)`; `components` are the provider's own.
        """
        value: dict[str, object] = {"name": name, "language": {"code": language}}
        if components:
            value["components"] = list(components)
        return self.send("template", value, key=key, to=to, channel=channel)

    @property
    def window_left(self) -> timedelta | None:
        """How long free text may still be sent: 24 hours from when the person last wrote. Zero: not any more, nothing
        but templates. None: this lane's channel has heard from nobody, or knows no such window.
        """
        heard_at = self._open.held.heard_at
        if heard_at is None:
            return None
        return max(timedelta(0), heard_at + ANSWER_WINDOW - self._open.means.clock.now())

    def cancel_effect(self, key: str) -> None:
        """Take an effect back: of this turn by its key, of any turn by its id. What was begun is not recalled."""
        self._open.check_undecided("cancel_effect(…)")
        self._open.asks.cancel_effect(key)

    # --- reminders ---

    def remind(self, name: str, after: timedelta, data: Json = None) -> None:
        """Ask for an event to this same lane, `after` the turn has ended: kind `reminder.<name>`, with `data` in it.

        A reminder of the same name replaces the one before; `cancel` removes it. It takes its place in the lane when it
        is due.
        """
        self._open.check_undecided("remind(…)")
        self._open.asks.remind(name, after, data)

    def cancel(self, name: str) -> None:
        """Remove a reminder of this lane, if it is not due yet."""
        self._open.check_undecided("cancel(…)")
        self._open.asks.cancel_reminder(name)

    # --- deciding ---

    def delay(self, after: timedelta, reason: str = "") -> None:
        """Not now: play this turn again in `after`; everything behind it in the lane waits. Return after this.

        It is no failure and does not use up a try. Nothing that this try has asked for is kept, its steps are.
        """
        self._open.check("delay(…)")
        if not isinstance(after, timedelta) or after < timedelta(0):
            raise TurnMisused(f"turn.delay({after!r}): write a duration, timedelta(minutes=5)")
        self._open.asks.decide(Delay(after=after, reason=reason or "the handler asked for it", counts=False), "delay")

    def park(self, reason: str) -> None:
        """Stop the lane at this turn until an operator resumes it. Return after this; nothing asked for is kept."""
        self._open.check("park(…)")
        self._open.asks.decide(Park(reason=reason_of(reason, "park")), "park")

    def set_aside(self, reason: str) -> None:
        """Give this turn up: its events go to the dead letters, the lane goes on. Return after this; nothing asked for
        is kept.
        """
        self._open.check("set_aside(…)")
        self._open.asks.decide(SetAside(reason=reason_of(reason, "set_aside")), "set_aside")

    def pause(self, duration: timedelta | None = None, *, keep_effects: bool = False, reason: str = "") -> None:
        """Stop this lane after this turn, for so long or (None) until an operator resumes it: a person takes over.

        What this turn has asked for still goes. Effects that come up during the pause wait, and are dropped at its end
        unless `keep_effects`.
        """
        self._open.check_undecided("pause(…)")
        if duration is not None and (not isinstance(duration, timedelta) or duration <= timedelta(0)):
            raise TurnMisused(f"turn.pause({duration!r}): write a duration, timedelta(hours=1), or None for no end")
        self._open.asks.pause = PauseDraft(duration=duration, keep_effects=keep_effects, reason=reason)

    def sql(self, work: Callable[..., object]) -> None:
        """Have `work(connection)` called inside the transaction that ends this turn: its rows and the turn commit
        together, or neither does.

        It runs after the handler has returned, while all other writes wait: a few statements, no outward call, no
        commit. If it raises or takes too long the try has failed. Only where the store is a database that you share.
        """
        self._open.check_undecided("sql(…)")
        if not callable(work):
            raise TurnMisused("turn.sql(work): hand over a function of a connection; it is called when the turn ends")
        self._open.asks.sql.append(cast("SqlWork", work))

    def _through(self, channel: str | None) -> ChannelName:
        return self.channel if channel is None else ChannelName(channel)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id} try {self.tries}>"


class Turn(TurnFace):
    """The turn of an async handler."""

    __slots__ = ()

    @overload
    def step(
        self, name: str, fn: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[object, object, T]: ...

    @overload
    def step(
        self, name: str, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[object, object, T]: ...

    def step(
        self, name: str, fn: Callable[P, Awaitable[T] | T], /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[object, object, T]:
        """Call `fn(*args, **kwargs)` and remember what it answers, under `name`, before going on: await it.

        A second try of the turn gets the remembered answer and does not call again. A crash between the call and its
        remembering repeats the call: give it `turn.idempotency_key(name)` where the other side takes one. The answer
        must be JSON or bytes. Several calls of one name are told apart by their order; calls of different names may run
        at the same time. A plain `fn` runs in a thread, since it may block.

        Raises LaneLost when the lane is another's by now: let it through.
        """
        return cast("Coroutine[object, object, T]", self._open.step(name, partial(fn, *args, **kwargs)))

    async def flush(self) -> None:
        """Send what was asked for so far now, before the turn ends: a first bubble before the long work.

        What was flushed goes even if the try fails afterwards; a second try that asks for the same adds nothing.
        """
        await self._open.flush()

    async def download(self, media: "Media | str | None") -> bytes:
        """The bytes of what was sent along: `await turn.download(turn.event.media)`. At most 16 MiB.

        They are not remembered: a second try fetches them again. What you make of them (a transcript) belongs into a
        step. Raises FileFailed if the provider does not hand them out now: let it through, and the turn is tried again.
        """
        return await self._open.download(media_id(media))

    async def upload(self, content: bytes, mime_type: str, *, filename: str = "", channel: str | None = None) -> str:
        """Hand a file to the channel's provider, and get its id, for `turn.reply({"image": id})`.

        Remembered as a step: a second try has the id and does not upload again. Raises FileFailed, as `download`.
        """
        return await self._open.upload(file_of(content, mime_type, filename), self._through(channel))

    async def secret(self, name: str) -> bytes:
        """A secret of this tenant (a model's key, a calendar's token), opened for this turn. Audited; never keep it."""
        self._open.check(f"secret({name!r})")
        return await self._open.means.vault.open_for(self.tenant, secret_name(name), self.id)


class PlainTurn(TurnFace):
    """The turn of a plain handler, which runs in a thread: the same verbs, and those that wait simply block."""

    __slots__ = ()

    @overload
    def step(self, name: str, fn: Callable[P, Awaitable[T]], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    @overload
    def step(self, name: str, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T: ...

    def step(self, name: str, fn: Callable[P, Awaitable[T] | T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call `fn(*args, **kwargs)`, here in this thread, and remember what it answers, under `name`.

        As `Turn.step`. An async `fn` is awaited on the engine's loop.
        """
        self._open.check(f"step({name!r})")
        occurrence = self._open.memo.number(name)
        kept = self._open.memo.recall(name, occurrence)
        if kept is None:
            self._open.check_trust(name)
            value = fn(*args, **kwargs)
            if isinstance(value, Awaitable):
                value = self._wait(_awaited(value))
            kept = step_value(name, value)
            self._wait(self._open.remember(Step(name=name, occurrence=occurrence, value=kept)))
        return cast("T", document.decode_step(kept))

    def flush(self) -> None:
        """As `Turn.flush`."""
        self._wait(self._open.flush())

    def download(self, media: "Media | str | None") -> bytes:
        """As `Turn.download`."""
        return self._wait(self._open.download(media_id(media)))

    def upload(self, content: bytes, mime_type: str, *, filename: str = "", channel: str | None = None) -> str:
        """As `Turn.upload`."""
        return self._wait(self._open.upload(file_of(content, mime_type, filename), self._through(channel)))

    def secret(self, name: str) -> bytes:
        """As `Turn.secret`."""
        self._open.check(f"secret({name!r})")
        return self._wait(_awaited(self._open.means.vault.open_for(self.tenant, secret_name(name), self.id)))

    def _wait(self, waiting: Coroutine[object, object, T]) -> T:
        """Let the loop do it, and block this thread until it has; never longer than the turn may take."""
        if _in_a_loop():
            waiting.close()
            raise TurnMisused(
                "a PlainTurn waits by blocking its thread; in an async function use the Turn of an async handler"
            )
        answer = asyncio.run_coroutine_threadsafe(waiting, self._open.loop)
        try:
            return answer.result(self.deadline.total_seconds() + _GRACE)
        except NoAnswer:
            answer.cancel()
            raise LaneLost(f"turn {self.id} was given up while its handler waited; stop here") from None


async def _awaited(value: Awaitable[T]) -> T:
    return await value


def _in_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
