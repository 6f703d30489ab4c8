"""The load generator posts until 2xx, keeps each lane's order, copies some, and tells the truth about outcomes."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from hashlib import sha256
from hmac import compare_digest, new
from pathlib import Path

import pytest

from procession.app.system import SystemClock
from procession.testing.chaos import (
    Answered,
    History,
    LoadGenerator,
    LoadReport,
    LoadShape,
    Outcome,
    Posted,
    free_port,
    signed_deliveries,
)
from procession.testing.simulation.chance import SeededChance

SECRET = b"a secret of the harness"
QUICK = LoadShape(
    connections=8,
    pause_first=timedelta(milliseconds=1),
    pause_longest=timedelta(milliseconds=5),
    patience=timedelta(seconds=5),
)
LANES = tuple("abcdefghijklmnop")

Decide = Callable[[int], int | None]
"""What to answer to the n-th request: a status, or None to cut the connection."""


class Door:
    """A tiny server that checks the signature and answers as it is told."""

    def __init__(self, decide: Decide) -> None:
        self.bodies: list[bytes] = []
        self.events: list[str] = []
        self.port = 0
        self._decide = decide
        self._open: dict[asyncio.StreamWriter, asyncio.Task[object] | None] = {}

    async def close(self) -> None:
        for writer in self._open:
            writer.close()
        await asyncio.gather(*filter(None, self._open.values()))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open[writer] = asyncio.current_task()
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
                body = await reader.readexactly(int(fields["content-length"]))
                assert compare_digest(fields["x-signature"], new(SECRET, body, sha256).hexdigest())
                self.bodies.append(body)
                status = self._decide(len(self.bodies))
                if status is None:
                    break
                if status == 200:
                    self.events.append(json.loads(body)["id"])
                writer.write(f"HTTP/1.1 {status} So\r\nContent-Length: 0\r\n\r\n".encode())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def door(decide: Decide, port: int = 0) -> AsyncIterator[Door]:
    opened = Door(decide)
    async with await asyncio.start_server(opened.serve, "127.0.0.1", port) as server:
        opened.port = server.sockets[0].getsockname()[1]
        try:
            yield opened
        finally:
            await opened.close()


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "history.jsonl", SystemClock())


def load_on(port: int, history: History, shape: LoadShape = QUICK) -> LoadGenerator:
    return LoadGenerator(
        host="127.0.0.1",
        port=port,
        path="/hooks/chaos",
        deliver=signed_deliveries(SECRET, padding=100),
        lanes=LANES,
        history=history,
        clock=SystemClock(),
        chance=SeededChance(7),
        shape=shape,
    )


async def run_on(decide: Decide, history: History, events: int = 200) -> tuple[Door, LoadReport]:
    with history:
        async with door(decide) as opened:
            return opened, await load_on(opened.port, history).run(events)


async def test_every_event_is_posted_until_it_is_taken(history: History) -> None:
    answers = (200, 503, None, 200, 404)

    opened, report = await run_on(lambda number: answers[number % len(answers)], history)

    assert report.accepted == 200
    assert report.retries > 50
    assert len(set(opened.events)) == 200


async def test_a_lane_goes_on_only_after_its_2xx(history: History) -> None:
    answers = (200, 503, None)

    await run_on(lambda number: answers[number % len(answers)], history)

    taken: Counter[str] = Counter()
    lane_of = {}
    for entry in history.entries:
        match entry.happening:
            case Posted(attempt=1, lane=lane, n=n, event=event):
                lane_of[event] = lane
                assert n == taken[lane] + 1
            case Answered(outcome=Outcome.OK, event=event):
                taken[lane_of[event]] = max(taken[lane_of[event]], int(event.rpartition("-")[2]))
            case _:
                pass


async def test_some_deliveries_are_posted_twice_with_the_same_bytes(history: History) -> None:
    opened, report = await run_on(lambda _number: 200, history, events=400)

    assert report.copies > 10
    assert len(opened.events) == 400 + report.copies
    assert len(set(opened.bodies)) == 400
    assert sum(isinstance(e.happening, Posted) and e.happening.is_copy for e in history.entries) == report.copies


async def test_outcomes_tell_what_is_certain(history: History) -> None:
    answers = {1: 200, 2: 503, 3: 429, 4: 404, 5: None}

    await run_on(lambda number: answers.get(number, 200), history, events=20)

    seen = {(e.happening.status, e.happening.outcome) for e in history.entries if isinstance(e.happening, Answered)}
    assert seen == {
        (200, Outcome.OK),
        (503, Outcome.INFO),
        (429, Outcome.INFO),
        (404, Outcome.FAIL),
        (None, Outcome.INFO),
    }


async def test_a_server_that_is_away_gets_its_events_when_it_comes(history: History) -> None:
    port = free_port()
    load = load_on(port, history)
    refused = asyncio.Event()

    async def open_later() -> None:
        await refused.wait()
        async with door(lambda _number: 200, port):
            while load.accepted < 50:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)

    async def watch() -> None:
        while not any(isinstance(e.happening, Answered) for e in history.entries):
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)
        refused.set()

    with history:
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(open_later())
            group.create_task(watch())
            group.create_task(load.run(50))

    first = next(e.happening for e in history.entries if isinstance(e.happening, Answered))
    assert (first.outcome, first.status) == (Outcome.FAIL, None)
    assert load.accepted == 50


async def test_what_is_never_taken_is_given_up(history: History) -> None:
    shape = LoadShape(connections=2, tries_max=3, pause_first=timedelta(milliseconds=1), copied_beside=0)
    with history:
        async with door(lambda _number: 503) as opened:
            report = await load_on(opened.port, history, shape).run(4)

    assert (report.accepted, report.given_up, len(opened.bodies)) == (0, 4, 12)


async def test_a_stopped_load_ends_although_nothing_is_taken(history: History) -> None:
    with history:
        async with door(lambda _number: 503) as opened, asyncio.timeout(30), asyncio.TaskGroup() as group:
            load = load_on(opened.port, history)
            running = group.create_task(load.run(1000))
            while len(opened.bodies) < 20:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)
            load.stop()

    assert running.result().accepted == 0
    assert len({json.loads(body)["id"] for body in opened.bodies}) <= QUICK.connections, "no new events after the stop"


async def test_a_second_run_goes_on_where_the_first_was(history: History) -> None:
    with history:
        async with door(lambda _number: 200) as opened:
            load = load_on(opened.port, history)
            await load.run(30)
            report = await load.run(30)

    assert report.accepted == 60
    assert len(set(opened.events)) == 60
