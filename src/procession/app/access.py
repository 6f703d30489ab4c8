"""Opens a desk: at the running engine if there is one on the data folder, else here, over the store itself."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import Enum, auto

from procession.app.config import Config
from procession.app.control import ControlLine, engine_runs
from procession.app.desk import Desk
from procession.app.settings import SQLITE_FILE
from procession.core.errors import Misconfigured


class Absent(Enum):
    """What becomes of a command when there is neither an engine nor a store."""

    REFUSE = auto()
    """A list of nothing would only hide that the folder is the wrong one."""
    MAKE = auto()
    IMAGINE = auto()
    """As if there were an empty one; nothing is made."""


def is_absent(config: Config) -> bool:
    """There is neither. What is kept in memory is there only as long as its engine."""
    folder = config.sqlite_folder
    # Whether a database has a store in it is seen when it is opened.
    exists = config.database is not None or (folder is not None and (folder / SQLITE_FILE).exists())
    return not exists and not engine_runs(config.folder)


@asynccontextmanager
async def open_desk(config: Config, absent: Absent = Absent.REFUSE) -> AsyncIterator[Desk]:
    if engine_runs(config.folder):
        yield Desk(line=ControlLine(config.folder))
        return
    # Loaded only now: a command that speaks to an engine needs no store.
    from procession.app.wiring import desk_of, open_world

    if is_absent(config):
        if absent is Absent.REFUSE or (absent is Absent.MAKE and config.sqlite_folder is None):
            raise Misconfigured(
                f"no engine runs on {config.folder}, and there is no store ({config.shown_store}): run this in "
                "the folder of your procession.toml, or name the store by --store"
            )
        if absent is Absent.IMAGINE:
            config = config.in_memory()
    try:
        world = await open_world(config)
    except Misconfigured:
        if not engine_runs(config.folder):
            raise
        # It was just starting.
        yield Desk(line=ControlLine(config.folder))
        return
    try:
        yield desk_of(world)
    finally:
        await world.open.store.close()
