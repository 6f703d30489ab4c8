"""Try a handler in three lines, without a server:

    turn = await play(app, "whatsapp.text", {"text": {"body": "hi"}}, lane="4915112345678")
    assert turn.replies == ["hello for the 1. time"]
    assert turn.state == {"visits": 1}

It is the real thing on a small stage: the engine's own runner over the store that all others are compared with. Only
time stands still until it is moved, nothing is sent, and chance always draws the middle. A `Stage` goes on from one
event to the next:

    stage = Stage(app)
    await stage.play("whatsapp.text", {"text": {"body": "book me a table"}})
    [reminded] = await stage.pass_time(timedelta(hours=2))
    assert reminded.kind == "reminder.follow-up"
"""

import asyncio
import sqlite3
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import msgspec

from procession.core.event import Event as StoredEvent
from procession.core.event import Intake, NewEvent, Window
from procession.core.ids import ChannelName, EndpointName, LaneId, TenantId, WorkerId, event_id, lane_id
from procession.core.lane import Side
from procession.core.limits import LEASE_TTL, SWEEP_ROWS_MAX
from procession.core.turn import HeldTurn, Settlement
from procession.lanes.app import App
from procession.lanes.event import Event
from procession.lanes.flight import Flight
from procession.lanes.means import Means
from procession.lanes.runner import Runner
from procession.ports.replies import Replies
from procession.ports.store import Ask
from procession.runtime import document
from procession.runtime.keepalive import Keepalive, Kept
from procession.runtime.threads import ThreadPool
from procession.runtime.trust import Trust
from procession.runtime.watch import Watch
from procession.testing.overheard import OverheardStore, ProcessDied, TriedApp
from procession.testing.played import Played, Reminder, sent
from procession.testing.stand_ins import AnyReply, HeldFiles, ManualClock, NobodyListens, NoChance, Notebook, OpenVault

Json = Any
"""A JSON value, or the bytes of one."""

_ROUNDS_MAX: Final = 10_000
"""Turns that one call may lead to: a handler that reminds itself at once would go on for ever."""


async def play(
    app: App,
    kind: str,
    data: Json = None,
    *,
    lane: str = "lane",
    state: Mapping[str, Json] | None = None,
    secrets: Mapping[str, bytes] | None = None,
    may_fail: bool = False,
) -> Played:
    """Play one event on a new stage; `state` is what its lane has so far. See `Stage.play`."""
    stage = Stage(app, secrets=secrets)
    if state is not None:
        await stage.set_state(state, lane=lane)
    return await stage.play(kind, data, lane=lane, may_fail=may_fail)


