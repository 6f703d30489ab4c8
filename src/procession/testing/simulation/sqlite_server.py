"""SQLite in a world: the shipped store with its own writer, on virtual time, its commits failing as the seed wants."""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine, Generator, Mapping
from datetime import datetime
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from procession.core.errors import SqlFailed, StoreAway
from procession.ports.console import Console
from procession.ports.directory import Directory, Snapshot
from procession.storage.console import StoredConsole
from procession.storage.directory import StoredDirectory
from procession.storage.ledger.book import Book
from procession.storage.sqlite.batches import CommitFault, Faults
from procession.storage.sqlite.opening import DATABASE
from procession.storage.sqlite.store import SqliteStore
from procession.storage.sqlite.writer import Writer
from procession.testing.simulation.chance import SeededChance
from procession.testing.simulation.clock import NodeClock
from procession.testing.simulation.final_state import FinalState
from procession.testing.simulation.loop import SimulatedLoop
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.rare import Rare
from procession.testing.simulation.servers import Done, Ground
from procession.testing.simulation.sqlite_state import read_state

T = TypeVar("T")

_SHARES: Final = (
    (0.004, CommitFault.AWAY),
    (0.004, CommitFault.FULL),
    (0.0012, CommitFault.UNKNOWN_KEPT),
    (0.0012, CommitFault.UNKNOWN_LOST),
)
_BREAKS: Final = frozenset({CommitFault.UNKNOWN_KEPT, CommitFault.UNKNOWN_LOST})
_DEATHS: Final = {"begin": 0.02, "record": 0.008, "settle": 0.004, "remember": 0.008, "accept": 0.002}
"""How likely a node dies right after such a commit, before anybody has heard of it."""


class Commits(Faults):
    """Decides each commit's fate, and tells the ground truth what was kept."""

    def __init__(
        self, chance: SeededChance, trouble: float, ground: Ground, seen: Callable[[StrEnum], None], node: Node | None
    ) -> None:
        self.is_healed = False
        self.label: tuple[str, Mapping[str, Any]] | None = None
        """What the next write is, if its function does not say so: an operator's verb."""
        self._chance = chance
        self._trouble = trouble
        self._ground = ground
        self._seen = seen
        self._node = node
        self._done: list[tuple[tuple[str, Mapping[str, Any]], object, datetime]] = []

    def record(self, do: Callable[[Book], T], label: tuple[str, Mapping[str, Any]], book: Book) -> T:
        try:
            answer = do(book)
        except SqlFailed:
            raise
        except Exception:
            # The whole attempt is rolled back, and the others run anew.
            self._done.clear()
            raise
        self._done.append((label, answer, book.moment))
        return answer

    def before_batch(self, works: int) -> None:
        del works
        self._done.clear()

    def at_commit(self, works: int) -> CommitFault:
        del works
        fault = self._fault()
        done, self._done = self._done, []
        if fault is CommitFault.FULL:
            self._seen(Rare.COMMIT_DISK_FULL)
        elif fault is CommitFault.UNKNOWN_LOST:
            self._seen(Rare.UNKNOWN_COMMIT_LOST)
        elif fault is CommitFault.UNKNOWN_KEPT:
            self._seen(Rare.UNKNOWN_COMMIT_KEPT)
        if fault in (CommitFault.NONE, CommitFault.UNKNOWN_KEPT):
            for (name, args), answer, at in done:
                self._ground.kept(name, args, answer, at)
            self._perhaps_die({name for (name, _), _, _ in done})
        return fault

    def _fault(self) -> CommitFault:
        if self.is_healed:
            return CommitFault.NONE
        drawn = self._chance.random() / self._trouble
        for share, fault in _SHARES:
            drawn -= share
            if drawn < 0:
                # What ends a process has a place only where there is one.
                return fault if self._node is not None or fault not in _BREAKS else CommitFault.NONE
        return CommitFault.NONE

    def _perhaps_die(self, names: set[str]) -> None:
        if self._node is None or self.is_healed or self._node.dead:
            return
        if self._chance.happens(max((_DEATHS.get(name, 0.0) for name in names), default=0.0) * self._trouble):
            # The commit itself comes to its end: it is the kernel's by now.
            self._node.crash()


