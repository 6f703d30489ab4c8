"""Listening in on a turn: what its handler raised, what it remembered, and what was settled in the end."""

import functools
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace

from procession.core.effect import EffectDraft
from procession.core.errors import SqlFailed
from procession.core.ids import EventId
from procession.core.lane import Lease
from procession.core.turn import Advance, Settled, Settlement, SqlWork, Step
from procession.core.verdict import Fate
from procession.lanes.app import App
from procession.lanes.handler import Handler
from procession.ports.clock import Clock
from procession.ports.directory import CollectRule
from procession.storage.memory import MemoryStore
from procession.testing.simulation.overrides import override


class ProcessDied(BaseException):
    """The simulated end of a process. No `except Exception` of a handler sees it, as none would see the real one."""


class TriedApp(App):
    """An application whose handlers are listened to."""

    def __init__(self, app: App) -> None:
        super().__init__(strict=app.strict)
        self._app = app
        self.error: Exception | None = None

    @property
    @override
    def collects(self) -> tuple[CollectRule, ...]:
        return self._app.collects

    @override
    def handler_for(self, kind: str) -> Handler | None:
        handler = self._app.handler_for(kind)
        if handler is None:
            return None
        wrap = self._plain if handler.plain else self._async
        return replace(handler, call=wrap(handler.call))

    def _plain(self, call: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(call)
        def tried(turn: object) -> object:
            try:
                return call(turn)
            except Exception as error:
                self.error = error
                raise

        return tried

    def _async(self, call: Callable[..., object]) -> Callable[..., object]:
        @functools.wraps(call)
        async def tried(turn: object) -> object:
            try:
                return await call(turn)  # type: ignore[misc]  # an async handler's call gives a coroutine
            except Exception as error:
                self.error = error
                raise

        return tried


class OverheardStore(MemoryStore):
    """The reference store, with an ear, a way to die, and a database for the handler's own SQL."""

    def __init__(self, *, clock: Clock, sql: sqlite3.Connection) -> None:
        super().__init__(clock=clock)
        self._sql = sql
        self.dies_after: str | None = None
        self.begin_listening()

    def begin_listening(self) -> None:
        self.settlement: Settlement | None = None
        self.remembered: list[str] = []
        self.flushed: list[EffectDraft] = []

    @override
    async def remember(
        self, lease: Lease, turn: EventId, steps: Sequence[Step] = (), flush: Sequence[EffectDraft] = ()
    ) -> Fate:
        fate = await super().remember(lease, turn, steps, flush)
        self.remembered += [step.name for step in steps]
        self.flushed += flush
        if self.dies_after is not None and self.dies_after in self.remembered:
            step, self.dies_after = self.dies_after, None
            raise ProcessDied(f"right after step {step!r} was remembered")
        return fate

    @override
    async def settle(self, settlement: Settlement) -> Settled:
        works = settlement.sql if isinstance(settlement.outcome, Advance) else ()
        with_sql = bool(works)
        if with_sql:
            self._run_sql(works)
        settled = await super().settle(replace(settlement, sql=()))
        if with_sql:
            self._sql.execute("RELEASE turn" if settled.fate is Fate.KEPT else "ROLLBACK TO turn")
        self.settlement = settlement
        return settled

    def _run_sql(self, works: Sequence[SqlWork]) -> None:
        self._sql.execute("SAVEPOINT turn")
        try:
            for work in works:
                work(self._sql)
        except Exception as error:
            self._sql.execute("ROLLBACK TO turn")
            self._sql.execute("RELEASE turn")
            raise SqlFailed(f"{type(error).__name__}: {error}") from error
