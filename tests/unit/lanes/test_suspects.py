"""A turn that kills its process is found and given up; those that were only beside it are not."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from procession import App, Turn
from procession.core.event import EventState
from procession.core.lane import Side
from procession.core.limits import DEATHS_ALONE_MAX, SUSPECTS_TOGETHER_MAX
from procession.testing.simulation.clock import sleep
from tests.unit.lanes.rig import TENANT, ProcessDied, Rig, simulate


class Crowd:
    """Notes how many ran beside each try of each lane when it began."""

    def __init__(self) -> None:
        self.running: set[str] = set()
        self.beside: dict[str, list[int]] = {}

    @contextmanager
    def runs(self, turn: Turn) -> Iterator[None]:
        self.beside.setdefault(turn.lane_key, []).append(len(self.running))
        self.running.add(turn.lane_key)
        try:
            yield
        finally:
            self.running.discard(turn.lane_key)


def application(crowd: Crowd, *, when_used_up: str = "set_aside") -> App:
    app = App()

    @app.on("text")
    async def innocent(turn: Turn) -> None:
        with crowd.runs(turn):
            await sleep(0.2)

    @app.on("poison", when_used_up="park" if when_used_up == "park" else "set_aside")
    async def poison(turn: Turn) -> None:
        with crowd.runs(turn):
            await sleep(0.1)
            raise ProcessDied

    return app


@pytest.mark.parametrize("seed", range(5))
def test_the_guilty_turn_is_set_aside_and_no_innocent_one(seed: int) -> None:
    crowd = Crowd()

    async def world(rig: Rig) -> None:
        innocent = [await rig.accept(lane=f"innocent-{number}") for number in range(20)]
        guilty = await rig.accept("poison", lane="guilty")
        more = [await rig.accept(lane=f"more-{number}") for number in range(20)]
        await rig.live(until=rig.ended(guilty, *innocent, *more))

        assert rig.row(guilty).state is EventState.SET_ASIDE
        assert rig.row(guilty).reason.startswith("it killed its process: 5 tries ended with it, 3 of them while")
        assert all(rig.row(event).state is EventState.DONE for event in (*innocent, *more))
        assert rig.deaths == 2 + DEATHS_ALONE_MAX

    simulate(application(crowd), world, seed=seed, slots=32)

    assert crowd.beside["guilty"][-DEATHS_ALONE_MAX:] == [0] * DEATHS_ALONE_MAX
    assert max(len(tries) for tries in crowd.beside.values()) == len(crowd.beside["guilty"])


def test_where_the_handler_says_so_the_lane_of_a_killer_is_parked() -> None:
    async def world(rig: Rig) -> None:
        await rig.accept("poison")
        await rig.live(until=lambda: rig.log.counts.get("turn.parked") == 1)

    simulate(application(Crowd(), when_used_up="park"), world)


def test_nothing_else_is_begun_while_a_turn_runs_alone() -> None:
    crowd = Crowd()
    app = application(crowd)
    rigs: list[Rig] = []
    begun_before: set[str] = set()

    @app.on("slow")
    async def slow(turn: Turn) -> None:
        with crowd.runs(turn):
            if turn.tries < 3:
                raise ProcessDied
            begun_before.update(crowd.beside)
            for number in range(10):
                await rigs[0].accept(lane=f"meanwhile-{number}")
            await sleep(5)
            assert set(crowd.beside) == begun_before

    async def world(rig: Rig) -> None:
        rigs.append(rig)
        event = await rig.accept("slow", lane="slow")
        await rig.live(until=rig.ended(event))
        await rig.live(until=lambda: "meanwhile-9" in crowd.beside)

        assert rig.row(event).state is EventState.DONE

    simulate(app, world, slots=8)

    assert crowd.beside["slow"] == [0, 0, 0]


def test_a_turn_that_has_to_run_alone_waits_until_nothing_else_is_in_flight() -> None:
    crowd = Crowd()
    app = application(crowd)
    rigs: list[Rig] = []

    @app.on("long")
    async def long(turn: Turn) -> None:
        with crowd.runs(turn):
            if len(crowd.running) == 3:
                await rigs[0].accept(lane="suspect")
                lane = rigs[0].store.tables.lanes[TENANT, rigs[0].lane("suspect"), Side.TURNS]
                lane.tries = lane.deaths = 2
            await sleep(5)

    async def world(rig: Rig) -> None:
        rigs.append(rig)
        others = [await rig.accept("long", lane=f"long-{number}") for number in range(3)]
        await rig.live(until=lambda: "suspect" in crowd.beside)
        await rig.live(until=rig.ended(*others))

    simulate(app, world, slots=8)

    assert crowd.beside["suspect"] == [0]


def test_suspects_of_one_death_run_a_few_at_a_time_beside_the_others() -> None:
    app = App()
    suspects: set[str] = set()
    most = 0
    others = 0
    together = False

    @app.on("text")
    async def answer(turn: Turn) -> None:
        nonlocal most, others, together
        if turn._open.held.deaths:
            suspects.add(turn.lane_key)
            most = max(most, len(suspects))
        else:
            others += 1
        together = together or (bool(suspects) and others > 0)
        await sleep(1)
        suspects.discard(turn.lane_key)
        others -= turn._open.held.deaths == 0

    async def world(rig: Rig) -> None:
        first = [await rig.accept(lane=f"first-{number}") for number in range(30)]
        await _die_with_all_in_flight(rig)
        second = [await rig.accept(lane=f"second-{number}") for number in range(60)]
        await rig.live(until=rig.ended(*first, *second))

    simulate(app, world, slots=32)

    assert most == SUSPECTS_TOGETHER_MAX
    assert together


def test_with_a_single_slot_suspects_and_others_take_turns() -> None:
    app = App()
    order: list[str] = []

    @app.on("text")
    async def answer(turn: Turn) -> None:
        order.append("suspect" if turn._open.held.deaths else "other")
        await sleep(0.1)

    async def world(rig: Rig) -> None:
        rig.slots = 16
        first = [await rig.accept(lane=f"first-{number}") for number in range(16)]
        await _die_with_all_in_flight(rig)
        order.clear()
        rig.slots = 1
        second = [await rig.accept(lane=f"second-{number}") for number in range(16)]
        await rig.live(until=rig.ended(*first, *second))

    simulate(app, world)

    halves = order[:16], order[16:]
    assert all(6 <= half.count("other") <= 10 for half in halves)


async def _die_with_all_in_flight(rig: Rig) -> None:
    """One life that claims all there is and ends without a word; its leases run out."""

    class Enough(Exception):
        pass

    try:
        async with asyncio.TaskGroup() as group:
            await rig.service().start(group)
            await sleep(0.05)
            raise Enough
    except* Enough:
        pass
    await sleep(11)
    await rig.sweep()
