"""An open turn: everything behind the `Turn` that a handler holds, from the claim of its lane to its end.

It may be asked by a handler that does not know that its turn is over: a plain function that was given up but still
runs in its thread, or a step that somebody forgot. So each verb looks first whether the turn is still open, ours, and
undecided; and what comes too late gets an error that says so.
"""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from datetime import timedelta
from functools import partial
from typing import Final, TypeVar, cast

from procession.core.errors import BadRequest, LaneLost, StoreBroken, TurnMisused
from procession.core.ids import ChannelName
from procession.core.limits import FILE_WAIT, STATE_BYTES_MAX, STEP_BYTES_MAX
from procession.core.turn import HeldTurn, Outcome, Settlement, Step
from procession.core.verdict import Fate
from procession.lanes.asks import Asks
from procession.lanes.event import Event
from procession.lanes.means import Means
from procession.lanes.memo import Memo
from procession.ports.bell import Ring
from procession.ports.files import Errand, File
from procession.runtime import document
from procession.runtime.document import Json
from procession.runtime.insist import insist
from procession.runtime.trust import Trust

T = TypeVar("T")

_UPLOAD: Final = "procession.upload"
"""The name of an upload's step: one that no handler gives by accident."""


class OpenTurn:
    """One try of one turn."""

    __slots__ = (
        "_closed",
        "_state",
        "_state_raw",
        "_steps",
        "asks",
        "begun",
        "broken",
        "deadline_at",
        "events",
        "held",
        "loop",
        "lost",
        "means",
        "memo",
        "trust",
    )

    def __init__(self, held: HeldTurn, means: Means, trust: Trust, deadline_at: float) -> None:
        self.held = held
        self.means = means
        self.trust = trust
        self.deadline_at = deadline_at
        self.loop = asyncio.get_running_loop()
        self.asks = Asks(held, means.replies, means.clock)
        self.memo = Memo(held.steps)
        self.events = tuple([Event(event) for event in held.events])
        self.lost = False
        self.broken: StoreBroken | None = None
        """The store broke under one of the turn's writes: nothing of the turn is to be judged by that."""
        self.begun = False
        """The handler's own code has been entered; a plain one may wait for a thread before that."""
        self._closed = False
        self._steps: list[tuple[str, Coroutine[object, object, object]]] = []
        self._state: Json = None
        self._state_raw: bytes | None = None

    # --- what a handler may do now ---

    def check(self, verb: str) -> None:
        """Raise unless the turn is still open and ours."""
        if self.lost:
            raise LaneLost(f"turn.{verb}: the lane of turn {self.held.id} is another's by now; stop here")
        if self._closed:
            raise TurnMisused(
                f"turn.{verb}: turn {self.held.id} has ended. A turn may be used only while its handler runs: await "
                "what you start in it, and let nothing keep `turn` for later"
            )

    def check_undecided(self, verb: str) -> None:
        """Raise if the handler has decided that this try leaves nothing behind."""
        self.check(verb)
        if self.asks.outcome is not None:
            raise TurnMisused(
                f"turn.{verb} after turn.delay, turn.park or turn.set_aside: what such a turn asks for is not kept. "
                "Return from the handler right after deciding"
            )

    # --- state ---

    @property
    def state(self) -> Json:
        if self._state is None:
            raw = self.held.state
            self._state = document.decode(raw) if raw else {}
            # Compared with how we write it ourselves, so that reading alone changes nothing.
            self._state_raw = raw
        return self._state

    @state.setter
    def state(self, value: Json) -> None:
        if not isinstance(value, dict):
            raise TurnMisused(f"turn.state = {type(value).__name__}: a lane's state is a dict")
        self._state = value
        self._state_raw = self.held.state

    def changed_state(self) -> bytes | None:
        """The state as it is to be kept; None when it was not changed."""
        if self._state is None:
            return None
        raw = document.encode(self._state, "turn.state", STATE_BYTES_MAX)
        unchanged = raw == (self._state_raw or b"{}")
        return None if unchanged else raw

    # --- steps ---

    def step(self, name: str, call: Callable[[], object]) -> Coroutine[object, object, Json]:
        """A step's coroutine, with its place taken: places follow the order of calls, not of awaiting."""
        self.check(f"step({name!r})")
        occurrence = self.memo.number(name)
        step = self._step(name, occurrence, call)
        self._steps.append((name, step))
        return step

    async def _step(self, name: str, occurrence: int, call: Callable[[], object]) -> Json:
        self.check(f"step({name!r})")
        kept = self.memo.recall(name, occurrence)
        if kept is None:
            self.check_trust(name)
            value = await self.called(call)
            kept = step_value(name, value)
            await self.remember(Step(name=name, occurrence=occurrence, value=kept))
        # The first try sees what a later one would: a tuple has become a list already.
        return document.decode_step(kept)

    # --- files ---

    async def upload(self, file: File, channel: ChannelName) -> str:
        """Remembered as a step: a second try has the id, and uploads nothing."""
        return cast("str", await self.step(_UPLOAD, partial(self._uploaded, file, channel)))

    async def _uploaded(self, file: File, channel: ChannelName) -> str:
        try:
            return await self.means.files.upload(self._errand(channel), file)
        except BadRequest as refusal:
            raise TurnMisused(f"turn.upload(…): {refusal}") from None

    async def download(self, file_id: str) -> bytes:
        self.check("download(…)")
        self.check_trust("download")
        try:
            return await self.means.files.download(self._errand(self.held.events[0].channel), file_id)
        except BadRequest as refusal:
            raise TurnMisused(f"turn.download(…): {refusal}") from None

    def _errand(self, channel: ChannelName) -> Errand:
        left = timedelta(seconds=max(0.0, self.deadline_at - self.means.clock.monotonic()))
        return Errand(
            tenant=self.held.lease.tenant,
            channel=channel,
            deadline=min(left, FILE_WAIT),
            may_begin=self.trust.holds,
        )

    async def called(self, call: Callable[[], object]) -> object:
        """Call a handler's function: an async one here, a plain one (it may block) in a thread."""
        value = call() if is_async(call) else await self.means.threads.run(call)
        return await value if inspect.isawaitable(value) else value

    def check_trust(self, name: str) -> None:
        if not self.trust.holds():
            self.lost = True
            raise LaneLost(f"turn.step({name!r}): our lease may be over; nothing new is begun")

    async def remember(self, step: Step) -> None:
        self.check(f"step({step.name!r})")
        lease, turn = self.held.lease, self.held.id
        await self._fenced(lambda: self.means.store.remember(lease, turn, steps=(step,)), f"step({step.name!r})")
        self.memo.keep(step)

    async def flush(self) -> None:
        self.check_undecided("flush()")
        drafts = self.asks.flush()
        if drafts:
            lease, turn = self.held.lease, self.held.id
            await self._fenced(lambda: self.means.store.remember(lease, turn, flush=drafts), "flush()")
            self.asks.flushed_now(drafts)
            self.means.bell.ring(Ring.SENDS)

    async def _fenced(self, write: Callable[[], Awaitable[Fate]], verb: str) -> None:
        means = self.means
        try:
            fate = await insist(write, trust=self.trust, chance=means.chance, telemetry=means.telemetry, stage="turn")
        except StoreBroken as broken:
            self.broken = broken
            raise
        if fate is not Fate.KEPT:
            self.lost = True
            raise LaneLost(f"turn.{verb}: the lane of turn {self.held.id} is another's by now; stop here")

    # --- the end ---

    def close(self) -> TurnMisused | None:
        """End it: from here on every verb raises. Answers what the handler did wrong with its steps, if it did."""
        self._closed = True
        misuse = None
        for name, step in self._steps:
            state = inspect.getcoroutinestate(step)
            if state == inspect.CORO_CREATED:
                step.close()
                misuse = TurnMisused(f"turn.step({name!r}, …) was never awaited: write `await turn.step({name!r}, …)`")
            elif state != inspect.CORO_CLOSED:
                misuse = TurnMisused(f"turn.step({name!r}, …) still runs, but the handler has returned: await it")
        return misuse

    def settlement(self, outcome: Outcome, state: bytes | None, keep_for: timedelta | None) -> Settlement:
        """All that a turn that advances leaves behind."""
        asks = self.asks
        return Settlement(
            lease=self.held.lease,
            turn=self.held.id,
            outcome=outcome,
            state=state,
            effects=tuple(asks.effects.values()),
            cancel_effects=tuple(asks.cancel_effects),
            reminders=tuple(asks.reminders.values()),
            cancel_reminders=tuple(asks.cancel_reminders),
            pause=asks.pause,
            sql=tuple(asks.sql),
            keep_for=keep_for,
        )


def step_value(name: str, value: object) -> bytes:
    return document.encode_step(value, f"the result of step {name!r}", STEP_BYTES_MAX)


def is_async(call: Callable[..., object]) -> bool:
    """Does calling it give a coroutine, as far as one can see without calling it?"""
    if inspect.iscoroutinefunction(call):
        return True
    return inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004 - an object with async __call__
