"""The story of one effect, and what each interruption of it leaves behind."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from procession.core.effect import EffectState, Repeatability, Terms
from procession.core.errors import OutcomeUnknown, StoreAway, StoreError
from procession.core.ids import ChannelName, EffectId, TenantId, WorkerId
from procession.core.lane import Lease
from procession.core.pace import Pace
from procession.core.turn import Began, NotBegun, Recorded
from procession.core.verdict import Confirmed, Deferred, Halted, Refused, Scope, Uncertain, Verdict
from procession.outbox.sender import Sender
from procession.ports.bell import Ring
from procession.ports.connector import Call
from procession.ports.directory import Snapshot
from procession.ports.store import Ask
from procession.ports.vault import SecretName
from procession.runtime.keepalive import Kept
from procession.runtime.trust import Trust
from procession.storage.memory import MemoryStore
from procession.testing.stand_ins import NobodyListens
from procession.vault import WrongKey
from tests.unit.outbox.scene import ACME, TTL, Scene, with_repeatability


async def scene(*terms: Terms, store: type[MemoryStore] = MemoryStore) -> Scene:
    made = await Scene(store).with_channel()
    await made.ask_for(*(terms or (Terms(),)))
    return made


async def test_an_effect_is_armed_when_its_call_begins_and_confirmed_when_it_ended() -> None:
    act = await scene()
    states: list[EffectState] = []

    async def look(call: Call) -> Verdict:
        states.append((await act.seen()).state)
        assert call.secrets == {"token": b"acme's token"}
        return Confirmed(ref="their-1")

    act.connector.act = look
    await act.send()

    view = await act.seen()
    assert states == [EffectState.ARMED]
    assert (view.state, view.ref, view.attempts) == (EffectState.CONFIRMED, "their-1", 1)


async def test_the_next_effect_of_the_conversation_comes_with_the_record() -> None:
    act = await scene(Terms(), Terms())

    following = await act.send()

    assert following is not None
    assert following.effect.id == act.effects[1].id


@pytest.mark.parametrize(
    ("verdict", "state"),
    [
        (Refused(reason="no", code="400"), EffectState.REFUSED),
        (Deferred(after=timedelta(seconds=1), reason="later"), EffectState.PENDING),
        (Uncertain(reason="cut"), EffectState.DOUBT),
    ],
)
async def test_each_verdict_is_written_down(verdict: Verdict, state: EffectState) -> None:
    act = await scene()

    async def say(call: Call) -> Verdict:
        del call
        return verdict

    act.connector.act = say
    await act.send()

    assert (await act.seen()).state is state


async def test_a_connector_that_breaks_leaves_its_effect_in_doubt() -> None:
    act = await scene()

    async def broken(call: Call) -> Verdict:
        raise RuntimeError(f"with {call.secrets} in its text")

    act.connector.act = broken
    await act.send()

    view = await act.seen()
    assert view.state is EffectState.DOUBT
    assert "token" not in view.reason


async def test_a_call_that_is_cancelled_leaves_its_effect_armed_and_the_sweep_doubts_it() -> None:
    act = await scene()
    begun = asyncio.Event()

    async def hang(call: Call) -> Verdict:
        del call
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    act.connector.act = hang
    sending = asyncio.ensure_future(act.send())
    await begun.wait()
    sending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await sending

    assert (await act.seen()).state is EffectState.ARMED
    await act.pass_time(TTL)
    assert (await act.seen()).state is EffectState.DOUBT
    assert len(act.connector.calls) == 1


async def test_a_missing_credential_sends_nothing_and_burns_no_try() -> None:
    act = await scene()
    act.secrets.plain.clear()

    await act.send()

    view = await act.seen()
    assert (view.state, act.connector.calls) == (EffectState.PENDING, [])
    assert "not in the vault" in view.reason


async def test_a_vault_that_stays_shut_leaves_no_doubt_since_nothing_went_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    act = await scene()

    async def shut(tenant: TenantId, name: SecretName) -> bytes:
        raise WrongKey(f"{name} of {tenant} was sealed under another key")

    monkeypatch.setattr(act.secrets, "open", shut)
    await act.send()

    view = await act.seen()
    assert (view.state, act.connector.calls) == (EffectState.PENDING, [])
    assert "WrongKey" in view.reason


async def test_an_effect_of_a_channel_that_is_gone_is_refused() -> None:
    act = await scene()
    act.store.tables.snapshot = Snapshot(version=99)

    await act.send()

    assert (await act.seen()).state is EffectState.REFUSED
    assert act.connector.calls == []


async def test_nothing_goes_out_when_the_effect_was_cancelled_between_claim_and_begin() -> None:
    act = await scene()
    held, kept = await act.claim()
    await act.store.console.cancel(ACME, act.effects[0].id, actor="tester")

    assert await act.sender.send(held, kept) is None

    assert act.connector.calls == []
    assert (await act.seen()).state is EffectState.CANCELLED


async def test_a_sender_that_lost_its_lane_begins_nothing() -> None:
    act = await scene()
    held, kept = await act.claim()
    await act.pass_time(TTL)
    await act.claim()

    assert await act.sender.send(held, kept) is None

    assert act.connector.calls == []


async def test_a_late_yes_after_the_lane_was_lost_proves_the_send_all_the_same() -> None:
    act = await scene()

    async def slow(call: Call) -> Verdict:
        del call
        await act.pass_time(TTL)
        assert (await act.seen()).state is EffectState.DOUBT
        return Confirmed(ref="their-1")

    act.connector.act = slow
    await act.send()

    view = await act.seen()
    assert (view.state, view.ref) == (EffectState.CONFIRMED, "their-1")


@pytest.mark.parametrize("verdict", [Refused(reason="no"), Deferred(after=timedelta(0), reason="later")])
async def test_a_late_no_proves_nothing(verdict: Verdict) -> None:
    act = await scene()

    async def slow(call: Call) -> Verdict:
        del call
        await act.pass_time(TTL)
        return verdict

    act.connector.act = slow
    await act.send()

    assert (await act.seen()).state is EffectState.DOUBT


async def test_a_doubt_that_can_be_probed_is_probed_and_not_sent_again() -> None:
    act = await scene(with_repeatability(Repeatability.PROBED))

    async def cut(call: Call) -> Verdict:
        del call
        return Uncertain(reason="cut", after=timedelta(seconds=1))

    act.connector.act = cut
    await act.send()
    await act.pass_time(timedelta(seconds=1))
    await act.send()

    view = await act.seen()
    assert (view.state, view.attempts) == (EffectState.CONFIRMED, 1)


async def test_a_probe_that_breaks_proves_nothing() -> None:
    act = await scene(with_repeatability(Repeatability.PROBED))

    async def cut(call: Call) -> Verdict:
        del call
        return Uncertain(reason="cut", after=timedelta(seconds=1))

    async def broken(call: Call) -> Verdict:
        raise RuntimeError(call.effect.id)

    act.connector.act, act.connector.probing = cut, broken
    await act.send()
    await act.pass_time(timedelta(seconds=1))
    await act.send()

    assert (await act.seen()).state is EffectState.DOUBT


class ForgetfulStore(MemoryStore):
    """Does what it is asked, and fails to say so the first time."""

    begins = 0
    records = 0
    error: StoreError = OutcomeUnknown("cut")

    async def begin(self, lease: Lease, effect: EffectId, attempt: int, pace: Pace | None = None) -> Began | NotBegun:
        answer = await super().begin(lease, effect, attempt)
        self.begins += 1
        if self.begins == 1:
            raise self.error
        return answer

    async def record(
        self, lease: Lease, effect: EffectId, attempt: int, verdict: Verdict, ttl: timedelta | None
    ) -> Recorded:
        answer = await super().record(lease, effect, attempt, verdict, ttl)
        self.records += 1
        if self.records == 1:
            raise self.error
        return answer


async def test_begin_and_record_of_unknown_outcome_are_repeated_and_the_call_is_not() -> None:
    act = await scene(Terms(), Terms(), store=ForgetfulStore)

    await act.send()

    assert isinstance(act.store, ForgetfulStore)
    assert (act.store.begins, act.store.records) == (2, 2)
    assert len(act.connector.calls) == 1
    assert (await act.seen()).state is EffectState.CONFIRMED


class AwayStore(MemoryStore):
    """Cannot begin anything; time passes with each try."""

    async def begin(self, lease: Lease, effect: EffectId, attempt: int, pace: Pace | None = None) -> Began | NotBegun:
        del lease, effect, attempt
        raise StoreAway("away")


async def test_without_a_kept_begin_nothing_goes_out() -> None:
    act = await scene(store=AwayStore)
    held, kept = await act.claim()
    act.clock.move(TTL * 0.66)
    sending = asyncio.ensure_future(act.sender.send(held, kept))
    await asyncio.sleep(0)
    act.clock.move(TTL)

    assert await sending is None
    assert act.connector.calls == []


async def test_secrets_of_one_tenants_channel_are_never_opened_for_another() -> None:
    act = await scene()
    found = await act.outlets.find(TenantId("bolt"), ChannelName("main"))

    assert found is None
    assert await act.store.claim_sends(Ask(worker=WorkerId("x"), lanes_max=9, ttl=TTL, pools=frozenset({"vip"}))) == ()


class Rings(NobodyListens):
    def __init__(self) -> None:
        self.rung: list[Ring] = []

    def ring(self, ring: Ring) -> None:
        self.rung.append(ring)


async def test_upkeep_is_told_of_a_place_in_the_line_which_may_be_a_few_milliseconds_ahead() -> None:
    act = await scene(Terms(), Terms())
    bell = Rings()
    sender = Sender(replace(act.means, bell=bell), TTL)
    act.connector.own_pace = Pace(per_second=2)
    following = await act.send()
    assert following is not None

    await sender.send(following, Kept(following.lease, Trust(act.clock, TTL, act.clock.monotonic())))

    assert bell.rung == [Ring.UPKEEP]
    assert len(act.connector.calls) == 1
    await act.pass_time(timedelta(milliseconds=500))
    await act.send()
    assert len(act.connector.calls) == 2


async def test_a_provider_that_halts_is_told_to_the_operator_and_burns_no_try() -> None:
    act = await scene(Terms())

    async def halt(call: Call) -> Verdict:
        del call
        return Halted(reason="the token was revoked", code="190")

    act.connector.act = halt
    await act.send()

    warned = act.notebook.lines[-1]
    assert (warned.what, warned.is_warning) == ("outbox.halted", True)
    assert warned.fields == {
        "tenant": ACME,
        "channel": "main",
        "scope": Scope.TENANT,
        "reason": "190: the token was revoked",
    }
    assert act.notebook.counts["outbox.halted"] == 1
    assert (await act.seen()).state is EffectState.PENDING


@pytest.mark.parametrize("renewed", [b"acme's new token", None])
async def test_a_refusal_of_a_credential_that_was_replaced_meanwhile_halts_nobody(renewed: bytes | None) -> None:
    """The operator has acted already: nobody would release what is held back after that."""
    act = await scene(Terms())
    token = ACME, SecretName("token")

    async def halt(call: Call) -> Verdict:
        if renewed is not None:
            act.secrets.plain[token] = renewed
        return Halted(reason=f"{call.secrets['token'].decode()} was revoked")

    act.connector.act = halt
    await act.send()

    halts = [halt.reason for halt in await act.store.console.halts()]
    assert halts == ([] if renewed else ["acme's token was revoked"])
    assert (await act.seen()).state is EffectState.PENDING
    assert ("outbox.halted" in act.notebook.counts) == (renewed is None)


async def test_a_halt_stands_when_the_vault_cannot_be_asked_again() -> None:
    act = await scene(Terms())

    async def halt(call: Call) -> Verdict:
        del call
        act.secrets.plain.clear()
        return Halted(reason="the token was revoked")

    act.connector.act = halt
    await act.send()

    assert len(await act.store.console.halts()) == 1
