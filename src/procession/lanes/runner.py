"""The story of a turn: open it, run its handler, decide, settle; and perhaps on with the lane's next turn.

What can end a handler, besides itself: its deadline (a failure like any other), the loss of its lease (whatever it did
is dropped without a word: another plays the turn, or has), and the end of the stage (the lane is given back and the try
is not counted).
"""

import asyncio
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import Final

from procession.core.errors import BadRequest, SqlFailed, StoreBroken, TurnMisused
from procession.core.event import LANE_MERGED
from procession.core.lane import Lease
from procession.core.limits import KEEP_TURNS_MAX, TURN_DEADLINE
from procession.core.turn import Advance, Delay, HeldTurn, Outcome, Park, SetAside, Settled, Settlement
from procession.core.verdict import Fate
from procession.lanes.app import App
from procession.lanes.decide import Failure, condemned, failed, is_condemned, unhandled
from procession.lanes.flight import Flight
from procession.lanes.handler import Handler, WhenUsedUp
from procession.lanes.means import Means
from procession.lanes.open_turn import OpenTurn
from procession.ports.bell import Ring
from procession.runtime.crashpoint import crashpoint
from procession.runtime.insist import insist
from procession.runtime.keepalive import Keepalive, Kept
from procession.runtime.trust import Trust
from procession.runtime.watch import Cause, Watch, Watched


