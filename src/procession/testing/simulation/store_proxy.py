"""A store as one node calls it over a network: with latency, and with everything that can go wrong on the way.

A call that was sent is on its way, whatever becomes of the caller: it is made although the node died, or gave up.
"""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from typing import TypeVar, cast

from procession.core.effect import EffectDraft
from procession.core.errors import (
    BadRequest,
    OutcomeUnknown,
    SqlFailed,
    StoreAway,
    StoreBroken,
    StoreError,
    StoreFull,
)
from procession.core.event import Acceptance, Intake
from procession.core.ids import EffectId, EventId
from procession.core.lane import Lease
from procession.core.pace import Pace
from procession.core.turn import Began, HeldEffect, HeldTurn, NotBegun, Recorded, Settled, Settlement, Step
from procession.core.verdict import Fate, Verdict
from procession.ports.directory import Change, Snapshot
from procession.ports.store import Ask, Pruned, Swept
from procession.testing.simulation.faults import CallFault, Mishap, StoreFaults
from procession.testing.simulation.gate import NodeIsDead
from procession.testing.simulation.nodes import Node
from procession.testing.simulation.rare import Rare
from procession.testing.simulation.scribe import Scribe
from procession.testing.simulation.servers import Server

T = TypeVar("T")

_EXPECTED = (StoreError, BadRequest, SqlFailed)
_UNHEARD = {Mishap.UNKNOWN_KEPT, Mishap.UNKNOWN_LOST, Mishap.UNKNOWN_YET}