class Stage:
    """Where events are played one after the other; lanes keep their state in between."""

    def __init__(
        self,
        app: App,
        *,
        tenant: str = "tenant",
        channel: str = "channel",
        secrets: Mapping[str, bytes] | None = None,
        files: Mapping[str, bytes] | None = None,
        replies: Replies | None = None,
        patience: timedelta = timedelta(seconds=60),
        clock: ManualClock | None = None,
    ) -> None:
        """`files`: what `turn.download` finds, by the provider's ids; what was uploaded is `stage.files.uploaded`.
        `replies`: what a connector makes of `turn.reply`; without one, every value passes as it is. `patience`: how
        long a handler may really take, on the clock of your wall, before the test fails.
        """
        self.clock = clock if clock is not None else ManualClock()
        self.log = Notebook()
        self.sql = sqlite3.connect(":memory:", isolation_level=None)
        """The connection that `turn.sql` is handed: make your tables on it."""
        self._tenant, self._channel = TenantId(tenant), ChannelName(channel)
        self._patience = patience
        self.files = HeldFiles(files or {})
        self._store = OverheardStore(clock=self.clock, sql=self.sql)
        self._app = TriedApp(app)
        self._means = Means(
            store=self._store,
            bell=NobodyListens(),
            clock=self.clock,
            chance=NoChance(),
            telemetry=self.log,
            vault=OpenVault(secrets or {}),
            replies=replies if replies is not None else AnyReply(),
            files=self.files,
            threads=ThreadPool(),
            worker=WorkerId("stage"),
            fail_stop=_no_fail_stop,
        )
        self._accepted = 0

    async def play(
        self,
        kind: str,
        data: Json = None,
        *,
        lane: str = "lane",
        id: str | None = None,  # noqa: A002 - the users' word
        may_fail: bool = False,
        dies_after: str | None = None,
    ) -> Played:
        """Let an event come in, play what there is to play in its lane, and answer its own turn.

        What the handler raises is raised here, unless the test is about that (`may_fail`): then the turn is answered as
        it was settled. For a collecting handler time moves on until its window is over. `dies_after` names a step: the
        process dies right after it was remembered, and the answer is the second try.
        """
        if self._app.handler_for(kind) is None and not may_fail:
            raise AssertionError(f"the application has no handler for {kind!r}")
        event = await self.accept(kind, data, lane=lane, id=id)
        self._store.dies_after = dies_after
        played: list[Played] = []
        for _ in range(_ROUNDS_MAX):
            played += await self._play_ready()
            mine = [turn for turn in played if event in turn.events]
            if mine:
                _raise_failures([] if may_fail else played)
                return mine[-1]
            if not await self._move_to_next():
                break
        raise AssertionError(
            f"{kind} was accepted, but its turn does not come: the lane is parked or paused by an earlier event; see "
            "Stage.resume"
        )

    async def accept(
        self,
        kind: str,
        data: Json = None,
        *,
        lane: str = "lane",
        id: str | None = None,  # noqa: A002 - the users' word
    ) -> str:
        """Let an event come in without playing it: a burst is some of these and one `play`. Answers its id; an event
        of an id that came in before changes nothing.
        """
        self._accepted += 1
        provider_id = id if id is not None else f"event-{self._accepted}"
        payload = data if isinstance(data, bytes) else msgspec.json.encode(data)
        at = lane_id(self._tenant, self._channel, lane)
        new = NewEvent(
            tenant=self._tenant,
            channel=self._channel,
            lane=at,
            lane_key=lane,
            id=event_id(self._tenant, self._channel, provider_id),
            provider_id=provider_id,
            kind=kind,
            payload=payload,
            window=self._window(kind, payload),
            hears=True,
        )
        await self._store.accept(Intake(endpoint=EndpointName("stage"), events=(new,)))
        return provider_id

    async def pass_time(self, by: timedelta, *, may_fail: bool = False) -> tuple[Played, ...]:
        """Move the clock, and play what comes due on the way: reminders, further tries, windows, ends of pauses."""
        end = self.clock.now() + by
        played = await self._play_ready()
        for _ in range(_ROUNDS_MAX):
            if not await self._move_to_next(at_most=end - self.clock.now()):
                self.clock.move(end - self.clock.now())
                played += await self._play_ready()
                _raise_failures([] if may_fail else played)
                return tuple(played)
            played += await self._play_ready()
        raise AssertionError(f"more than {_ROUNDS_MAX:,} turns came due: does a handler remind itself without a wait?")

    async def again(self, *, may_fail: bool = False) -> Played:
        """Move the clock to whatever is due next, and answer its turn: the second try of one that failed, say."""
        for _ in range(_ROUNDS_MAX):
            played = await self._play_ready()
            if played:
                _raise_failures([] if may_fail else played)
                return played[-1]
            if not await self._move_to_next():
                break
        raise AssertionError("nothing is due: no turn waits for another try, no reminder is set")

    async def resume(self, *, lane: str = "lane") -> None:
        """An operator resumes a parked or paused lane."""
        await self._store.console.resume(self._tenant, lane_id(self._tenant, self._channel, lane), actor="test")

    def state(self, *, lane: str = "lane") -> dict[str, Json]:
        """A lane's state as it is kept."""
        return self._state(lane_id(self._tenant, self._channel, lane))

    async def set_state(self, state: Mapping[str, Json], *, lane: str = "lane") -> None:
        """Give a lane the state that a test begins with."""
        at = lane_id(self._tenant, self._channel, lane)
        row = self._store.tables.lane(self._tenant, at, Side.TURNS, lane, self._channel)
        row.state = msgspec.json.encode(state)

    # --- behind the scenes ---

    async def _play_ready(self) -> list[Played]:
        """Play whatever can be played now, one turn after the other."""
        played: list[Played] = []
        for _ in range(_ROUNDS_MAX):
            await self._store.sweep(SWEEP_ROWS_MAX)
            held = await self._claim()
            if held is None:
                break
            turn = await self._play_one(held)
            if turn is not None:
                played.append(turn)
        return played

    async def _claim(self) -> HeldTurn | None:
        for suspects in (False, True):
            ask = Ask(worker=self._means.worker, lanes_max=1, ttl=LEASE_TTL, suspects=suspects, alone=suspects)
            held = await self._store.claim_turns(ask)
            if held:
                return held[0]
        return None

    async def _play_one(self, held: HeldTurn) -> Played | None:
        """One try; None when its process died."""
        self._store.begin_listening()
        self._app.error = None
        lines = len(self.log.lines)
        try:
            await self._run(held)
        except ProcessDied:
            # Nobody gives the lane back: its lease has to run out.
            self.clock.move(LEASE_TTL)
            return None
        settlement = self._store.settlement
        assert settlement is not None, f"the turn was not settled: {self.log.lines[lines:]}"
        return self._played(held, settlement, lines)

    async def _run(self, held: HeldTurn) -> None:
        watch = Watch(self.clock)
        keepalive = Keepalive(self._store, self.clock, LEASE_TTL, _never_lost)
        runner = Runner(self._app, self._means, keepalive=keepalive, watch=watch, may_keep=lambda: False)
        flight = Flight(held, Trust(self.clock, LEASE_TTL, self.clock.monotonic()))
        try:
            async with asyncio.timeout(self._patience.total_seconds()):
                await runner.run(flight)
        except TimeoutError:
            raise AssertionError(f"the handler of {held.events[0].kind} still ran after {self._patience}") from None
        finally:
            watch.close()

    def _played(self, held: HeldTurn, settlement: Settlement, lines: int) -> Played:
        drafts = [*self._store.flushed, *settlement.effects]
        pause = settlement.pause
        return Played(
            outcome=settlement.outcome,
            state=self._state(held.lease.lane),
            sends=tuple(sent(draft) for draft in drafts),
            reminders={
                draft.name: Reminder(after=draft.after, content=document.decode(draft.payload))
                for draft in settlement.reminders
            },
            cancelled_reminders=settlement.cancel_reminders,
            cancelled_effects=settlement.cancel_effects,
            steps=tuple(self._store.remembered),
            events=tuple(event.provider_id for event in held.events),
            kind=held.events[0].kind,
            tries=held.tries,
            paused=pause is not None,
            pause=pause.duration if pause is not None else None,
            log=tuple(self.log.lines[lines:]),
            error=self._app.error,
        )

    def _state(self, lane: LaneId) -> dict[str, Json]:
        row = self._store.tables.lanes.get((self._tenant, lane, Side.TURNS))
        state: dict[str, Json] = document.decode(row.state) if row is not None and row.state is not None else {}
        return state

    async def _move_to_next(self, at_most: timedelta | None = None) -> bool:
        """Move the clock to what is due next, if there is anything, and it is not too far away."""
        swept = await self._store.sweep(SWEEP_ROWS_MAX)
        after = swept.next_after
        if after is None or (at_most is not None and after > at_most):
            return False
        self.clock.move(after)
        return True

    def _window(self, kind: str, payload: bytes) -> Window | None:
        """As ingress does: the first rule that fits decides."""
        for rule in self._app.collects:
            if any(kind == known or (known.endswith("*") and kind.startswith(known[:-1])) for known in rule.kinds):
                if rule.events_max <= 1:
                    return None
                text = _text(kind, payload)
                return Window(
                    quiet=rule.quiet,
                    wait_max=rule.wait_max,
                    events_max=rule.events_max,
                    flushes=text.strip().casefold() in {word.strip().casefold() for word in rule.flush_words},
                )
        return None


def _text(kind: str, payload: bytes) -> str:
    """What a person wrote, as the handler will see it."""
    clock = ManualClock()
    nobody, nowhere = TenantId(""), ChannelName("")
    stored = StoredEvent(
        tenant=nobody,
        channel=nowhere,
        lane=LaneId(""),
        lane_key="",
        id=event_id(nobody, nowhere, ""),
        provider_id="",
        kind=kind,
        payload=payload,
        seq=0,
        accepted_at=clock.now(),
    )
    return Event(stored).text


def _raise_failures(played: Sequence[Played]) -> None:
    for turn in played:
        if turn.error is not None:
            raise turn.error
        if any(line.what == "turn.failed" for line in turn.log):
            raise AssertionError(f"the turn failed: {turn.reason}")


def _never_lost(kept: Kept) -> None:
    raise AssertionError(f"{kept.lease} was lost, but nobody else is on this stage")


def _no_fail_stop(reason: str) -> None:
    raise AssertionError(f"the engine would end its process: {reason}")
