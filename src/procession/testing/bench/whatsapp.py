"""WhatsApp at a pace that leaves the machine idle: what one webhook waits for its 200, and a person for a reply.

A real `procession serve` on SQLite, Graph and load in processes of their own, and a handler that replies at once. What
is waited counts from the moment at which a webhook should have been sent; how long Graph takes to answer is no part of
it. The aim is for the paced webhooks alone. The other measure has the statuses of all replies on top, which Graph posts
by itself, as it does in life: more than twice as many webhooks.
"""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Final

from procession.testing.bench.child import cpu_s, loaded, other
from procession.testing.bench.figures import Figures, percentile
from procession.testing.bench.graph import ANSWER_S, GRAPH_FILE, MachineClock
from procession.testing.bench.load import Order
from procession.testing.bench.measures import clean
from procession.testing.bench.tally import Standstill, Tally
from procession.testing.bench.texts import NUMBERS, PEOPLE, WARM
from procession.testing.chaos.reading import DATABASE
from procession.testing.whatsapp.line import Line

ACK_P99_MS_MAX: Final = 5.0
ACK_TO_BARE_MAX: Final = 4.0
REPLY_P95_MS_MAX: Final = 100.0
_APPLICATION: Final = "procession.testing.bench.handlers:app"
_CONNECTIONS: Final = 64
_WARM_S: Final = 1.0
_LOOK_S: Final = 0.02
_HEALTHY: Final = timedelta(seconds=30)


def is_kept(found: dict[str, Figures], ratio: float) -> bool:
    line = found["whatsapp"]
    wrong = sum(line[name] for name in ("refused", "missing", "twice", "astray", "refused_by_graph"))
    return (
        not wrong
        and line["p99_ms"] <= ACK_P99_MS_MAX
        and ratio <= ACK_TO_BARE_MAX
        and line["reply_p95_ms"] <= REPLY_P95_MS_MAX
    )


def one_round(folder: Path, *, rate: float, seconds: float) -> dict[str, Figures]:
    return {
        "bare": bare(folder, rate=rate, seconds=seconds),
        "whatsapp": line(folder, rate=rate, seconds=seconds, is_silent=True),
        "with_statuses": line(folder, rate=rate, seconds=seconds, is_silent=False),
    }


def bare(folder: Path, *, rate: float, seconds: float) -> Figures:
    """The same webhooks at the same pace: verified, decoded, answered, and forgotten."""
    with clean(folder / "bare") as own, other("floor", own, "meta", "floor.db") as child:
        loaded(_order(child.port, WARM, rate=rate, seconds=_WARM_S))
        answers = loaded(_order(child.port, "text", rate=rate, seconds=seconds))
    return _acked(answers)


def line(folder: Path, *, rate: float, seconds: float, is_silent: bool) -> Figures:
    with clean(folder / "whatsapp") as own:
        own.mkdir(parents=True)
        return asyncio.run(_line(own, rate=rate, seconds=seconds, is_silent=is_silent))


async def _line(folder: Path, *, rate: float, seconds: float, is_silent: bool) -> Figures:
    declared = Line(folder, clock=MachineClock(), bot=_APPLICATION)
    with other("graph", folder, str(declared.port), str(int(is_silent))) as graph:
        async with declared.declare(NUMBERS, f"http://127.0.0.1:{graph.port}", {}) as engine:
            await engine.start()
            await engine.wait_until_healthy(_HEALTHY)
            await asyncio.to_thread(loaded, _order(declared.port, WARM, rate=rate, seconds=_WARM_S))
            before = cpu_s(engine.pid)
            answers = await asyncio.to_thread(loaded, _order(declared.port, "text", rate=rate, seconds=seconds))
            spent = cpu_s(engine.pid) - before
            await _until_all_are_sent(declared.data / DATABASE)
            await engine.terminate(_HEALTHY)
        graph.stop()
        taken = json.loads((folder / GRAPH_FILE).read_text())
    lags = taken["lags"]
    return {
        **_acked(answers),
        "reply_p50_ms": percentile(lags, 0.50) * 1000,
        "reply_p95_ms": percentile(lags, 0.95) * 1000,
        "reply_p99_ms": percentile(lags, 0.99) * 1000,
        "graph_answers_ms": ANSWER_S * 1000,
        "webhooks_per_second": (answers["good"] + taken["webhooks"]) / (seconds + _WARM_S),
        "cores": spent / seconds,
        "replies": len(lags),
        "missing": answers["good"] - len(lags),
        **{name: taken[name] for name in ("twice", "astray", "statuses")},
        "refused_by_graph": taken["refused"],
    }


def _order(port: int, kind: str, *, rate: float, seconds: float) -> Order:
    return Order(
        port=port,
        prefix=kind,
        kind=kind,
        source="whatsapp",
        seconds=seconds,
        connections=_CONNECTIONS,
        per_second=rate,
        lanes=len(PEOPLE) // 2,
        # Whoever was answered a moment ago waits until that reply is delivered: that is no part of this measure.
        first_lane=len(PEOPLE) // 2 if kind == WARM else 0,
    )


def _acked(answers: Figures) -> Figures:
    return {
        "per_second": answers["per_second"],
        "p50_ms": answers["p50_ms"],
        "p99_ms": answers["p99_ms"],
        "refused": answers["refused"] + answers["lost"],
    }


async def _until_all_are_sent(database: Path) -> None:
    """A reply for each text; raises when nothing moves any more."""
    tally, still = Tally(database), Standstill()
    while (counts := tally.now()).confirmed < counts.placed:
        still.look(counts)
        await asyncio.sleep(_LOOK_S)
    tally.close()