class Runner:
    """Plays turns; one runner serves all slots."""

    def __init__(
        self, app: App, means: Means, *, keepalive: Keepalive, watch: Watch, may_keep: Callable[[], bool]
    ) -> None:
        """`may_keep` is asked before each settlement: may a lane be kept for its next turn at all?"""
        self._app = app
        self._means = means
        self._keepalive = keepalive
        self._watch = watch
        self._may_keep = may_keep
        self._running: dict[Watched, None] = {}
        self.given_back: list[Lease] = []
        """Leases of turns that were stopped: whoever stopped them releases them."""

    async def run(self, flight: Flight) -> None:
        """Play the turn, and those of its lane that follow it in a row. Raises nothing."""
        following: Flight | None = flight
        while following is not None:
            current = following
            try:
                following = await self._play(current)
            except StoreBroken as broken:
                self._means.fail_stop(f"turns: {broken}")
                return
            except Exception as bug:  # noqa: BLE001 - a bug in one turn's story must not end the stage
                self._show_bug(current, bug)
                return
            finally:
                self._keepalive.drop(current)

    def stop(self) -> None:
        """Cancel every handler that runs; their leases come to `given_back`."""
        for watched in list(self._running):
            self._watch.cancel(watched, Cause.STOP)

    # --- the story ---

    async def _play(self, flight: Flight) -> Flight | None:
        self._keepalive.add(flight)
        handler = self._app.handler_for(flight.held.events[0].kind)
        opened = self._open(flight, handler)
        settlement = await self._decide(flight, handler, opened)
        if settlement is None:
            return None
        return await self._settle(flight, handler, settlement)

    def _open(self, flight: Flight, handler: Handler | None) -> OpenTurn:
        deadline = handler.deadline if handler is not None else TURN_DEADLINE
        deadline_at = self._means.clock.monotonic() + deadline.total_seconds()
        return OpenTurn(flight.held, self._means, flight.trust, deadline_at)

    async def _decide(self, flight: Flight, handler: Handler | None, opened: OpenTurn) -> Settlement | None:
        """What is to be kept of the turn; None if nothing may be, since it is not ours any more."""
        held = flight.held
        if is_condemned(held):
            policy = handler.when_used_up if handler is not None else WhenUsedUp.SET_ASIDE
            return self._bare(flight, condemned(held, policy))
        if handler is None:
            return self._bare(flight, self._unhandled(held))
        if not flight.trust.holds():
            # Its claim was answered too late. Nothing of it has begun, so it may be given back.
            self._stopped(flight, Cause.STOP)
            self._means.bell.ring(Ring.TURNS)
            return None
        failure = await self._run(flight, handler, opened)
        if isinstance(failure, Cause):
            self._stopped(flight, failure)
            return None
        if failure is not None:
            return self._bare(flight, self._failed(held, handler, failure))
        return self._succeeded(flight, handler, opened)

    async def _run(self, flight: Flight, handler: Handler, opened: OpenTurn) -> Failure | Cause | None:
        """Run the handler. None: it returned; a cause: it was ended, and it is not its fault."""
        crashpoint("start.before")
        raised: BaseException | None = None
        watched = flight.watched = self._watch.begin(flight.trust, opened.deadline_at)
        self._running[watched] = None
        try:
            await handler.play(opened)
        except asyncio.CancelledError as cancelled:
            if watched.task.cancelling() > watched.cancels:
                raise
            raised = cancelled
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the handler's own; whatever it is, the turn has failed
            raised = error
        finally:
            flight.watched = None
            del self._running[watched]
            self._watch.end(watched)
            misuse = opened.close()
        if opened.broken is not None:
            # The process has to end, and that is not the handler's failure, whatever it made of the error.
            raise opened.broken
        judged = _judge(watched.cause, raised or misuse, opened, handler)
        # A plain function cannot be cancelled: what it still asks for is told why it is refused.
        opened.lost = opened.lost or watched.cause in (Cause.TRUST, Cause.LOST)
        return judged

    def _succeeded(self, flight: Flight, handler: Handler, opened: OpenTurn) -> Settlement:
        outcome = opened.asks.outcome
        if outcome is not None:
            return self._bare(flight, outcome)
        try:
            state = opened.changed_state()
        except TurnMisused as misuse:
            return self._bare(flight, self._failed(flight.held, handler, _failure(misuse)))
        return opened.settlement(Advance(), state, self._keep_for(flight))

    async def _settle(self, flight: Flight, handler: Handler | None, wanted: Settlement) -> Flight | None:
        """Have it kept, and answer the lane's next turn if that came with it."""
        crashpoint("settle.before")
        since = self._means.clock.monotonic()
        settlement, settled = await self._kept(flight, handler, wanted)
        crashpoint("settle.after")
        if settled is None:
            self._drop("turn.settle_unknown", flight.held)
            return None
        if settled.fate is Fate.LOST:
            self._drop("turn.lost", flight.held)
            return None
        self._tell(settlement, settled)
        return self._following(flight, settled.next, since)

    async def _kept(
        self, flight: Flight, handler: Handler | None, settlement: Settlement
    ) -> tuple[Settlement, Settled | None]:
        try:
            return settlement, await self._insist(flight, settlement)
        except (SqlFailed, BadRequest) as refusal:
            if handler is None or not isinstance(settlement.outcome, Advance):
                raise
            # Nothing of it was kept, so the turn is open still, and ends as the failure that this is.
            instead = self._bare(flight, self._failed(flight.held, handler, _failure(refusal)))
            return instead, await self._insist(flight, instead)

    async def _insist(self, flight: Flight, settlement: Settlement) -> Settled | None:
        means = self._means
        flight.ending = True
        watched = self._watch.begin(flight.trust)
        try:
            return await insist(
                lambda: means.store.settle(settlement),
                trust=flight.trust,
                chance=means.chance,
                telemetry=means.telemetry,
                stage="turn",
            )
        except asyncio.CancelledError:
            if watched.task.cancelling() > watched.cancels:
                raise
            return None
        finally:
            self._watch.end(watched)

    def _following(self, flight: Flight, held: HeldTurn | None, since: float) -> Flight | None:
        if held is None:
            return None
        if held.deaths:
            # It has to be claimed as the suspect that it is.
            self.given_back.append(held.lease)
            self._means.bell.ring(Ring.TURNS)
            return None
        return Flight(held, Trust(self._means.clock, self._means.lease_ttl, since), row=flight.row + 1)

    def lost(self, kept: Kept) -> None:
        """The store has called a lease lost: whatever its handler still does is for nothing."""
        if isinstance(kept, Flight) and kept.watched is not None:
            self._watch.cancel(kept.watched, Cause.LOST)

    # --- its sentences ---

    def _bare(self, flight: Flight, outcome: Outcome) -> Settlement:
        """What is settled when nothing but the outcome is kept."""
        return Settlement(
            lease=flight.held.lease, turn=flight.held.id, outcome=outcome, keep_for=self._keep_for(flight)
        )

    def _keep_for(self, flight: Flight) -> timedelta | None:
        may = not flight.suspect and flight.row + 1 < KEEP_TURNS_MAX and self._may_keep()
        return self._means.lease_ttl if may else None

    def _unhandled(self, held: HeldTurn) -> Outcome:
        kind = held.events[0].kind
        if kind == LANE_MERGED:
            # The application does not merge states: that of the lane that goes on stays.
            return Advance()
        self._count("turn.unhandled", held)
        return unhandled(kind, strict=self._app.strict)

    def _failed(self, held: HeldTurn, handler: Handler, failure: Failure) -> Outcome:
        draw = self._means.chance.uniform(0.0, 1.0)
        outcome = failed(held, failure, draw, retry=handler.retry, policy=handler.when_used_up)
        self._means.telemetry.warn(
            "turn.failed",
            tenant=held.lease.tenant,
            lane=held.lease.lane,
            turn=held.id,
            tries=held.tries,
            handler=handler.name,
            error=failure.kind,
            where=failure.where,
        )
        return outcome

    def _stopped(self, flight: Flight, cause: Cause) -> None:
        if cause is Cause.STOP or (cause is Cause.TRUST and self._keepalive.is_cut_off):
            # Neither is the turn's fault: not that the stage stops, nor that the store was away for too long.
            self.given_back.append(flight.held.lease)
            self._count("turn.given_back", flight.held)
        else:
            # After a loss of trust the lease is left to run out, which counts as a death: a turn that makes its whole
            # process stand still would otherwise do so for ever.
            self._drop("turn.lost" if cause is Cause.LOST else "turn.trust_lost", flight.held)

    def _drop(self, what: str, held: HeldTurn) -> None:
        self._count(what, held)
        lease = held.lease
        self._means.telemetry.note(what, tenant=lease.tenant, lane=lease.lane, turn=held.id, epoch=lease.epoch)

    def _tell(self, settlement: Settlement, settled: Settled) -> None:
        """Count it, and wake whoever has something to do now."""
        bell, tenant = self._means.bell, settlement.lease.tenant
        self._means.telemetry.count(_COUNTED[type(settlement.outcome)], tenant=tenant)
        if settlement.effects or settlement.cancel_effects:
            bell.ring(Ring.SENDS)
        if settlement.reminders or settlement.pause is not None or isinstance(settlement.outcome, Delay):
            bell.ring(Ring.UPKEEP)
        # The lane may have more to do and was not kept for it, or another lane of its tenant may go now.
        if settled.next is None and (settlement.keep_for is None or self._means.has_share(tenant)):
            bell.ring(Ring.TURNS)

    def _count(self, what: str, held: HeldTurn) -> None:
        self._means.telemetry.count(what, tenant=held.lease.tenant)

    def _show_bug(self, flight: Flight, bug: Exception) -> None:
        failure = _failure(bug)
        self._count("turn.broken", flight.held)
        lease = flight.held.lease
        self._means.telemetry.warn(
            "turn.broken",
            tenant=lease.tenant,
            lane=lease.lane,
            turn=flight.held.id,
            error=failure.kind,
            where=failure.where,
        )


