"""A campaign: load goes on and on, the engine is killed again and again, and in the end everything is counted.

    kills       at random moments, at named points between two steps of the line, and in the middle of a recovery
    power cuts  the same, and the disk falls back to what was synced
    stops       SIGSTOP past the lease, and SIGTERM in between: not kills, but the same promises hold

Safety is judged from the history that the harness wrote and from what is in the store in the end (`checker`), liveness
by how long each return to service took. Nothing here trusts what the engine says of itself.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

from procession.ports.clock import Clock
from procession.testing.chaos import reading
from procession.testing.chaos.checker import Finding, Verdict, check
from procession.testing.chaos.history import Fault, History, Wired
from procession.testing.chaos.load import LoadGenerator, LoadShape
from procession.testing.chaos.provider import FakeProvider, Lies
from procession.testing.chaos.scene import ENDPOINT, Scene, deliver, lanes, this_procession
from procession.testing.chaos.served import NotHealthy, free_port
from procession.testing.powercut import environment, restart_on
from procession.testing.simulation.chance import SeededChance

HEALTHY_WITHIN: Final = timedelta(seconds=30)
QUIET_WITHIN: Final = timedelta(minutes=3)
POINT_WITHIN: Final = timedelta(seconds=20)
EVENTS_A_KILL: Final = 340
"""New events for each kill, at least: 60 kills come to more than 20,000."""
EVENTS_A_SECOND: Final = 220
STOP_SHARE: Final = 0.1
RECOVERY_SHARE: Final = 0.12

POINTS: Final = {
    "accept.before_answer": "accept_and_answer",
    "begin.armed": "arm_and_wire",
    "wire.answered": "wire_and_record",
    "start.before": "count_and_start",
    "settle.before": "handler_and_settle",
    "settle.after": "settle_and_next",
}
EACH_POINT: Final = 0.1
"""The share of all kills that each named point gets, at least."""

LIES: Final = Lies(
    refused=0.01,
    error_after_taking=0.01,
    cut_before_taking=0.01,
    cut_after_taking=0.01,
    delay_max=timedelta(milliseconds=15),
)

Show = Callable[[str, int, int], None]
"""What is going on, how far, of how much."""


@dataclass(slots=True, kw_only=True)
class Tally:
    kills: int = 0
    kills_with_turns_in_flight: int = 0
    kills_with_effects_armed: int = 0
    kills_in_recovery: int = 0
    kills_between: Counter[str] = field(default_factory=Counter)
    powercuts: int = 0
    powercuts_that_lost_bytes: int = 0
    stops: int = 0
    drains: int = 0
    recoveries: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    verdict: Verdict
    torn: tuple[Finding, ...]
    """Turns, states and rows that were not kept together."""
    tally: Tally
    sent_again_under_its_key: int
    """Repeats that the provider dropped: a try whose answer was lost, given again under the same key."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        return (*self.verdict.findings, *self.torn)


