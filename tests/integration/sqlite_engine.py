"""A program for the tests of SQLite under faults: it accepts and plays events until it is killed or its store breaks.

On its output, a line for each thing that it was told: `accepted ID`, `done ID`, `full ID`, `unknown ID`, `broken`.
"""

import asyncio
import sys
from datetime import timedelta
from pathlib import Path

from procession.app.system import SystemChance, SystemClock
from procession.core.errors import OutcomeUnknown, StoreAway, StoreBroken
from procession.core.ids import WorkerId
from procession.core.turn import Advance, Settlement
from procession.core.verdict import Fate
from procession.ports.store import Ask
from procession.storage.sqlite.store import SqliteStore
from tests.conformance.builders import an_event, an_intake

CLIENTS = 8
LANES = 20


def say(*words: object) -> None:
    """In one piece: the writer's thread speaks too."""
    sys.stdout.write(f"{' '.join(map(str, words))}\n")
    sys.stdout.flush()


async def accepting(store: SqliteStore, client: int, begin: int) -> None:
    for count in range(begin, sys.maxsize):
        number = count * CLIENTS + client
        event = an_event(number, lane=f"lane{number % LANES}")
        try:
            await store.accept(an_intake(event))
            say("accepted", event.id)
        except StoreBroken:
            return
        except OutcomeUnknown:
            say("unknown", event.id)
            return
        except StoreAway:
            # It is not tried again, so that whoever reads this can see that it did not happen.
            say("full", event.id)


async def playing(store: SqliteStore) -> None:
    ask = Ask(worker=WorkerId("worker"), lanes_max=5, ttl=timedelta(minutes=1))
    while True:
        try:
            await store.sweep(100)
            for turn in (*await store.claim_turns(ask), *await store.claim_turns(suspects(ask))):
                settled = await store.settle(Settlement(lease=turn.lease, turn=turn.id, outcome=Advance()))
                if settled.fate is Fate.KEPT:
                    say("done", turn.id)
        except (OutcomeUnknown, StoreBroken):
            return
        except StoreAway:
            continue


def suspects(ask: Ask) -> Ask:
    return Ask(worker=ask.worker, lanes_max=ask.lanes_max, ttl=ask.ttl, suspects=True)


async def main(folder: Path, begin: int) -> None:
    store = SqliteStore.open(
        folder, clock=SystemClock(), chance=SystemChance(), on_broken=lambda error: say("broken", error)
    )
    say("ready")
    await asyncio.gather(*(accepting(store, client, begin) for client in range(CLIENTS)), playing(store))
    # Only a broken store gets here: the process ends as it is, and whoever starts it again reads what the file holds.
    store.abandon()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2])))
