"""The writer: what came in during one transaction shares the next, in a thread that waits for the database."""

import asyncio
import threading
from collections.abc import Callable
from typing import TypeVar

from procession.storage.ledger.book import Book
from procession.storage.postgres.batches import Ledger
from procession.storage.waiting import Put, Waiting, answer_all

T = TypeVar("T")


class ThreadWriter:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting = Waiting(ledger)
        self._wake = threading.Event()
        self._waking = False
        self._thread = threading.Thread(target=self._write, name="procession-postgres-writer", daemon=True)
        self._thread.start()

    def put(self, do: Callable[[Book], T]) -> "asyncio.Future[T]":
        """Have it run in the next batch; raises at once if that cannot be. To be called on the event loop."""
        future = self._waiting.add(do)
        if not self._waking:
            self._waking = True
            future.get_loop().call_soon(self._wake_up)
        return future

    def _wake_up(self) -> None:
        """Once in a pass of the loop, when all that this pass puts is here."""
        self._waking = False
        self._wake.set()

    async def close(self) -> None:
        """Run what was put, then stop. Idempotent."""
        self._waiting.closing = True
        self._wake.set()
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def _write(self) -> None:
        while True:
            # First cleared, then looked: what is put in between sets it again, and the wait below ends at once.
            self._wake.clear()
            taken = self._waiting.take()
            if taken:
                self._ledger.run([put.work for put in taken])
                _send_back(taken)
            elif self._waiting.closing:
                self._ledger.close()
                return
            else:
                self._wake.wait()


def _send_back(puts: list[Put]) -> None:
    try:
        puts[0].future.get_loop().call_soon_threadsafe(answer_all, puts)
    except RuntimeError:
        # The loop is closed: the process is ending, and nobody is left who waits.
        return
