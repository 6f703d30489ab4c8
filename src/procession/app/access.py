"""Opens a desk: at the running engine if there is one on the data folder, else here, over the store itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from procession.app.config import Config
from procession.app.control import ControlLine, engine_runs
from procession.app.desk import Desk


@asynccontextmanager
async def open_desk(config: Config) -> AsyncIterator[Desk]:
    if engine_runs(config.data_folder):
        yield Desk(line=ControlLine(config.data_folder))
        return
    # Loaded only now: a command that speaks to an engine needs no store.
    from procession.app.wiring import desk_of, open_world

    world = await open_world(config, create=False)
    try:
        yield desk_of(world)
    finally:
        await world.open.store.close()