class Campaign:
    def __init__(
        self,
        folder: Path,
        *,
        kills: int,
        powercuts: int,
        seed: int,
        clock: Clock,
        show: Show,
        launcher: Sequence[str] | None = None,
        wire_lies: Lies = LIES,
    ) -> None:
        self._folder = folder
        self._kills = kills
        self._powercuts = powercuts
        self._chance = SeededChance(seed)
        self._clock = clock
        self._show = show
        self._lies = wire_lies
        self._launcher = tuple(launcher) if launcher is not None else this_procession()
        self._tally = Tally()

    async def run(self) -> Result:
        with History(self._folder / "history.jsonl", self._clock) as history:
            provider = FakeProvider(history=history, chance=self._chance.of("provider"), lies=self._lies)
            async with provider:
                return await self._strike(history, provider)

    async def _strike(self, history: History, provider: FakeProvider) -> Result:
        scene = Scene(
            self._folder, provider_port=provider.port, port=free_port(), clock=self._clock, launcher=self._launcher
        )
        scene.apply()
        load = LoadGenerator(
            host="127.0.0.1",
            port=scene.port,
            path=f"/hooks/{ENDPOINT}",
            deliver=deliver,
            lanes=lanes(),
            history=history,
            clock=self._clock,
            chance=self._chance.of("load"),
            shape=LoadShape(connections=24, per_second=EVENTS_A_SECOND),
        )
        async with scene.served, asyncio.TaskGroup() as group:
            await scene.served.start()
            await scene.served.wait_until_healthy(HEALTHY_WITHIN)
            loading = group.create_task(self._load(load))
            await self._all_kills(scene, history)
            await self._all_powercuts(scene, history)
            await self._enough(load)
            load.stop()
            await loading
            await self._quiet(scene)
            await scene.served.terminate(HEALTHY_WITHIN)
        verdict = check(history.entries, reading.final_state(scene.data))
        return Result(
            verdict=verdict,
            torn=tuple(reading.wholeness(scene.data)),
            tally=self._tally,
            sent_again_under_its_key=_repeats(history),
        )

    async def _load(self, load: LoadGenerator) -> None:
        """For as long as the campaign takes; `stop` ends it."""
        await load.run(10_000_000)

    # --- kills ---

    async def _all_kills(self, scene: Scene, history: History) -> None:
        plan = self._plan()
        for number, point in enumerate(plan, 1):
            self._show("kills", number, len(plan))
            if self._chance.happens(STOP_SHARE):
                await self._stop_and_go(scene, history)
            if point is None:
                await self._kill_at_random(scene, history)
            else:
                await self._kill_at(scene, history, point)
            await self._return(scene, history)

    def _plan(self) -> list[str | None]:
        """Which kills strike at which named point; None: at a random moment."""
        each = -(-int(self._kills * EACH_POINT * 10) // 10) if self._kills >= len(POINTS) else 0
        points: list[str | None] = [point for point in POINTS for _ in range(each)]
        return self._chance.shuffled([*points, *[None] * max(0, self._kills - len(points))])[: self._kills]

    async def _kill_at_random(self, scene: Scene, history: History) -> None:
        await _wait(self._chance.uniform(0.3, 1.5))
        history.append(Fault(fault="kill", target="serve"))
        await scene.served.kill()
        self._count_kill(scene)

    async def _kill_at(self, scene: Scene, history: History, point: str) -> None:
        """Arming takes a start of its own: drain, then start with the point armed, and wait for the death."""
        await scene.served.terminate(HEALTHY_WITHIN)
        passing = 1 + self._chance.below(120)
        history.append(Fault(fault="kill", target=point))
        await scene.served.start({"PROCESSION_CRASHPOINT": f"{point}:{passing}"})
        try:
            async with asyncio.timeout(POINT_WITHIN.total_seconds()):
                await scene.served.wait()
        except TimeoutError:
            await scene.served.kill()
        self._count_kill(scene)

    def _count_kill(self, scene: Scene) -> None:
        self._tally.kills += 1
        died_at = scene.served.died_at
        if died_at is not None:
            self._tally.kills_between[POINTS[died_at]] += 1
        left = reading.at_death(scene.data)
        self._tally.kills_with_turns_in_flight += left.turns_in_flight > 0
        self._tally.kills_with_effects_armed += bool(left.armed)

    async def _return(self, scene: Scene, history: History) -> None:
        """Back to service; now and then killed once more on the way."""
        if self._chance.happens(RECOVERY_SHARE):
            history.append(Fault(fault="kill", target="recovery"))
            await scene.served.start()
            await _wait(self._chance.uniform(0.0, 0.5))
            await scene.served.kill()
            self._tally.kills_in_recovery += 1
        await scene.served.start()
        took = await scene.served.wait_until_healthy(HEALTHY_WITHIN)
        self._tally.recoveries.append(took.total_seconds())

    async def _stop_and_go(self, scene: Scene, history: History) -> None:
        if self._chance.happens(0.5):
            history.append(Fault(fault="pause", target="serve"))
            scene.served.pause()
            await _wait(self._chance.uniform(0.5, 4.0))
            scene.served.resume()
            history.append(Fault(fault="pause", target="serve", begins=False))
            self._tally.stops += 1
        else:
            history.append(Fault(fault="drain", target="serve"))
            await scene.served.terminate(HEALTHY_WITHIN)
            await scene.served.start()
            await scene.served.wait_until_healthy(HEALTHY_WITHIN)
            self._tally.drains += 1

    # --- power cuts ---

    async def _all_powercuts(self, scene: Scene, history: History) -> None:
        if not self._powercuts:
            return
        shadow = self._folder / "shadow"
        await scene.served.terminate(HEALTHY_WITHIN)
        for number in range(1, self._powercuts + 1):
            self._show("power cuts", number, self._powercuts)
            await scene.served.start(environment(scene.data, shadow))
            await scene.served.wait_until_healthy(HEALTHY_WITHIN)
            await _wait(self._chance.uniform(0.5, 1.5))
            history.append(Fault(fault="power cut", target="serve"))
            await scene.served.kill()
            # In every second one, some pages that nobody had synced have reached the disk all the same.
            cut = restart_on(shadow, scene.data, self._leak(number) if number % 2 else None)
            self._tally.powercuts += 1
            self._tally.powercuts_that_lost_bytes += cut.lost_bytes
        await scene.served.start()
        await scene.served.wait_until_healthy(HEALTHY_WITHIN)

    def _leak(self, number: int) -> Callable[[str, int], bool]:
        drawn = self._chance.of(f"leak-{number}")
        return lambda _name, _page: drawn.happens(0.5)

    # --- the end ---

    async def _enough(self, load: LoadGenerator) -> None:
        wanted = EVENTS_A_KILL * self._kills
        while load.accepted < wanted:
            self._show("events", load.accepted, wanted)
            await _wait(0.2)

    async def _quiet(self, scene: Scene) -> None:
        """Until nothing is left to do; what is left when time is up is for the checker to find."""
        until = self._clock.monotonic() + QUIET_WITHIN.total_seconds()
        while (left := reading.left_to_do(scene.data)) and self._clock.monotonic() < until:
            self._show("left to do", left, left)
            if not scene.served.is_running:
                raise NotHealthy(f"it ended with {scene.served.exit_status} while it should come to rest")
            await _wait(0.2)


async def _wait(seconds: float) -> None:
    await asyncio.sleep(seconds)


def _repeats(history: History) -> int:
    return sum(1 for entry in history.entries if isinstance(entry.happening, Wired) and entry.happening.is_repeat)
