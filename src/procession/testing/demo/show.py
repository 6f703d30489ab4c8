"""The course of the demo: people write, one shop is flooded, the engine is killed and comes back, and all is judged."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Final

from procession.ports.clock import Clock
from procession.runtime.pause import pause
from procession.testing.chaos.served import Served
from procession.testing.demo.flood import Flood
from procession.testing.demo.followed import Followed
from procession.testing.demo.ground import BOT, Ground
from procession.testing.demo.pulse import Pulse
from procession.testing.demo.shops import FLOODS, PACE, TONE
from procession.testing.demo.standing import Standings
from procession.testing.demo.verdict import DIGITS, Kill, Verdict
from procession.testing.simulation.chance import SeededChance
from procession.testing.whatsapp.world import World

KILL_AT_MOST_S: Final = 10.0
KILLS_MAX: Final = 5
HEALTHY_WITHIN: Final = timedelta(seconds=30)
_DRAINED_WITHIN_S: Final = 45.0
_BEAT: Final = timedelta(milliseconds=50)
_LOOK_EVERY: Final = timedelta(milliseconds=300)
_JUDGED_EVERY_S: Final = 0.5
_LAST_BYTES: Final = timedelta(milliseconds=100)
"""Until what a killed engine had written has been read."""
_STUCK_S: Final = 5.0
"""Longer than a channel's `doubt_wait`: then an operator looks after what nobody can prove."""
_NEWS_MAX: Final = 12


class Cast:
    """All that is looked at while the world turns."""

    def __init__(self, world: World, chance: SeededChance) -> None:
        self.world = world
        self.standings = Standings(world)
        self.followed = Followed(world.people)
        flooding = [person for person in world.people if person.number.tenant == FLOODS]
        self.flood = Flood(flooding, world.crowd, self.standings, chance)
        self.told = world.verdict()
        """What would be said if it were over now."""


