"""Writes that wait for the writer, and how whoever waits for one is answered."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from procession.core.errors import StoreAway, StoreBroken
from procession.core.limits import BATCH_MAX, WRITES_WAITING_MAX
from procession.storage.ledger.book import Book

T = TypeVar("T")


class Work(Generic[T]):
    """One operation on its way through a batch, and what became of it."""

    __slots__ = ("answer", "do", "error")

    def __init__(self, do: Callable[[Book], T]) -> None:
        self.do = do
        self.answer: T | None = None
        self.error: BaseException | None = None


AnyWork = Work[Any]


class Breakable(Protocol):
    @property
    def broken(self) -> BaseException | None:
        """Why nothing can be written any more."""
        ...


class Put:
    """A work with the future of whoever waits for it."""

    __slots__ = ("future", "work")

    def __init__(self, work: AnyWork, future: "asyncio.Future[Any]") -> None:
        self.work = work
        self.future = future

    def answer(self) -> None:
        """On the event loop. Whoever was cancelled meanwhile hears nothing, though its write stands."""
        if self.future.done():
            return
        if self.work.error is not None:
            self.future.set_exception(self.work.error)
        else:
            self.future.set_result(self.work.answer)


def answer_all(puts: list[Put]) -> None:
    for put in puts:
        put.answer()


class Waiting:
    """What has been put and not been taken."""

    def __init__(self, store: Breakable) -> None:
        self.puts: deque[Put] = deque()
        self.closing = False
        self._store = store

    def add(self, do: Callable[[Book], T]) -> "asyncio.Future[T]":
        if self._store.broken is not None:
            raise StoreBroken("the store failed before: end this process") from self._store.broken
        if self.closing:
            raise StoreAway("the store is closing")
        if len(self.puts) >= WRITES_WAITING_MAX:
            raise StoreAway(f"more than {WRITES_WAITING_MAX} writes are waiting already")
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self.puts.append(Put(Work(do), future))
        return future

    def take(self) -> list[Put]:
        """The next batch; whoever gave up before it began is left out."""
        taken: list[Put] = []
        while self.puts and len(taken) < BATCH_MAX:
            put = self.puts.popleft()
            if not put.future.cancelled():
                taken.append(put)
        return taken
