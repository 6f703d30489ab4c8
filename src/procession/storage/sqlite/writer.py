"""The writer: all writes of a store, in the order in which they came, many to a commit.

It takes whatever came in while the previous commit was under way (no lingering: at low load a commit holds one write,
at high load many), at most BATCH_MAX. Answers go back to the event loop once a batch, not once a write.

Two drivers run the same ledger: a thread, for real life, since a commit waits for the disk; and a scheduler, for a
simulation in virtual time, where the same batches are made in the same order from the same seed.
"""

import asyncio
import threading
from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from procession.ports.clock import Clock
from procession.storage.ledger.book import Book
from procession.storage.sqlite.batches import Ledger
from procession.storage.waiting import Put, Waiting, answer_all

T = TypeVar("T")

CHECKPOINT_EVERY: Final = 0.5
"""Seconds between checkpoints under load: the pages that many commits touch are then written once."""
CHECKPOINT_ROWS: Final = 2_000
"""Changed rows after which it does not wait so long. Everybody waits for a checkpoint: so short ones, of some ten
milliseconds, though pages that many commits touch are then written more often. It bounds the log, too."""
_IDLE: Final = 0.25
"""Seconds without work after which what is in the log is moved into the file."""


class CallLater(Protocol):
    """A simulation's scheduler: run it so many seconds later, in the order in which it was asked for."""

    def __call__(self, delay: float, run: Callable[[], None], /) -> object: ...


OnBroken = Callable[[BaseException], None]


class Writer(Protocol):
    """What runs the ledger."""

    def put(self, do: Callable[[Book], T]) -> "asyncio.Future[T]":
        """Have it run in the next batch; raises at once if that cannot be. To be called on the event loop."""
        ...

    async def close(self) -> None:
        """Run what was put, then stop. Idempotent."""
        ...

    def abandon(self) -> None:
        """Stop as a crash does: what was not committed is lost, and nobody is answered."""
        ...


class _Checkpoints:
    """When to move the log into the file."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        self._ledger = ledger
        self._clock = clock
        self._last = clock.monotonic()

    @property
    def wanted(self) -> bool:
        return self._ledger.rows_since_checkpoint > 0

    def after_batch(self) -> None:
        rows = self._ledger.rows_since_checkpoint
        if rows and (rows >= CHECKPOINT_ROWS or self._clock.monotonic() - self._last >= CHECKPOINT_EVERY):
            self.now()

    def now(self) -> None:
        self._ledger.checkpoint()
        self._last = self._clock.monotonic()


class ThreadWriter:
    """In a thread of its own."""

    def __init__(self, ledger: Ledger, clock: Clock, on_broken: OnBroken) -> None:
        self._ledger = ledger
        self._waiting = Waiting(ledger)
        self._checkpoints = _Checkpoints(ledger, clock)
        self._on_broken = on_broken
        self._wake = threading.Event()
        self._waking = False
        self._abandoned = False
        self._told = False
        # A daemon: a process that ends without closing its store must not hang on it.
        self._thread = threading.Thread(target=self._write, name="procession-sqlite-writer", daemon=True)
        self._thread.start()

    def put(self, do: Callable[[Book], T]) -> "asyncio.Future[T]":
        future = self._waiting.add(do)
        if not self._waking:
            self._waking = True
            future.get_loop().call_soon(self._wake_up)
        return future

    def _wake_up(self) -> None:
        """Once in a pass of the loop, when all that this pass puts is here: woken by the first, the thread would take
        that one alone, and the two would fight for the interpreter over the others.
        """
        self._waking = False
        self._wake.set()

    async def close(self) -> None:
        self._waiting.closing = True
        self._wake.set()
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def abandon(self) -> None:
        self._abandoned = self._waiting.closing = True
        self._wake.set()
        self._thread.join()

    # --- in the thread ---

    def _write(self) -> None:
        while not self._abandoned:
            # First cleared, then looked: what is put in between sets it again, and the wait below ends at once.
            self._wake.clear()
            taken = self._waiting.take()
            if taken:
                self._ledger.run([put.work for put in taken])
                self._send_back(taken)
                self._checkpoints.after_batch()
                self._tell_if_broken()
            elif self._waiting.closing:
                return
            elif self._checkpoints.wanted:
                if not self._wake.wait(_IDLE):
                    self._checkpoints.now()
                    self._tell_if_broken()
            else:
                self._wake.wait()

    def _send_back(self, puts: list[Put]) -> None:
        if self._abandoned:
            return
        try:
            puts[0].future.get_loop().call_soon_threadsafe(answer_all, puts)
        except RuntimeError:
            # The loop is closed: the process is ending, and nobody is left who waits.
            return

    def _tell_if_broken(self) -> None:
        if self._ledger.broken is not None and not self._told:
            self._told = True
            self._on_broken(self._ledger.broken)


class InlineWriter:
    """On a simulation's scheduler: a batch begins a moment after the first write was put, and its answers come
    another later.
    """

    def __init__(
        self,
        ledger: Ledger,
        clock: Clock,
        on_broken: OnBroken,
        call_later: CallLater,
        commit_time: Callable[[], float],
    ) -> None:
        self._ledger = ledger
        self._waiting = Waiting(ledger)
        self._checkpoints = _Checkpoints(ledger, clock)
        self._on_broken = on_broken
        self._call_later = call_later
        self._commit_time = commit_time
        self._under_way = False
        self._abandoned = False
        self._told = False
        self._idle: list[asyncio.Future[None]] = []

    def put(self, do: Callable[[Book], T]) -> "asyncio.Future[T]":
        future = self._waiting.add(do)
        if not self._under_way:
            self._under_way = True
            self._call_later(0.0, self._run)
        return future

    async def close(self) -> None:
        self._waiting.closing = True
        while self._under_way and not self._abandoned:
            idle: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._idle.append(idle)
            await idle

    def abandon(self) -> None:
        self._abandoned = self._waiting.closing = True

    def _run(self) -> None:
        """The batch happens here, at once; that it took time is seen only by those who wait for it, or crash
        meanwhile.
        """
        if self._abandoned:
            return
        taken = self._waiting.take()
        if taken:
            self._ledger.run([put.work for put in taken])
            self._checkpoints.after_batch()
        self._call_later(self._commit_time(), lambda: self._finish(taken))

    def _finish(self, taken: list[Put]) -> None:
        if self._abandoned:
            return
        answer_all(taken)
        if self._ledger.broken is not None and not self._told:
            self._told = True
            self._on_broken(self._ledger.broken)
        if self._waiting.puts:
            self._call_later(0.0, self._run)
            return
        self._under_way = False
        for idle in self._idle:
            if not idle.done():
                idle.set_result(None)
        self._idle.clear()