class Show:
    def __init__(self, folder: Path, *, seconds: float, seed: int, clock: Clock, bot: str = BOT) -> None:
        self.seconds = seconds
        self.pulse = Pulse(clock, tuple(TONE))
        self.cast: Cast | None = None
        """None: the engine and its world are not there yet."""
        self.news: deque[tuple[float, str, str]] = deque(maxlen=_NEWS_MAX)
        """When, what kind (`kill`, `good`, `note`), what."""
        self.now = "starting an engine"
        self.kills: list[Kill] = []
        self.on_news: Callable[[float, str], None] = lambda _at, _text: None
        self._ground = Ground(folder, clock=clock, seed=seed, bot=bot)
        self._chance = SeededChance(seed)
        self._clock = clock
        self._begun = clock.monotonic()
        self._judged_at = 0.0
        self._killed_at = 0.0
        self._owed_at_kill: set[tuple[str, int]] = set()
        self._asked_to_kill = False
        self._asked_to_end = False

    # --- what keys do ---

    def kill(self) -> None:
        self._asked_to_kill = True

    def end(self) -> None:
        self._asked_to_end = True

    # --- the course ---

    @property
    def passed(self) -> float:
        return self._clock.monotonic() - self._begun

    def watch(self, world: World) -> Cast:
        self.cast = Cast(world, self._chance.of("flood"))
        return self.cast

    async def run(self) -> Verdict:
        async with self._ground as ground:
            world, served = await ground.open()
            await served.start()
            took = await served.wait_until_healthy(HEALTHY_WITHIN)
            cast = self.watch(world)
            self.pulse.came_up()
            self.pulse.begin()
            self._begun = self._clock.monotonic()
            self._tell("note", f"procession serve runs, {took.total_seconds():.1f} s after its start")
            async with asyncio.TaskGroup() as group:
                beside = [group.create_task(cast.flood.run()), group.create_task(self._operator(cast))]
                await self._acts(cast, served)
                for one in beside:
                    one.cancel()
            await served.terminate(HEALTHY_WITHIN)
            return self.verdict(cast)

    async def _acts(self, cast: Cast, served: Served) -> None:
        cast.world.crowd.start()
        self.now = "people write in bursts; deliveries come twice, and overtake each other"
        await self._play_until(0.2 * self.seconds, served)
        cast.flood.is_on = True
        self._tell("note", f"everybody writes to the {FLOODS} at once")
        self.now = f"the {FLOODS} is flooded; see how soon the other shops reply"
        await self._play_until(min(KILL_AT_MOST_S, 0.4 * self.seconds), served, or_a_kill=True)
        if not self.kills:
            await self._kill(served)
        await self._play_until(0.6 * self.seconds, served)
        if cast.flood.is_on:
            cast.flood.is_on = False
            self._tell("note", f"the {FLOODS} has calmed down")
            self.now = "what is left is played"
        await self._play_until(0.8 * self.seconds, served)
        cast.world.crowd.hush()
        self.now = "nobody writes any more; every reply that is owed has to come"
        await self._drain(cast)
        self.now = "all replies are there"

    async def _play_until(self, at: float, served: Served, *, or_a_kill: bool = False) -> None:
        while self.passed < at and not self._asked_to_end:
            await self._beat()
            if self._asked_to_kill:
                self._asked_to_kill = False
                if len(self.kills) < KILLS_MAX:
                    await self._kill(served)
                if or_a_kill:
                    return

    async def _drain(self, cast: Cast) -> None:
        until = self.passed + _DRAINED_WITHIN_S
        while not cast.world.is_quiet and self.passed < until:
            await self._beat()

    async def _beats(self) -> None:
        while True:
            await self._beat()

    async def _beat(self) -> None:
        await pause(_BEAT)
        self.look()

    def look(self) -> None:
        """See how everything stands."""
        cast = self.cast
        if cast is None:
            return
        cast.standings.look()
        cast.followed.look(cast.standings, self.passed)
        replies, cast.standings.replies = cast.standings.replies, []
        self.pulse.replied((tenant, seconds / PACE) for tenant, seconds in replies)
        self.pulse.beat()
        if self.passed - self._judged_at >= _JUDGED_EVERY_S:
            self.judge()
        self._look_after_kill(cast)

    def judge(self) -> None:
        """What would be said if it were over now."""
        if self.cast is not None:
            self._judged_at = self.passed
            self.cast.told = self.cast.world.verdict()

    def verdict(self, cast: Cast) -> Verdict:
        cast.standings.look()
        self.judge()
        return Verdict(
            told=cast.told,
            turns=cast.standings.turns,
            statuses=cast.world.book.statuses.total(),
            doubts_proven=cast.standings.proven,
            doubts_resolved=len(self._ground.line.resolved),
            doubts_open=cast.standings.in_doubt,
            reply_s={tenant: _rounded(self.pulse.reply_s_of_all(tenant)) for tenant in TONE},
            kills=tuple(self.kills),
        )

    # --- the operator ---

    async def _operator(self, cast: Cast) -> None:
        """Until cancelled. Looks at a handset where a kill came before the first byte: nothing else can prove that."""
        stands_since: float | None = None
        while True:
            await pause(_LOOK_EVERY)
            stands = bool(cast.standings.never_sent) or (cast.world.is_delivered and bool(cast.standings.owed()))
            if not stands or self.pulse.is_down:
                stands_since = None
            elif stands_since is None:
                stands_since = self.passed
            elif self.passed - stands_since >= _STUCK_S:
                await self._ground.line.resolve(cast.world)
                cast.standings.look()
                stands_since = None

    # --- the kill ---

    async def _kill(self, served: Served) -> None:
        cast = self.cast
        assert cast is not None, "there is nothing to kill yet"
        self.pulse.went_down()
        self._killed_at = self._clock.monotonic()
        await served.kill()
        await pause(_LAST_BYTES)
        left = await asyncio.to_thread(self._ground.left_behind)
        cast.standings.kill_left(left.armed)
        self._owed_at_kill = cast.standings.owed()
        owed = len(self._owed_at_kill)
        what = f"{left.turns_in_flight} turns in flight, {len(left.armed)} sends begun, {owed} texts waiting"
        self._tell("kill", f"kill -9 of the engine: {what}")
        self.now = "the engine is dead; WhatsApp keeps on delivering"
        await served.start()
        async with asyncio.TaskGroup() as group:
            beats = group.create_task(self._beats())
            await served.wait_until_healthy(HEALTHY_WITHIN)
            beats.cancel()
        self.pulse.came_up()
        after = round(self._clock.monotonic() - self._killed_at, DIGITS)
        self.kills.append(Kill(turns=left.turns_in_flight, sends=len(left.armed), owed=owed, accepting_after_s=after))
        self._tell("good", f"back in {after:.1f} s: it accepts again")
        self.now = "it is back, and goes on where it was"

    def _look_after_kill(self, cast: Cast) -> None:
        """Tell when the first reply comes after a kill, and when all that was owed then is made good."""
        if not self.kills or self.pulse.is_down:
            return
        last = self.kills[-1]
        first = self.pulse.first_reply_at
        if last.replying_after_s is None and first is not None:
            self.kills[-1] = last = replace(last, replying_after_s=round(first - self._killed_at, DIGITS))
        if last.made_good_after_s is None and not self._owed_at_kill & cast.standings.owed():
            after = round(self._clock.monotonic() - self._killed_at, DIGITS)
            self.kills[-1] = replace(last, made_good_after_s=after)
            owed = f"all {last.owed} texts that waited are answered" if last.owed else "nobody waited for a reply"
            self._tell("good", f"nothing lost: {owed}, {after:.1f} s after the kill")

    def _tell(self, kind: str, text: str) -> None:
        self.news.append((self.passed, kind, text))
        self.on_news(self.passed, text)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, DIGITS)
