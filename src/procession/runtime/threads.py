"""A bounded pool of threads for plain functions.

Not the standard library's executor: that one joins its threads when the interpreter ends, so one hung handler would
keep a process from stopping. These are daemons; a call that never returns ends with the process.
"""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Generic, TypeVar

from procession.core.limits import THREADS_MAX

T = TypeVar("T")


class ThreadPool:
    """`ports.threads.Threads` over real threads, which are made when they are first needed."""

    def __init__(self, threads_max: int = THREADS_MAX) -> None:
        self._free = asyncio.Semaphore(threads_max)
        self._calls: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._idle = 0
        self._made = 0

    async def run(self, call: Callable[[], T]) -> T:
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        running = _Call(call, loop, self._returned)
        self._hand_over(running)
        return await running.answer

    def _hand_over(self, running: Callable[[], None]) -> None:
        if self._idle:
            self._idle -= 1
        else:
            self._made += 1
            threading.Thread(target=self._thread, name=f"handler-{self._made}", daemon=True).start()
        self._calls.put(running)

    def _thread(self) -> None:
        while True:
            self._calls.get()()

    def _returned(self) -> None:
        self._idle += 1
        self._free.release()


class _Call(Generic[T]):
    """One call on its way through a thread and back."""

    def __init__(self, call: Callable[[], T], loop: asyncio.AbstractEventLoop, returned: Callable[[], None]) -> None:
        self.answer: asyncio.Future[T] = loop.create_future()
        self._call = call
        self._loop = loop
        self._returned = returned
        self._context = contextvars.copy_context()

    def __call__(self) -> None:
        try:
            value = self._context.run(self._call)
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to the caller, not to the thread
            self._tell(self._raise, error)
        else:
            self._tell(self._answer, value)

    def _tell(self, how: "Callable[[S], None]", what: "S") -> None:
        # A closed loop hears nothing: the process is stopping, and the call came too late.
        try:
            self._loop.call_soon_threadsafe(how, what)
        except RuntimeError:
            return

    def _answer(self, value: T) -> None:
        self._returned()
        if not self.answer.done():
            self.answer.set_result(value)

    def _raise(self, error: BaseException) -> None:
        self._returned()
        if self.answer.done():
            return
        if isinstance(error, StopIteration):
            # A future refuses it, since it would end the generator that awaits.
            error = RuntimeError(f"a plain function raised StopIteration: {error}")
        self.answer.set_exception(error)


S = TypeVar("S")
