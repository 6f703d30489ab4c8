"""What the SQLite ledger alone does in a second, without HTTP, threads or handlers: `python -m
procession.testing.bench.ledger`.

Accept and play a workload of conversations in batches, and, beside it in the same run, a floor: the same payloads
inserted into one table with one unique key and the same commits. Only the ratios of one run can be compared with those
of another.
"""

import json
import os
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from random import Random
from typing import Final, TypeVar

from procession.core.event import Intake, NewEvent
from procession.core.ids import ChannelName, EndpointName, TenantId, WorkerId, event_id, lane_id
from procession.core.turn import Advance, HeldTurn, Settlement
from procession.ports.store import Ask
from procession.storage.clock import StoreClock
from procession.storage.ledger.accept import accept
from procession.storage.ledger.book import Book
from procession.storage.ledger.claim import claim_turns
from procession.storage.ledger.settle import settle
from procession.storage.sqlite.batches import Ledger
from procession.storage.sqlite.opening import open_writer
from procession.storage.sqlite.sqlwork import SqlRunner
from procession.storage.waiting import Work

T = TypeVar("T")

EVENTS: Final = 40_000
CONVERSATIONS: Final = 5_000
TENANTS: Final = 50
BATCH: Final = 128
SLOTS: Final = 64
CHECKPOINT_EVERY: Final = 0.5
PAYLOAD_BYTES: Final = 1_000
MAIN: Final = ChannelName("main")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    floor_rows_per_second: int
    accepted_per_second: int
    accepted_per_cpu_second: int
    turns_per_second: int
    turns_per_cpu_second: int
    accepted_to_floor: float


class _Clock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


class _Chance:
    def uniform(self, low: float, high: float) -> float:
        return (low + high) / 2

    def token(self, size: int) -> bytes:
        return os.urandom(size)


def main(events: int = EVENTS) -> Figures:
    folder = Path(tempfile.mkdtemp(prefix="procession-bench-"))
    try:
        workload = list(_workload(events))
        floor = _floor(folder / "floor.db", workload)
        accepted, accepted_cpu, turns, turns_cpu = _ledger(folder, workload)
    finally:
        shutil.rmtree(folder)
    return Figures(
        floor_rows_per_second=round(events / floor),
        accepted_per_second=round(events / accepted),
        accepted_per_cpu_second=round(events / accepted_cpu),
        turns_per_second=round(events / turns),
        turns_per_cpu_second=round(events / turns_cpu),
        accepted_to_floor=round(floor / accepted, 2),
    )


def _workload(events: int) -> Iterator[Intake]:
    drawn = Random(1)  # noqa: S311 - the same workload each time
    payload = drawn.randbytes(PAYLOAD_BYTES)
    for number in range(events):
        conversation = drawn.randrange(CONVERSATIONS)
        tenant, key = TenantId(f"tenant-{conversation % TENANTS}"), f"conversation-{conversation}"
        event = NewEvent(
            tenant=tenant,
            channel=MAIN,
            lane=lane_id(tenant, MAIN, key),
            lane_key=key,
            id=event_id(tenant, MAIN, str(number)),
            provider_id=str(number),
            kind="note",
            payload=payload,
        )
        yield Intake(endpoint=EndpointName("hooks"), events=(event,))


def _floor(file: Path, workload: Sequence[Intake]) -> float:
    connection = sqlite3.connect(file, isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA wal_autocheckpoint = 0"):
        connection.execute(statement).fetchall()
    connection.execute("CREATE TABLE rows (no INTEGER PRIMARY KEY, id TEXT UNIQUE, payload BLOB)")
    began = time.perf_counter()
    for begin in range(0, len(workload), BATCH):
        connection.execute("BEGIN IMMEDIATE")
        for intake in workload[begin : begin + BATCH]:
            event = intake.events[0]
            connection.execute("INSERT INTO rows (id, payload) VALUES (?, ?)", (event.id, event.payload))
        connection.execute("COMMIT")
    took = time.perf_counter() - began
    connection.close()
    return took


def _ledger(folder: Path, workload: Sequence[Intake]) -> tuple[float, float, float, float]:
    clock = _Clock()
    connection = open_writer(folder, clock, _Chance())
    ledger = Ledger(connection, StoreClock(clock))
    sql = SqlRunner(connection, clock)
    accepted = _timed(lambda: _accept_all(ledger, workload))
    turns = _timed(lambda: _play_all(ledger, sql))
    ledger.close()
    return *accepted, *turns


def _timed(run: Callable[[], None]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def _accept_all(ledger: Ledger, workload: Sequence[Intake]) -> None:
    newest = time.perf_counter()
    for begin in range(0, len(workload), BATCH):
        _run(ledger, [partial(accept, intake=intake) for intake in workload[begin : begin + BATCH]])
        if time.perf_counter() - newest > CHECKPOINT_EVERY:
            ledger.checkpoint()
            newest = time.perf_counter()


def _play_all(ledger: Ledger, sql: SqlRunner) -> None:
    ask = Ask(worker=WorkerId("bench"), lanes_max=SLOTS, ttl=timedelta(minutes=1))
    while True:
        (turns,) = _run(ledger, [partial(claim_turns, ask=ask)])
        if not turns:
            return
        _run(ledger, [partial(settle, settlement=_settlement(turn), run_sql=sql.run) for turn in turns])


def _settlement(turn: HeldTurn) -> Settlement:
    return Settlement(lease=turn.lease, turn=turn.id, outcome=Advance())


def _run(ledger: Ledger, dos: Sequence[Callable[[Book], T]]) -> list[T]:
    works: list[Work[T]] = [Work(do) for do in dos]
    ledger.run(works)
    answers: list[T] = []
    for work in works:
        if work.error is not None:
            raise work.error
        assert work.answer is not None
        answers.append(work.answer)
    return answers


if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(asdict(main()))}\n")
