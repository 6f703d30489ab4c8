"""`procession`, broken on purpose: it answers a delivery before the store has it. Run by a test, never by a user."""

import asyncio

from procession.cli import main
from procession.core.event import Acceptance, Intake
from procession.ingress.doors import DoorOf
from procession.ingress.receive import Receiver

LATE_S = 0.2
kept_later: set[asyncio.Task[object]] = set()


async def accept_later(self: Receiver, door: DoorOf, intake: Intake) -> Acceptance:
    del door

    async def later() -> None:
        await asyncio.sleep(LATE_S)
        await self._store.accept(intake)

    task = asyncio.ensure_future(later())
    kept_later.add(task)
    task.add_done_callback(kept_later.discard)
    return Acceptance(placements=())


if __name__ == "__main__":
    Receiver._accept = accept_later  # type: ignore[method-assign]  # the plant
    main()
