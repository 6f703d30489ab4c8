"""The measures of one round. Each has processes and a folder of its own, and follows the one before."""

import json
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from procession.testing.bench.child import Load, engine, loaded, nap, other
from procession.testing.bench.figures import Figures, percentile
from procession.testing.bench.ground import NOWHERE, Ground
from procession.testing.bench.load import Order
from procession.testing.bench.tally import Counts, Standstill, Tally

WARM_S: Final = 0.5
PACED_PER_SECOND: Final = 200
_MADE_PER_SECOND: Final = 40_000
"""Requests that are made beforehand for each second of a load: more than any server here answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    folder: Path
    seconds: float
    connections: int

    def order(self, port: int, kind: str, *, per_second: float = 0.0, repeat: bool = False) -> Order:
        return Order(
            port=port,
            prefix="m",
            kind=kind,
            seconds=self.seconds,
            connections=self.connections,
            per_second=per_second,
            repeat=repeat,
            requests_max=20_000 if repeat else int(self.seconds * _MADE_PER_SECOND),
        )

    def warm(self, port: int) -> Order:
        """A little of everything that is loaded late, before the clock starts."""
        return Order(port=port, prefix="w", kind="quiet", seconds=WARM_S, connections=8, requests_max=200)


@contextmanager
def clean(folder: Path) -> Iterator[Path]:
    shutil.rmtree(folder, ignore_errors=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# --- without a store, and the floor ---


def no_store(plan: Plan) -> Figures:
    return _of_floor(plan, "bare", repeat=True)


def ingress_only(plan: Plan) -> Figures:
    return _of_floor(plan, "ingress", repeat=True)


def _of_floor(plan: Plan, mode: str, *, repeat: bool) -> Figures:
    with clean(plan.folder / mode) as folder, other("floor", folder, mode, "floor.db") as child:
        loaded(plan.warm(child.port))
        before = child.cpu_s()
        answers = loaded(plan.order(child.port, "quiet", repeat=repeat))
        return _answered(answers, child.cpu_s() - before)


def floor_accept_and_drain(plan: Plan) -> tuple[Figures, Figures]:
    with clean(plan.folder / "floor") as folder:
        with other("floor", folder, "accept", "floor.db") as child:
            loaded(plan.warm(child.port))
            before = child.cpu_s()
            answers = loaded(plan.order(child.port, "quiet"))
            accepted = _answered(answers, child.cpu_s() - before)
        with other("floor", folder, "drain", "floor.db") as child:
            told = child.line()
    done, seconds = float(str(told["done"])), float(str(told["seconds"]))
    return accepted, {"done": done, "per_second": done / seconds}


def floor_live(plan: Plan) -> Figures:
    """It is measured by what it has played when the load ends: its backlog is not waited for."""
    with clean(plan.folder / "floor-live") as folder, other("floor", folder, "live", "floor.db") as child:
        loaded(plan.warm(child.port))
        load, seen = Load(plan.order(child.port, "quiet")), _Played(folder / "floor.db")
        answers = seen.until_over(load)
        return {
            "accepted_per_second": answers["per_second"],
            "per_second": seen.rate(answers["began"], answers["ended"]),
            "p99_ms": answers["p99_ms"],
        }


class _Played:
    """How far the floor has come, at each look."""

    def __init__(self, database: Path) -> None:
        self._connection = sqlite3.connect(database, isolation_level=None)
        self._seen: list[tuple[float, int]] = []

    def until_over(self, load: Load) -> Figures:
        while not load.is_over:
            self._seen.append((time.monotonic(), self._played()))
            nap()
        self._connection.close()
        return load.answers()

    def _played(self) -> int:
        """It plays in the order of its numbers."""
        (waiting,) = self._connection.execute("SELECT min(no) FROM event WHERE state = 0").fetchone()
        (newest,) = self._connection.execute("SELECT coalesce(max(no), 0) FROM event").fetchone()
        return int(newest if waiting is None else waiting - 1)

    def rate(self, began: float, ended: float) -> float:
        inside = [(at, played) for at, played in self._seen if began <= at <= ended]
        (first_at, first), (last_at, last) = inside[0], inside[-1]
        return (last - first) / max(last_at - first_at, 1e-9)


# --- the engine ---


def accept_and_drain(plan: Plan) -> tuple[Figures, Figures]:
    """First only ingress; then, started anew on the same store, an engine that finds all of it waiting."""
    with clean(plan.folder / "accept") as folder:
        ground = Ground(folder)
        with engine(ground, plays=False) as child:
            loaded(plan.warm(child.port))
            before = child.cpu_s()
            answers = loaded(plan.order(child.port, "quiet"))
            accepted = _answered(answers, child.cpu_s() - before)
        tally = Tally(ground.database)
        backlog = tally.now().placed
        with engine(ground) as child:
            drained = _drained(tally, backlog, child.cpu_s)
        tally.close()
        return accepted, drained


def _drained(tally: Tally, backlog: int, cpu_s: Callable[[], float]) -> Figures:
    """From a tenth of it on, so that neither start-up nor first imports count."""
    still, first, spent = Standstill(), None, 0.0
    while True:
        counts = tally.now()
        still.look(counts)
        if first is None and counts.done >= backlog / 10:
            first, spent = counts, cpu_s()
        if counts.done >= backlog:
            break
        nap()
    assert first is not None
    done, seconds = counts.done - first.done, counts.at - first.at
    return {"done": counts.done, "per_second": done / seconds, "cpu_us": (cpu_s() - spent) / done * 1e6}


def live(plan: Plan) -> Figures:
    """Accepted and played at the same time; the rate counts until the last event is played."""
    return _line(plan, "quiet", lambda counts: counts.done)


def whole_line(plan: Plan) -> Figures:
    """In, played, one send to a provider that answers at once, recorded; until the last one is."""
    with other("responder", plan.folder / "provider") as provider:
        url = f"http://127.0.0.1:{provider.port}/"
        return _line(plan, "reply", lambda counts: counts.confirmed, url=url)


def _line(plan: Plan, kind: str, reached: Callable[[Counts], int], *, url: str = NOWHERE) -> Figures:
    with clean(plan.folder / "line") as folder:
        ground = Ground(folder, url=url)
        with engine(ground) as child:
            loaded(plan.warm(child.port))
            tally, before = Tally(ground.database), child.cpu_s()
            start, load = tally.now(), Load(plan.order(child.port, kind))
            at_end, end = _through(tally, load, start, reached)
            answers, spent = load.answers(), child.cpu_s() - before
            tally.close()
    through = reached(end) - reached(start)
    return {
        "accepted_per_second": answers["per_second"],
        "per_second": through / (end.at - answers["began"]),
        "behind_at_end": (at_end.placed - start.placed) - (reached(at_end) - reached(start)),
        "p50_ms": answers["p50_ms"],
        "p99_ms": answers["p99_ms"],
        "cpu_us": spent / max(through, 1) * 1e6,
        "refused": answers["refused"] + answers["lost"],
    }


def _through(tally: Tally, load: Load, start: Counts, reached: Callable[[Counts], int]) -> tuple[Counts, Counts]:
    """How things stood when the load ended, and when the last of it was through."""
    still, at_end = Standstill(), None
    while True:
        is_over = load.is_over
        counts = tally.now()
        still.look(counts)
        if is_over and at_end is None:
            at_end = counts
        if at_end is not None and reached(counts) - reached(start) >= counts.placed - start.placed:
            return at_end, counts
        nap()


def paced(plan: Plan) -> Figures:
    """At a rate that leaves the machine idle: what a single webhook waits."""
    with clean(plan.folder / "paced") as folder:
        ground = Ground(folder)
        with engine(ground) as child:
            loaded(plan.warm(child.port))
            answers = loaded(plan.order(child.port, "timed", per_second=PACED_PER_SECOND))
        lags: list[float] = json.loads(ground.lags.read_text())
    return {
        "per_second": answers["per_second"],
        "p50_ms": answers["p50_ms"],
        "p99_ms": answers["p99_ms"],
        "start_p50_ms": percentile(lags, 0.50) * 1000,
        "start_p99_ms": percentile(lags, 0.99) * 1000,
        "started": len(lags),
        "refused": answers["refused"] + answers["lost"],
    }


def _answered(answers: Figures, spent: float) -> Figures:
    return {
        "per_second": answers["per_second"],
        "p50_ms": answers["p50_ms"],
        "p99_ms": answers["p99_ms"],
        "cpu_us": spent / max(answers["good"], 1) * 1e6,
        "refused": answers["refused"] + answers["lost"],
    }
