"""Planted bugs of the stages and of what they share: each has been somebody's real one."""

from typing import Final

from procession.testing.simulation.planted import Plant

PLANTS: Final = (
    Plant(
        name="answer-on-unknown-commit",
        what="a delivery is answered 2xx although its commit is unknown",
        file="ingress/receive.py",
        old="            return None\n\n    def _tell",
        new="            return Acceptance(placements=())\n\n    def _tell",
    ),
    Plant(
        name="answer-before-commit",
        what="a delivery is answered before it is written down",
        file="ingress/receive.py",
        old="            return await self._patience.wait_for(self._store.accept(intake))\n",
        new="            import asyncio\n            self._later = asyncio.ensure_future(self._store.accept(intake))\n"
        "            return Acceptance(placements=())\n",
    ),
    Plant(
        name="batch-stored-partly",
        what="what comes last in a delivery of several is left out",
        file="ingress/intake.py",
        old="        events=tuple(events),\n",
        new="        events=tuple(events[:3]),\n",
    ),
    Plant(
        name="window-not-opened",
        what="collecting handlers get their events one by one",
        file="ingress/intake.py",
        old="        window=doors.window(tenant, arrival.kind, arrival.text),\n",
        new="        window=None,\n",
    ),
    Plant(
        name="bell-only",
        what="stages wait for their bell, and never look by themselves",
        file="runtime/loop.py",
        old="            await self._bell.hear(self._ring, wait)\n",
        new="            await self._bell.hear(self._ring, timedelta(days=300))\n",
    ),
    Plant(
        name="heartbeat-trusts-silence",
        what="a renewal that failed is taken for one that was kept",
        file="runtime/keepalive.py",
        old="            except StoreAway:\n                self.is_cut_off = True\n                raise\n",
        new="            except Exception:\n                lost = ()\n",
    ),
    Plant(
        name="lease-trusted-for-ever",
        what="a holder never stops by itself",
        file="runtime/trust.py",
        old="        return self._clock.monotonic() < self.until\n",
        new="        return self.until > 0\n",
    ),
    Plant(
        name="lease-trusted-too-long",
        what="a holder trusts its lease for twice its length",
        file="runtime/trust.py",
        old='        self.until = since + ttl.total_seconds() * TRUST_SHARE\n        """',
        new='        self.until = since + ttl.total_seconds() * 2\n        """',
    ),
    Plant(
        name="lane-free-before-settle",
        what="the lane is given back before its turn is settled",
        file="lanes/runner.py",
        old="        settlement, settled = await self._kept(flight, handler, wanted)\n",
        new="        await self._means.store.release((flight.held.lease,))\n"
        "        settlement, settled = await self._kept(flight, handler, wanted)\n",
    ),
    Plant(
        name="innocents-given-up",
        what="a turn that was beside a dying one three times is set aside with it",
        file="lanes/decide.py",
        old="    return held.deaths_alone >= DEATHS_ALONE_MAX\n",
        new="    return held.deaths >= DEATHS_ALONE_MAX\n",
    ),
    Plant(
        name="not-alone",
        what="a suspect that is to run alone does not wait for the others to end",
        file="lanes/scheduler.py",
        old="        if not await self._slots.empty(POLL):\n            return AGAIN\n        if self._alone_in_a_row",
        new="        if not self._slots.free:\n            return AGAIN\n        if self._alone_in_a_row",
    ),
    Plant(
        name="tries-of-the-dead-count",
        what="tries that ended with their process are taken for failures of the handler",
        file="lanes/decide.py",
        old="    failures = max(1, held.tries - held.deaths)\n",
        new="    failures = max(1, held.tries)\n",
    ),
    Plant(
        name="step-not-recalled",
        what="a remembered step is called again by the next try",
        file="lanes/open_turn.py",
        old="        kept = self.memo.recall(name, occurrence)\n",
        new="        kept = None\n",
    ),
    Plant(
        name="step-before-trust",
        what="a step is called without asking whether the lane is still ours",
        file="lanes/open_turn.py",
        old="            self.check_trust(name)\n            value = await self.called(call)\n",
        new="            value = await self.called(call)\n",
    ),
    Plant(
        name="arm-after-wire",
        what="an effect is sent first, and armed when the answer is there",
        file="outbox/sender.py",
        old="            began = await self._begin(held, kept, ready)\n"
        "            if began is None:\n                return None\n"
        '            attempt = began.attempt\n            crashpoint("begin.armed")\n'
        "            verdict = await self._perform(held, kept, ready, attempt)\n",
        new="            attempt = held.effect.attempts + 1\n"
        "            verdict = await self._perform(held, kept, ready, attempt)\n"
        "            began = await self._begin(held, kept, ready)\n"
        "            if began is None:\n                return None\n",
    ),
    Plant(
        name="send-without-trust",
        what="the first byte goes out whoever holds the lane by then",
        file="outbox/sender.py",
        old="        may_begin=kept.trust.holds,\n",
        new="        may_begin=lambda: True,\n",
    ),
    Plant(
        name="channel-of-another-tenant",
        what="an effect goes out through whichever channel has the name",
        file="outbox/outlets.py",
        old="        found = self._snapshot.channels.get((tenant, channel))\n        if found is None:\n",
        new="        found = next((each for (_, name), each in self._snapshot.channels.items() if name == "
        "channel), None)\n"
        "        if found is None:\n",
    ),
    Plant(
        name="timeout-is-not-sent",
        what="a call that got no answer is taken for one that was not made",
        file="connectors/plain/perform.py",
        old='            return Uncertain(reason=f"no whole answer: {answer.reason}", after=backoff(call))\n',
        new='            return Deferred(after=backoff(call), reason="no answer")\n',
    ),
    Plant(
        name="five-hundred-is-not-sent",
        what="a 5xx is taken for a proof that nothing was taken",
        file="connectors/plain/codes.py",
        old='    return Says.UNCLEAR, "it failed after it had the request"\n',
        new='    return Says.LATER, "it failed"\n',
    ),
)
