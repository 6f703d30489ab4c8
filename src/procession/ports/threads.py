"""Threads for plain functions: the only place where an engine waits for code that it cannot cancel."""

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Threads(Protocol):
    async def run(self, call: Callable[[], T]) -> T:
        """Call it in a thread, and answer what it answers or raise what it raises.

        W1. A bounded number runs at once; whoever comes later waits here, and may be cancelled while waiting.
        W2. A cancelled caller goes on at once; the call itself cannot be stopped, keeps its thread until it returns,
            and what it returns is dropped.
        W3. The call sees the context variables of its caller.
        """
        ...
