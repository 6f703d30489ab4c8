"""The simulated Graph in a process of its own; GRAPH_FILE says what it took.

    python -m procession.testing.bench.graph PORT_OF_THE_ENGINE SILENT

SILENT 1: it posts no statuses to the engine. 0: all of each send, some of them together, and some twice.
"""

import asyncio
import json
import signal
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import uvloop

from procession.testing.bench.texts import SEED, SHAPE, sent_at
from procession.testing.whatsapp.faults import Faults
from procession.testing.whatsapp.line import ENDPOINT, SECRET
from procession.testing.whatsapp.rules import Rules
from procession.testing.whatsapp.target import Target
from procession.testing.whatsapp.world import World, on_wires

GRAPH_FILE: Final = "graph.json"
ANSWER_S: Final = 0.05
"""How long Graph takes to answer what it has taken."""
# That a person has written is known to the load, not here.
_RULES: Final = Rules(window_s=None, answer_s=(ANSWER_S, ANSWER_S))


class MachineClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


async def serve(target: Target, faults: Faults) -> World:
    """Until SIGTERM."""
    over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, over.set)
    async with on_wires(
        target, clock=MachineClock(), secret=SECRET.encode(), seed=SEED, shape=SHAPE, rules=_RULES, faults=faults
    ) as (
        world,
        server,
    ):
        sys.stdout.write(json.dumps({"port": int(server.url.rpartition(":")[2])}) + "\n")
        sys.stdout.flush()
        await over.wait()
        return world


def found(world: World, began: float) -> dict[str, object]:
    """`began`: the moment at which the world's time was 0."""
    book = world.book
    lags = [began + sent.at - sent_s for sent in book.accepted if (sent_s := sent_at(sent.body)) is not None]
    often = Counter(sent.body for sent in book.accepted if sent_at(sent.body) is not None)
    return {
        "lags": lags,
        "twice": sum(often.values()) - len(often),
        "astray": len(book.trespasses),
        "refused": book.refused.total(),
        "statuses": book.statuses.total(),
        "webhooks": book.deliveries,
    }


def main() -> None:
    target = Target(host="127.0.0.1", port=int(sys.argv[1]), path=f"/hooks/{ENDPOINT}")
    world = uvloop.run(serve(target, Faults(status_lost=float(sys.argv[2]))))
    began = time.monotonic() - world.time.seconds()
    Path(GRAPH_FILE).write_text(json.dumps(found(world, began)))


if __name__ == "__main__":
    main()