class StoreProxy:
    """Implements `ports.store.Store`, for one life of one node."""

    def __init__(self, node: Node, server: Server, faults: StoreFaults, scribe: Scribe) -> None:
        self._node = node
        self._server = server
        self._faults = faults
        self._scribe = scribe

    async def accept(self, intake: Intake) -> Acceptance:
        return cast("Acceptance", await self._call("accept", intake=intake))

    async def claim_turns(self, ask: Ask) -> tuple[HeldTurn, ...]:
        return cast("tuple[HeldTurn, ...]", await self._call("claim_turns", ask=ask))

    async def claim_sends(self, ask: Ask) -> tuple[HeldEffect, ...]:
        return cast("tuple[HeldEffect, ...]", await self._call("claim_sends", ask=ask))

    async def renew(self, leases: Sequence[Lease], ttl: timedelta) -> tuple[Lease, ...]:
        return cast("tuple[Lease, ...]", await self._call("renew", leases=leases, ttl=ttl))

    async def remember(
        self, lease: Lease, turn: EventId, steps: Sequence[Step] = (), flush: Sequence[EffectDraft] = ()
    ) -> Fate:
        return cast("Fate", await self._call("remember", lease=lease, turn=turn, steps=steps, flush=flush))

    async def settle(self, settlement: Settlement) -> Settled:
        return cast("Settled", await self._call("settle", settlement=settlement))

    async def release(self, leases: Sequence[Lease], *, uncount: bool = True) -> None:
        await self._call("release", leases=leases, uncount=uncount)

    async def begin(self, lease: Lease, effect: EffectId, attempt: int, pace: Pace | None = None) -> Began | NotBegun:
        return cast(
            "Began | NotBegun", await self._call("begin", lease=lease, effect=effect, attempt=attempt, pace=pace)
        )

    async def record(
        self, lease: Lease, effect: EffectId, attempt: int, verdict: Verdict, ttl: timedelta | None
    ) -> Recorded:
        return cast(
            "Recorded",
            await self._call("record", lease=lease, effect=effect, attempt=attempt, verdict=verdict, ttl=ttl),
        )

    async def sweep(self, rows_max: int) -> Swept:
        return cast("Swept", await self._call("sweep", rows_max=rows_max))

    async def prune(self, keep: timedelta, rows_max: int) -> Pruned:
        return cast("Pruned", await self._call("prune", keep=keep, rows_max=rows_max))

    async def close(self) -> None:
        """The server is not ours to close."""

    # --- on the way ---

    async def _call(self, name: str, **args: object) -> object:
        node = self._node
        if node.dead:
            raise NodeIsDead(repr(node))
        loop = node.loop
        fault = self._faults.draw(name)
        answer: asyncio.Future[object] = loop.create_future()
        loop.home.run(loop.call_later, fault.before, self._arrive, name, args, fault, answer)
        return await answer

    def _arrive(self, name: str, args: dict[str, object], fault: CallFault, answer: "asyncio.Future[object]") -> None:
        """The call has got there; the rest happens in the world."""
        mishap = fault.mishap
        if mishap in (Mishap.AWAY, Mishap.FULL, Mishap.UNKNOWN_LOST):
            self._fail_before(name, fault, answer)
            return
        if mishap is Mishap.UNKNOWN_YET:
            self._answer(fault.after, answer, None, OutcomeUnknown("the connection broke"))
            yet = self._faults.uniform(0.05, 6)
            self._node.loop.call_later(yet, self._server.submit, name, args, self._unheard)
            return
        if mishap is Mishap.PARTED:
            self._part(name, args)
            return
        if mishap is Mishap.BROKEN and self._faults.happens(0.5):
            self._answer(fault.after, answer, None, StoreBroken("a sync failed"))
            return
        self._server.submit(name, args, lambda found, error: self._done(name, fault, answer, found, error))

    def _part(self, name: str, args: dict[str, object]) -> None:
        """A network that holds a call back for longer than any lease: what a fence is for."""
        node = self._node
        if not node.dead:
            self._scribe.note(repr(node), "dies", (), f"{name} is still on its way")
            node.crash()
        node.loop.call_later(self._faults.uniform(0.5, 12), self._server.submit, name, args, self._unheard)

    def _unheard(self, _found: object, error: Exception | None) -> None:
        """Nobody waits for it any more."""
        self._check(error)

    def _check(self, error: Exception | None) -> None:
        if error is not None and not isinstance(error, _EXPECTED):
            self._scribe.history.fail("G3", f"the store has raised {type(error).__name__}: {error}")

    def _fail_before(self, name: str, fault: CallFault, answer: "asyncio.Future[object]") -> None:
        if fault.mishap is Mishap.FULL:
            self._scribe.seen(Rare.COMMIT_DISK_FULL)
            self._answer(fault.after, answer, None, StoreFull("the disk is full"))
        elif fault.mishap is Mishap.AWAY:
            self._answer(fault.after, answer, None, StoreAway("nobody is there"))
        else:
            self._scribe.seen(Rare.UNKNOWN_COMMIT_LOST)
            self._scribe.note(repr(self._node), f"{name} lost", ())
            self._answer(fault.after, answer, None, OutcomeUnknown("the connection broke"))

    def _done(
        self, name: str, fault: CallFault, answer: "asyncio.Future[object]", found: object, error: Exception | None
    ) -> None:
        """The call was made."""
        self._check(error)
        if fault.mishap is Mishap.CRASH:
            self._scribe.note(repr(self._node), "dies", (), f"{name} was done, and not yet answered")
            self._node.crash()
        elif fault.mishap is Mishap.PAUSE and not self._node.dead:
            self._scribe.note(repr(self._node), "stands still", (), f"{name} was done, and not yet answered")
            self._node.pause(timedelta(seconds=self._faults.uniform(1, 12)))
        if error is None and fault.mishap is Mishap.UNKNOWN_KEPT:
            self._scribe.seen(Rare.UNKNOWN_COMMIT_KEPT)
            error = OutcomeUnknown("the answer was lost")
        elif fault.mishap is Mishap.BROKEN:
            error = StoreBroken("a sync failed")
        self._answer(fault.after, answer, found, error)

    def _answer(self, after: float, answer: "asyncio.Future[object]", found: object, error: Exception | None) -> None:
        self._node.loop.call_later(after, _tell, answer, found, error)


def _tell(answer: "asyncio.Future[T]", found: T, error: Exception | None) -> None:
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(found)


class DirectoryProxy:
    """Implements `ports.directory.Directory`, for one life of one node."""

    def __init__(self, node: Node, server: Server, faults: StoreFaults) -> None:
        self._node = node
        self._server = server
        self._faults = faults

    async def snapshot(self) -> Snapshot:
        node = self._node
        if node.dead:
            raise NodeIsDead(repr(node))
        fault = self._faults.draw("snapshot")
        answer: asyncio.Future[Snapshot] = node.loop.create_future()
        lost = fault.mishap in (Mishap.AWAY, Mishap.FULL, *_UNHEARD) or self._server.is_away
        snapshot = await self._server.snapshot()
        error = StoreAway("nobody is there") if lost else None
        node.loop.home.run(node.loop.call_later, fault.before, _tell, answer, snapshot, error)
        return await answer

    async def change(self, wanted: Snapshot, *, actor: str, dry_run: bool = False) -> tuple[Change, ...]:
        raise NotImplementedError(f"{actor} changes nothing here: {wanted.version}, {dry_run}")
