"""What a store offers to what stands beside the line: its console, its directory, its secrets."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypeVar

from procession.storage.ledger.book import Book
from procession.storage.rows import Rows

T = TypeVar("T")


class Reach(Protocol):
    async def write(self, do: Callable[[Book], T]) -> T:
        """In a transaction; if it raises, nothing of it is kept. It may run more than once."""
        ...

    async def read(self, do: Callable[[Rows], T]) -> T:
        """On one snapshot."""
        ...

    def now(self) -> datetime:
        """The store's own clock."""
        ...