class RecordingWriter:
    """Stands before the store's writer, and notes what each write is."""

    def __init__(self, writer: Writer, commits: Commits) -> None:
        self._writer = writer
        self._commits = commits

    def put(self, do: Callable[[Book], T]) -> "asyncio.Future[T]":
        label = _label(do) or self._commits.label
        if label is None:
            return self._writer.put(do)
        return self._writer.put(partial(self._commits.record, do, label))

    async def close(self) -> None:
        await self._writer.close()

    def abandon(self) -> None:
        self._writer.abandon()


_LINE: Final = frozenset(
    (
        "accept",
        "claim_turns",
        "claim_sends",
        "renew",
        "remember",
        "settle",
        "release",
        "begin",
        "record",
        "sweep",
        "prune",
    )
)


def _label(do: Callable[..., object]) -> tuple[str, Mapping[str, Any]] | None:
    if isinstance(do, partial) and do.func.__name__ in _LINE and do.func.__module__.startswith("procession.storage"):
        return do.func.__name__, do.keywords
    return None


def opened(
    folder: Path, clock: NodeClock, chance: SeededChance, loop: SimulatedLoop, commits: Commits,
    on_broken: Callable[[BaseException], None],
) -> SqliteStore:  # fmt: skip
    """In the context of whoever it belongs to: its batches are run by their process, and die with it."""
    store = SqliteStore.open(
        folder,
        clock=clock,
        chance=chance,
        on_broken=on_broken,
        call_later=loop.call_later,
        commit_time=lambda: chance.uniform(0.0005, 0.004),
        faults=commits,
    )
    store._writer = RecordingWriter(store._writer, commits)
    return store


class SqliteServer:
    """One ledger that several nodes call. It is opened once: opening a file tells SQLite that every holder is dead,
    which is true of the one engine that it is made for, and would not be true of these.
    """

    def __init__(
        self, folder: Path, clock: NodeClock, chance: SeededChance, loop: SimulatedLoop, commits: Commits
    ) -> None:
        self.is_away = False
        self._folder = folder
        self._loop = loop
        self._commits = commits
        self._store = opened(folder, clock, chance, loop, commits, _broke)
        self._console = StoredConsole(self._store)
        self._directory = StoredDirectory(self._store)

    @property
    def directory(self) -> Directory:
        return self._directory

    @property
    def console(self) -> Console:
        return self._console

    def now(self) -> datetime:
        return self._store.now()

    def restart(self) -> None:
        """See above."""

    def submit(self, name: str, args: Mapping[str, Any], done: Done) -> None:
        if self.is_away:
            done(None, StoreAway("an outage"))
        else:
            self._loop.home.start(self._submit(name, args, done))

    async def _submit(self, name: str, args: Mapping[str, Any], done: Done) -> None:
        try:
            answer = await getattr(self._store, name)(**args)
        except Exception as error:  # noqa: BLE001 - whatever a store raises is its answer
            done(None, error)
        else:
            done(answer, None)

    async def snapshot(self) -> Snapshot:
        return await self._directory.snapshot()

    async def ask(self, verb: str, args: Mapping[str, Any]) -> object:
        return await asked(self._console, self._commits, verb, args)

    async def final(self) -> FinalState:
        return fresh_state(self._folder)

    def close(self) -> None:
        self._store.abandon()


def _broke(error: BaseException) -> None:
    raise AssertionError("nothing that is done to this ledger breaks it") from error


async def asked(console: Console, commits: Commits, verb: str, args: Mapping[str, Any]) -> object:
    """A verb of the console: its writes are put before it waits for the first time."""
    call: Coroutine[Any, Any, object] = getattr(console, verb)(**args)
    commits.label = (verb, args)
    try:
        waiting: object = call.send(None)
    except StopIteration as end:
        answer: object = end.value
        return answer
    finally:
        commits.label = None
    return await _Begun(call, waiting)


class _Begun:
    """What is left of a coroutine that was begun by hand, and stands at this future."""

    def __init__(self, call: Coroutine[Any, Any, object], waiting: object) -> None:
        self._call = call
        self._waiting = waiting

    def __await__(self) -> Generator[Any, Any, object]:
        waiting = self._waiting
        while True:
            try:
                value = yield waiting
            except BaseException as error:  # noqa: BLE001 - it belongs to the one who was begun
                go_on = partial(self._call.throw, error)
            else:
                go_on = partial(self._call.send, value)
            try:
                waiting = go_on()
            except StopIteration as end:
                answer: object = end.value
                return answer


def fresh_state(folder: Path) -> FinalState:
    """By a connection of its own."""
    connection = sqlite3.connect(folder / DATABASE, isolation_level=None)
    try:
        return read_state(connection)
    finally:
        connection.close()