_COUNTED: Final = {
    Advance: "turn.done",
    Delay: "turn.delayed",
    Park: "turn.parked",
    SetAside: "turn.set_aside",
}


def _judge(
    cause: Cause | None, raised: BaseException | None, opened: OpenTurn, handler: Handler
) -> Failure | Cause | None:
    if opened.lost:
        return Cause.LOST
    if cause is Cause.DEADLINE and not opened.begun:
        # All threads are taken, perhaps by handlers that hang. This turn has done nothing, and so nothing wrong.
        return Cause.STOP
    if cause is Cause.DEADLINE:
        seconds = handler.deadline.total_seconds()
        return Failure(reason=f"it took longer than its deadline of {seconds:g} s", kind="deadline")
    if cause is not None:
        return cause
    return _failure(raised) if raised is not None else None


def _failure(error: BaseException) -> Failure:
    kind = type(error).__name__
    text = str(error)
    return Failure(reason=f"{kind}: {text}" if text else kind, kind=kind, where=_where(error))


def _where(error: BaseException) -> str:
    """The innermost line that raised: enough to find it, and nothing of what was in its variables."""
    frames = list(traceback.walk_tb(error.__traceback__))
    if not frames:
        return ""
    frame, line = frames[-1]
    return f"{frame.f_code.co_filename}:{line} {frame.f_code.co_qualname}"
