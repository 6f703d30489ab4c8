"""The store of a world, where it stands outside of the engine's processes: a server that outlives them all.

What it has really done is told to the auditor in the order in which it was done: the ground truth that no node knows.
"""

from collections.abc import Callable, Coroutine, Mapping
from datetime import datetime
from typing import Any, Protocol

from procession.core.errors import StoreAway
from procession.ports.clock import Clock
from procession.ports.console import Console
from procession.ports.directory import Directory, Snapshot
from procession.storage.memory import MemoryStore
from procession.storage.memory.rows import Tables
from procession.testing.simulation.final_state import FinalState, state_of_tables

Done = Callable[[object, Exception | None], None]


class Ground(Protocol):
    """Who is told."""

    def kept(self, name: str, args: Mapping[str, Any], answer: object, at: datetime) -> None:
        """The operation was done, at this instant of the store's clock, and answered this."""
        ...

    def reopened(self) -> None:
        """Another process has taken the store over, and knows that every holder of a lease is dead."""
        ...


class Server(Protocol):
    """A store that several nodes call."""

    is_away: bool

    def submit(self, name: str, args: Mapping[str, Any], done: Done) -> None:
        """Have an operation of the store done; `done` is told when it is, by the world."""
        ...

    @property
    def console(self) -> Console:
        """For reading; what changes something goes through `ask`."""
        ...

    @property
    def directory(self) -> Directory: ...

    def now(self) -> datetime: ...

    async def snapshot(self) -> Snapshot: ...

    async def ask(self, verb: str, args: Mapping[str, Any]) -> object: ...

    async def final(self) -> FinalState: ...

    def restart(self) -> None: ...

    def close(self) -> None: ...


class MemoryServer:
    """The reference store; each operation happens at one moment."""

    def __init__(self, clock: Clock, ground: Ground) -> None:
        self.is_away = False
        self._clock = clock
        self._ground = ground
        self._tables = Tables()
        self._store = MemoryStore(clock=clock, tables=self._tables)

    def now(self) -> datetime:
        return self._store.now()

    @property
    def directory(self) -> Directory:
        return self._store.directory

    @property
    def console(self) -> Console:
        return self._store.console

    def submit(self, name: str, args: Mapping[str, Any], done: Done) -> None:
        if self.is_away:
            done(None, StoreAway("an outage"))
            return
        at = self._store.now()
        try:
            answer = _driven(getattr(self._store, name)(**args))
        except Exception as error:  # noqa: BLE001 - whatever a store raises is its answer
            done(None, error)
            return
        self._ground.kept(name, args, answer, at)
        done(answer, None)

    async def snapshot(self) -> Snapshot:
        return await self._store.directory.snapshot()

    async def ask(self, verb: str, args: Mapping[str, Any]) -> object:
        """A verb of the console; operators are told apart from engines by name."""
        at = self._store.now()
        answer: object = await getattr(self._store.console, verb)(**args)
        self._ground.kept(verb, args, answer, at)
        return answer

    async def final(self) -> FinalState:
        return state_of_tables(self._tables)

    def restart(self) -> None:
        """The same rows in a new process."""
        self._store = MemoryStore(clock=self._clock, tables=self._tables)

    def close(self) -> None:
        """Nothing is kept open."""


def _driven(call: Coroutine[Any, Any, object]) -> object:
    """The answer of a coroutine that never waits."""
    try:
        call.send(None)
    except StopIteration as end:
        answer: object = end.value
        return answer
    raise AssertionError("an operation of the reference store has waited")
