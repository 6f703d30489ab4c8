"""The plan of deaths: every site in its turn, also while the last death is mended."""

import asyncio
import gc
import json
import pickle
from collections import Counter
from datetime import timedelta
from pathlib import Path

from procession.testing.simulation.crashes import Crash, CrashCoverage, CrashPlan, Odds
from procession.testing.simulation.loop import SimulatedLoop, run
from procession.testing.simulation.sites import AwaitSites
from tests.unit.testing.simulation import sample

SITES = AwaitSites.of(Path(sample.__file__))
ODDS = Odds(site=0.1, site_in_recovery=0.2, recovery=timedelta(seconds=1), crashes_max=4)


def crashes_of(seed: int, odds: Odds = ODDS) -> list[Crash]:
    return played(seed, odds).crashes


def played(seed: int, odds: Odds = ODDS) -> CrashPlan:
    """The program again and again, until it has come to its end once."""

    async def world(loop: SimulatedLoop) -> CrashPlan:
        plan = CrashPlan(loop.chance.of("crashes"), SITES, odds)
        while True:
            node = loop.node("worker", plan)
            ending = asyncio.create_task(node.death())
            await asyncio.wait([ending, node.spawn(sample.program())], return_when=asyncio.FIRST_COMPLETED)
            if not node.dead:
                ending.cancel()
                return plan

    return run(seed, world)


def test_over_many_seeds_a_node_dies_at_every_await() -> None:
    coverage = CrashCoverage()
    for seed in range(200):
        coverage.add(played(seed))

    report = coverage.report(SITES)

    assert report["missed"] == []
    assert report["crashed_at"] == report["total"] == len(SITES.all)


def test_a_busy_await_is_hit_about_as_often_as_a_rare_one() -> None:
    hit: Counter[int] = Counter()
    for seed in range(400):
        hit.update(crash.sites[-1].line for crash in crashes_of(seed, Odds(site=0.05, site_in_recovery=0.05)))

    # The awaits of `child` are passed nine times in a run, most others once or twice.
    assert max(hit.values()) < 6 * min(hit.values()), hit


def test_an_await_kills_at_its_first_passing_and_at_later_ones() -> None:
    odds = Odds(site=0.2, site_in_recovery=0.0, crashes_max=1)
    crashes = [crash for seed in range(300) for crash in crashes_of(seed, odds)]

    times = Counter(round(crash.at, 1) for crash in crashes if crash.sites[-1].function == "child")

    # The awaits of `child` are passed at one time after another: first at 0.3 s, and in the group much later.
    assert len(times) > 3, times


def test_a_node_dies_again_while_it_recovers() -> None:
    crashes = [crash for seed in range(100) for crash in crashes_of(seed)]

    in_recovery = [crash for crash in crashes if crash.in_recovery]

    assert in_recovery
    assert all(crash.life > 1 for crash in in_recovery)
    assert all(crash.life == 1 for crash in crashes if crash.life == 1 and not crash.in_recovery)


def test_the_same_seed_kills_at_the_same_awaits() -> None:
    assert [crashes_of(seed) for seed in range(10)] == [crashes_of(seed) for seed in range(10)]


def test_the_deaths_of_a_seed_are_bounded() -> None:
    certain = Odds(site=1.0, site_in_recovery=1.0, crashes_max=3)

    assert [len(crashes_of(seed, certain)) for seed in range(5)] == [3] * 5


def test_in_the_time_of_healing_nobody_dies() -> None:
    async def world(loop: SimulatedLoop) -> list[Crash]:
        plan = CrashPlan(loop.chance.of("crashes"), SITES, Odds(site=1.0))
        plan.is_over = True
        await loop.node("worker", plan).spawn(sample.program())
        return plan.crashes

    assert run(1, world) == []


def test_a_death_is_told_when_it_comes() -> None:
    async def world(loop: SimulatedLoop) -> tuple[list[Crash], list[Crash]]:
        told: list[Crash] = []
        plan = CrashPlan(loop.chance.of("crashes"), SITES, Odds(site=1.0), told.append)
        node = loop.node("worker", plan)
        node.start(sample.program())
        await node.death()
        return told, plan.crashes

    told, crashes = run(1, world)

    assert told == crashes
    assert told[0].node == "worker"


def test_coverage_of_several_processes_adds_up() -> None:
    whole, halves = CrashCoverage(), [CrashCoverage(), CrashCoverage()]
    for seed in range(40):
        whole.add(played(seed))
        halves[seed % 2].add(played(seed))

    merged = CrashCoverage()
    for half in halves:
        merged.merge(pickle.loads(pickle.dumps(half)))

    assert merged == whole


def test_many_seeds_leave_nothing_behind() -> None:
    def left_after(seeds: range) -> int:
        for seed in seeds:
            crashes_of(seed)
        return len(gc.get_objects())

    left_after(range(20))
    before = left_after(range(20, 30))

    # Some tables of Python's own may grow; a simulation that stays would leave hundreds for each seed.
    assert left_after(range(30, 130)) - before < 100


def test_what_was_missed_is_named() -> None:
    report = CrashCoverage().report(SITES)

    assert report["crashed_at"] == 0
    assert json.loads(json.dumps(report))["missed"] == [site.shown for site in SITES.all]


def test_what_was_passed_but_never_killed_is_told_from_what_nobody_came_to() -> None:
    coverage = CrashCoverage()
    assert coverage.report(SITES)["never_stood_at"] == coverage.report(SITES)["missed"]

    coverage.add(played(1, Odds(site=0.0)))

    assert coverage.report(SITES)["crashed_at"] == 0
    assert coverage.report(SITES)["never_stood_at"] == []
