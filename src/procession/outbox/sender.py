"""The story of one effect: arm it, perform it, write down what became of it.

    claimed → find its outlet → begin (durable) → first byte … answer → record (durable) → the conversation's next

Between `begin` and `record` stands exactly one outward action. Whatever interrupts it there (a crash, a stop, a lost
lease) leaves the effect armed, and so in doubt for whoever comes next: it is never simply tried again.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final, TypeVar

from procession.core.effect import Effect, EffectState
from procession.core.errors import SecretMissing, StoreError
from procession.core.event import Intake, Sighting
from procession.core.ids import EndpointName
from procession.core.turn import Began, HeldEffect, NotBegun, Recorded
from procession.core.verdict import Confirmed, Deferred, Fate, Halted, Refused, Uncertain, Verdict
from procession.outbox.means import Means
from procession.outbox.outlets import Outlet
from procession.ports.bell import Ring
from procession.ports.connector import Call
from procession.runtime.crashpoint import crashpoint
from procession.runtime.insist import insist
from procession.runtime.keepalive import Kept
from procession.runtime.pause import pause

R = TypeVar("R")

CALL_DEADLINE: Final = timedelta(seconds=30)
"""Of one outward call: longer than any provider answers; connectors set their own, shorter ones."""
_SECRET_WAIT: Final = timedelta(seconds=30)
"""Until an effect whose credential is missing is looked at again."""
_RENEWED_WAIT: Final = timedelta(seconds=1)
_SIGHTING_TRIES: Final = 3
_HERE: Final = EndpointName("outbox")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """An effect's way out, with the channel's secrets opened for this one call."""

    outlet: Outlet
    secrets: Mapping[str, bytes] = field(repr=False)


class Sender:
    def __init__(self, means: Means, lease_ttl: timedelta) -> None:
        self._means = means
        self._ttl = lease_ttl

    async def send(self, held: HeldEffect, kept: Kept) -> HeldEffect | None:
        """Send, or probe, one claimed effect. Answers the conversation's next, still ours, if it may go at once."""
        ready = await self._ready(held)
        if held.effect.state is EffectState.DOUBT:
            attempt = held.effect.attempts
            verdict = await self._probe(held, kept, ready)
        else:
            began = await self._begin(held, kept, ready)
            if began is None:
                return None
            attempt = began.attempt
            crashpoint("begin.armed")
            verdict = await self._perform(held, kept, ready, attempt)
        crashpoint("wire.answered")
        return await self._record(held, kept, attempt, verdict)

    async def _ready(self, held: HeldEffect) -> Ready | Verdict:
        """Everything that performing needs, before it is begun: what cannot be had leaves nothing armed behind."""
        outlet = await self._means.outlets.find(held.effect.tenant, held.effect.channel)
        if outlet is None:
            return Refused(reason=f"channel {held.effect.channel} is not there any more")
        try:
            return Ready(outlet=outlet, secrets=await self._means.outlets.secrets(outlet.channel))
        except SecretMissing as missing:
            return Deferred(after=_SECRET_WAIT, reason=str(missing), counts=False)
        except Exception as error:  # noqa: BLE001 - whatever keeps the vault shut, nothing went out: that is no doubt
            self._means.telemetry.warn("outbox.secret_shut", effect=held.effect.id, error=type(error).__name__)
            reason = f"a secret of channel {held.effect.channel} cannot be opened: {type(error).__name__}"
            return Deferred(after=_SECRET_WAIT, reason=reason, counts=False)

    # --- begin ---

    async def _begin(self, held: HeldEffect, kept: Kept, ready: Ready | Verdict) -> Began | None:
        attempt = held.effect.attempts + 1
        pace = ready.outlet.connector.pace(ready.outlet.channel) if isinstance(ready, Ready) else None
        answer = await self._insist(lambda: self._means.store.begin(held.lease, held.effect.id, attempt, pace), kept)
        match answer:
            case Began():
                return answer
            case NotBegun():
                # It may have been told its place in the channel's line, a few milliseconds ahead.
                self._means.bell.ring(Ring.UPKEEP)
                self._means.telemetry.count("outbox.not_begun")
                self._means.telemetry.note("outbox.not_begun", effect=held.effect.id, reason=answer.reason)
            case None:
                # It may be armed. Nothing was written to the wire, but only the next holder's doubt can say so safely.
                self._means.telemetry.count("outbox.begin_unanswered")
        return None

    # --- perform ---

    async def _perform(self, held: HeldEffect, kept: Kept, ready: Ready | Verdict, attempt: int) -> Verdict:
        if not isinstance(ready, Ready):
            return ready
        try:
            verdict = await ready.outlet.connector.perform(_call(held, kept, ready, attempt), self._means.wire)
            return await self._unless_renewed(ready, verdict) if isinstance(verdict, Halted) else verdict
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a connector's bug leaves it open whether the provider has taken it
            self._means.telemetry.warn("outbox.connector_failed", effect=held.effect.id, error=type(error).__name__)
            return Uncertain(reason=f"the connector failed: {type(error).__name__}")

    async def _unless_renewed(self, ready: Ready, halted: Halted) -> Verdict:
        """A refusal of the credential that was replaced while the call was under way says nothing of the new one: to
        halt then would stop a tenant whose operator has just acted, and nobody would act again.
        """
        try:
            now = await self._means.outlets.secrets(ready.outlet.channel)
        except Exception:  # noqa: BLE001 - what cannot be told is taken for the same
            return halted
        if now == ready.secrets:
            return halted
        reason = f"the credential was replaced meanwhile: {halted.reason}"
        return Deferred(after=_RENEWED_WAIT, reason=reason, counts=False)

    async def _probe(self, held: HeldEffect, kept: Kept, ready: Ready | Verdict) -> Verdict:
        if not isinstance(ready, Ready):
            # Nothing was asked, so nothing was learnt; least of all that it was not taken.
            return Uncertain(reason=_reason(ready), after=_SECRET_WAIT)
        try:
            call = _call(held, kept, ready, held.effect.attempts)
            return await ready.outlet.connector.probe(call, self._means.wire)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a probe that fails has proven nothing
            self._means.telemetry.warn("outbox.probe_failed", effect=held.effect.id, error=type(error).__name__)
            return Uncertain(reason=f"the probe failed: {type(error).__name__}", after=_SECRET_WAIT)

    # --- record ---

    async def _record(self, held: HeldEffect, kept: Kept, attempt: int, verdict: Verdict) -> HeldEffect | None:
        since = self._means.clock.monotonic()
        # A renewal that crosses this write may find the old epoch gone because of it: that is no loss.
        kept.ending = True
        try:
            recorded: Recorded | None = await self._insist(
                lambda: self._means.store.record(held.lease, held.effect.id, attempt, verdict, self._ttl), kept
            )
        finally:
            kept.ending = False
        self._count(held.effect, verdict)
        if recorded is None or recorded.fate is Fate.LOST:
            self._means.telemetry.count("outbox.record_lost")
            await self._testify(held, verdict)
            return None
        if _comes_due(held.effect, verdict):
            self._means.bell.ring(Ring.UPKEEP)
        if recorded.next is not None:
            kept.lease = recorded.next.lease
            kept.trust.renewed(self._ttl, since)
        return recorded.next

    async def _testify(self, held: HeldEffect, verdict: Verdict) -> None:
        """The lane is another's by now, and the effect in doubt there. That the provider has taken it is evidence all
        the same, and evidence comes in as a sighting; any other verdict proves nothing about later tries.
        """
        if not isinstance(verdict, Confirmed):
            return
        effect = held.effect
        sighting = Sighting(
            tenant=effect.tenant, channel=effect.channel, effect=effect.id, ref=verdict.ref, receipt=verdict.receipt
        )
        for _ in range(_SIGHTING_TRIES):
            try:
                await self._means.store.accept(Intake(endpoint=_HERE, sightings=(sighting,)))
            except StoreError:
                await pause(timedelta(seconds=self._means.chance.uniform(0.05, 0.5)))
            else:
                return

    async def _insist(self, write: Callable[[], Awaitable[R]], kept: Kept) -> R | None:
        return await insist(
            write, trust=kept.trust, chance=self._means.chance, telemetry=self._means.telemetry, stage="outbox"
        )

    def _count(self, effect: Effect, verdict: Verdict) -> None:
        if not isinstance(verdict, Halted):
            self._means.telemetry.count(f"outbox.{type(verdict).__name__.lower()}")
            return
        self._means.telemetry.count("outbox.halted", tenant=effect.tenant)
        self._means.telemetry.warn(
            "outbox.halted",
            tenant=effect.tenant,
            channel=effect.channel,
            scope=verdict.scope,
            reason=f"{verdict.code}: {verdict.reason}" if verdict.code else verdict.reason,
        )


def _comes_due(effect: Effect, verdict: Verdict) -> bool:
    """Whether the conversation waits for a moment now, that upkeep has to know of: a retry, a doubt, a gate, a gap."""
    gate = effect.terms.gate
    return not isinstance(verdict, Confirmed) or gate.receipt > verdict.receipt or gate.gap > timedelta(0)


def _call(held: HeldEffect, kept: Kept, ready: Ready, attempt: int) -> Call:
    return Call(
        effect=held.effect,
        attempt=attempt,
        channel=ready.outlet.channel,
        secrets=ready.secrets,
        deadline=CALL_DEADLINE,
        may_begin=kept.trust.holds,
    )


def _reason(verdict: Verdict) -> str:
    return "" if isinstance(verdict, Confirmed) else verdict.reason
