"""What a store hands to the suite: how it is opened, and what it declares.

The suite knows no store by name. Where stores differ, the difference is a declared guarantee: a case that needs one is
skipped, with the reason, for a store that does not declare it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self

import pytest

from procession.ports.console import Console
from procession.ports.directory import Directory
from procession.ports.store import Store
from procession.ports.vault import SealedRows
from tests.conformance.clock import ManualClock, SeededChance


class Guarantee(StrEnum):
    """What some stores promise beyond the contract's common part."""

    DURABLE = "durable"
    """What was done is there after the process is gone."""
    CLOSES = "closes"
    """Once closed, it says so to whoever still calls it."""
    SCALES = "scales"
    """Work does not grow with what is not claimed or not due; the reference looks at everything."""
    SQL = "sql"
    """A turn's own SQL runs inside the settling transaction."""
    NO_SQL = "no_sql"
    """A turn's own SQL is refused, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """One running process's hold of a store."""

    store: Store
    console: Console
    directory: Directory
    secrets: SealedRows


Opener = Callable[[ManualClock, SeededChance], Awaitable[Opened]]


class Harness:
    """A fresh store with a clock that the case moves. Opened as a context by `line`, so that cases need not."""

    def __init__(self, opener: Opener, *declared: Guarantee, own_table: str = "") -> None:
        self._opener = opener
        self._opened: Opened | None = None
        self._chance = SeededChance()
        self.declared = frozenset(declared)
        self.own_table = own_table
        """SQL only: a table of the store's own, that a handler must not touch."""
        self.clock = ManualClock()

    @property
    def store(self) -> Store:
        return self._running.store

    @property
    def console(self) -> Console:
        return self._running.console

    @property
    def directory(self) -> Directory:
        return self._running.directory

    @property
    def secrets(self) -> SealedRows:
        return self._running.secrets

    @property
    def _running(self) -> Opened:
        assert self._opened is not None, "the harness is not open"
        return self._opened

    def need(self, *needed: Guarantee) -> None:
        """Skip the case, unless the store declares all of these."""
        missing = sorted(set(needed) - self.declared)
        if missing:
            pytest.skip(f"this store does not declare: {', '.join(missing)}")

    async def reopen(self) -> None:
        """The same data in a new process. The old one's leases are void, or run out."""
        await self.store.close()
        self._opened = await self._opener(self.clock, self._chance)

    async def __aenter__(self) -> Self:
        self._opened = await self._opener(self.clock, self._chance)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.store.close()
