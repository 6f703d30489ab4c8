"""What a provider's answer says about more than one effect: a channel's or a tenant's sends are held back."""

from datetime import timedelta

import pytest

from procession.core.effect import EffectState, Receipt, Repeatability
from procession.core.errors import BadRequest
from procession.core.ids import ChannelName, TenantId
from procession.core.lane import Phase, Side
from procession.core.limits import HALT_LOOK
from procession.core.turn import HeldEffect, NotBegun
from procession.core.verdict import Absent, Confirmed, Deferred, Fate, Halted, Scope, Uncertain, Verdict
from procession.ports.console import HaltView
from tests.conformance.acts import (
    accept,
    begin,
    claim,
    claim_send,
    claim_sends,
    effect_seen,
    lane_seen,
    pass_time,
    phase_of,
    record,
    see,
)
from tests.conformance.builders import (
    ACME,
    BOLT,
    MAIN,
    OPERATOR,
    TICK,
    a_settlement,
    a_sighting,
    an_effect,
    an_event,
    seconds,
    some_terms,
    the_effect,
    the_event,
    the_lane,
)
from tests.conformance.clock import START
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture

SIDE = ChannelName("side")
REVOKED = Halted(reason="the token was revoked", code="190")
LOCKED = Halted(reason="the number is locked", scope=Scope.CHANNEL)


def throttled(after: float, scope: Scope = Scope.CHANNEL) -> Deferred:
    return Deferred(after=seconds(after), reason="throttled", counts=False, scope=scope)


async def replies(
    harness: Harness,
    *lanes: str,
    tenant: TenantId = ACME,
    channel: ChannelName = MAIN,
    repeatability: Repeatability = Repeatability.UNSAFE,
) -> None:
    """Each of these conversations wants to send."""
    terms = some_terms(repeatability=repeatability)
    await accept(harness, *(an_event(lane=lane, tenant=tenant, channel=channel) for lane in lanes))
    for turn in await claim(harness):
        effect = an_effect(of=turn.id, lane=turn.lane_key, tenant=tenant, channel=channel, terms=terms)
        await harness.store.settle(a_settlement(turn, effects=(effect,)))


async def answered(
    harness: Harness, verdict: Verdict, *, repeatability: Repeatability = Repeatability.UNSAFE
) -> HeldEffect:
    """Ann's effect is sent, and this is what comes back."""
    await replies(harness, "ann", repeatability=repeatability)
    send = await claim_send(harness)
    await record(harness, send, await begin(harness, send), verdict)
    return send


async def later(harness: Harness) -> tuple[HeldEffect, ...]:
    """What there is to send when whoever waits was looked at once more."""
    await pass_time(harness, HALT_LOOK)
    return await claim_sends(harness)


# --- for a while (D9) ---


@line("D9", "B4")
async def test_a_throttled_channel_begins_nothing_until_that_is_over(harness: Harness) -> None:
    await replies(harness, "bob")
    claimed = await claim_send(harness)
    await answered(harness, throttled(5))

    answer = await harness.store.begin(claimed.lease, claimed.effect.id, 1)

    lane = await lane_seen(harness, "bob", side=Side.SENDS)
    assert isinstance(answer, NotBegun)
    assert (answer.fate, answer.reason) == (Fate.KEPT, "it is held back: throttled")
    assert (lane.phase, lane.wake_at) == (Phase.WAITING, START + seconds(5))


@line("D9", "B4", "S3")
async def test_when_it_is_over_everybody_may_go(harness: Harness) -> None:
    await answered(harness, throttled(5))
    await replies(harness, "bob")

    await pass_time(harness, seconds(5) - TICK)
    early = await claim_sends(harness)
    await pass_time(harness, TICK)

    assert early == ()
    sends = await claim_sends(harness)
    assert sorted(send.effect.lane_key for send in sends) == ["ann", "bob"]
    assert [await begin(harness, send) for send in sends] != []


@line("B4", "G8")
async def test_what_is_asked_for_meanwhile_waits_at_once_and_says_for_what(harness: Harness) -> None:
    await answered(harness, throttled(5))

    await replies(harness, "bob")

    view = await effect_seen(harness, the_effect(of=the_event(lane="bob")))
    assert await phase_of(harness, "bob", side=Side.SENDS) is Phase.WAITING
    assert view.waits_for == "its channel, which is held back until 2030-01-07 09:00:05 UTC: throttled"


@line("D9")
async def test_another_channel_of_the_tenant_goes_on(harness: Harness) -> None:
    await answered(harness, throttled(5))

    await replies(harness, "bob", channel=SIDE)

    assert await begin(harness, await claim_send(harness)) == 1


@line("D9")
async def test_a_throttled_tenant_begins_nothing_on_any_channel(harness: Harness) -> None:
    await answered(harness, throttled(5, Scope.TENANT))

    await replies(harness, "bob", channel=SIDE)

    assert await claim_sends(harness) == ()
    view = await effect_seen(harness, the_effect(of=the_event(lane="bob", channel=SIDE)))
    assert view.waits_for.startswith("its account, which is held back until")


@line("D9", "G7")
async def test_another_tenant_goes_on(harness: Harness) -> None:
    await answered(harness, throttled(5, Scope.TENANT))

    await replies(harness, "ann", tenant=BOLT)

    assert await begin(harness, await claim_send(harness)) == 1


@line("D9")
async def test_a_throttled_conversation_keeps_no_other_from_sending(harness: Harness) -> None:
    await answered(harness, throttled(5, Scope.CONVERSATION))

    await replies(harness, "bob")

    assert await begin(harness, await claim_send(harness)) == 1
    assert await harness.console.halts() == ()


@pytest.mark.parametrize(("first", "second"), [(3, 8), (8, 3)])
@line("D9")
async def test_the_longer_of_several_counts(harness: Harness, first: float, second: float) -> None:
    await replies(harness, "bob")
    other = await claim_send(harness)
    attempt = await begin(harness, other)
    await answered(harness, throttled(first))
    await record(harness, other, attempt, throttled(second))

    await pass_time(harness, seconds(8) - TICK)
    early = await claim_sends(harness)
    await pass_time(harness, TICK)

    assert early == ()
    assert len(await claim_sends(harness)) == 2


@line("D9", "A8")
async def test_an_answer_holds_the_others_back_also_when_its_own_effect_was_seen_meanwhile(harness: Harness) -> None:
    await replies(harness, "ann", "bob")
    ann, bob = await claim_sends(harness)
    attempt = await begin(harness, ann)
    await see(harness, a_sighting(effect=ann.effect.id))

    await record(harness, ann, attempt, throttled(5))

    answer = await harness.store.begin(bob.lease, bob.effect.id, 1)
    assert isinstance(answer, NotBegun)
    assert (await effect_seen(harness, ann.effect.id)).state is EffectState.CONFIRMED


@line("D9", "D1", "G4")
async def test_a_repeated_verdict_holds_nothing_back_again(harness: Harness) -> None:
    send = await answered(harness, throttled(5))
    harness.clock.advance(seconds(3))

    again = await record(harness, send, 1, throttled(5))

    assert again.fate is Fate.KEPT
    assert [view.until for view in await harness.console.halts()] == [START + seconds(5)]


@line("D9", "G6")
async def test_a_verdict_that_is_lost_holds_nothing_back(harness: Harness) -> None:
    await replies(harness, "ann")
    send = await claim_send(harness)
    await begin(harness, send)
    await pass_time(harness, seconds(10))

    answer = await record(harness, send, 1, REVOKED)

    assert answer.fate is Fate.LOST
    assert await harness.console.halts() == ()


# --- until somebody acts (D10) ---


@line("D10")
async def test_a_halted_effect_is_pending_again_and_burns_no_try(harness: Harness) -> None:
    send = await answered(harness, REVOKED)

    view = await effect_seen(harness, send.effect.id)
    assert (view.state, view.reason) == (EffectState.PENDING, "190: the token was revoked")
    assert view.waits_for == "an operator, since the account is halted: 190: the token was revoked"
    await harness.console.release(ACME, actor=OPERATOR)
    assert (await claim_send(harness)).effect.tries == 0


@line("D10", "B4")
async def test_a_halted_tenant_begins_nothing_until_it_is_released(harness: Harness) -> None:
    await answered(harness, REVOKED)
    await replies(harness, "bob", channel=SIDE)
    await pass_time(harness, timedelta(days=1))
    meanwhile = await claim_sends(harness)

    released = await harness.console.release(ACME, actor=OPERATOR)

    assert (meanwhile, released) == ((), True)
    assert sorted(send.effect.lane_key for send in await claim_sends(harness)) == ["ann", "bob"]


@line("B4", "G8")
async def test_what_waits_without_an_end_is_looked_at_now_and_then(harness: Harness) -> None:
    await answered(harness, REVOKED)
    first = (await lane_seen(harness, side=Side.SENDS)).wake_at

    await pass_time(harness, HALT_LOOK)

    assert first == START + HALT_LOOK
    assert (await lane_seen(harness, side=Side.SENDS)).wake_at == START + 2 * HALT_LOOK


@line("D10")
async def test_a_halted_channel_leaves_the_others_alone(harness: Harness) -> None:
    await answered(harness, LOCKED)

    await replies(harness, "bob", channel=SIDE)

    assert (await claim_send(harness)).effect.lane_key == "bob"


@line("D10")
async def test_a_halted_conversation_is_parked_and_goes_on_when_it_is_resumed(harness: Harness) -> None:
    await answered(harness, Halted(reason="blocked", scope=Scope.CONVERSATION))
    lane = await lane_seen(harness, side=Side.SENDS)

    await harness.console.resume(ACME, the_lane(), actor=OPERATOR)

    assert (lane.phase, await harness.console.halts()) == (Phase.PARKED, ())
    assert "blocked" in lane.reason
    assert await begin(harness, await claim_send(harness)) == 2


@line("D10")
async def test_a_back_off_does_not_end_what_is_halted(harness: Harness) -> None:
    await replies(harness, "ann", "bob")
    ann, bob = await claim_sends(harness)
    await begin(harness, ann)
    await begin(harness, bob)
    await record(harness, ann, 1, LOCKED)
    await record(harness, bob, 1, throttled(1))

    await pass_time(harness, timedelta(hours=1))

    assert await claim_sends(harness) == ()
    assert [view.reason for view in await harness.console.halts()] == ["the number is locked"]


@line("B4")
async def test_a_doubt_may_be_probed_while_sends_are_held_back(harness: Harness) -> None:
    await answered(harness, Uncertain(reason="the line broke", after=seconds(1)), repeatability=Repeatability.PROBED)
    await replies(harness, "bob")
    bob = await claim_send(harness)
    await record(harness, bob, await begin(harness, bob), REVOKED)

    await pass_time(harness, seconds(1))
    probed = await claim_send(harness)
    await record(harness, probed, 1, Absent())

    assert (probed.effect.state, probed.effect.lane_key) == (EffectState.DOUBT, "ann")
    assert await phase_of(harness, side=Side.SENDS) is Phase.WAITING


@line("D10", "K2")
async def test_a_probe_cannot_halt(harness: Harness) -> None:
    await answered(harness, Uncertain(reason="the line broke", after=timedelta(0)), repeatability=Repeatability.PROBED)
    probed = await claim_send(harness)

    with pytest.raises(BadRequest):
        await record(harness, probed, 1, REVOKED)

    assert await harness.console.halts() == ()


@line("B4", "D2")
async def test_a_gate_opens_while_sends_are_held_back(harness: Harness) -> None:
    terms = some_terms(gate=Receipt.DELIVERED, gate_wait=2)
    await accept(harness, an_event())
    (turn,) = await claim(harness)
    await harness.store.settle(a_settlement(turn, effects=(an_effect("0", terms=terms), an_effect("1"))))
    send = await claim_send(harness)
    await record(harness, send, await begin(harness, send), Confirmed())
    await replies(harness, "bob")
    bob = await claim_send(harness)
    await record(harness, bob, await begin(harness, bob), LOCKED)

    swept = await pass_time(harness, seconds(2))

    assert swept.gates_expired == 1
    assert (await effect_seen(harness, the_effect("1"))).waits_for.startswith(
        "an operator, since the channel is halted"
    )


@line("D9", "D10", "G2", needs=(Guarantee.DURABLE,))
async def test_what_is_held_back_is_so_after_a_restart(harness: Harness) -> None:
    await answered(harness, LOCKED)
    before = await harness.console.halts()

    await harness.reopen()
    await replies(harness, "bob")

    assert await harness.console.halts() == before
    assert await claim_sends(harness) == ()


# --- the operator's view ---


@line("K3")
async def test_what_is_held_back_is_shown_the_oldest_first(harness: Harness) -> None:
    await answered(harness, LOCKED)
    harness.clock.advance(seconds(1))
    await replies(harness, "bob", channel=SIDE)
    bob = await claim_send(harness)
    await record(harness, bob, await begin(harness, bob), throttled(5, Scope.TENANT))

    assert await harness.console.halts() == (
        HaltView(tenant=ACME, channel=MAIN, since=START, until=None, reason="the number is locked"),
        HaltView(tenant=ACME, channel=None, since=START + seconds(1), until=START + seconds(6), reason="throttled"),
    )
    assert await harness.console.halts(BOLT) == ()
    harness.clock.advance(seconds(5))
    assert [view.channel for view in await harness.console.halts(ACME)] == [MAIN]


@line("K1", "K4")
async def test_a_release_is_audited_and_the_second_one_changes_nothing(harness: Harness) -> None:
    await answered(harness, LOCKED)

    first = await harness.console.release(ACME, MAIN, actor=OPERATOR)
    before = await picture(harness)
    second = await harness.console.release(ACME, MAIN, actor=OPERATOR)

    assert (first, second) == (True, False)
    assert await picture(harness) == before
    newest, *_ = await harness.console.audit(ACME)
    assert (newest.actor, newest.verb, newest.about) == (OPERATOR, "sending release", "main")
    assert newest.detail == "the number is locked"


@line("B4", "G8")
async def test_a_release_wakes_those_who_waited_for_it_and_no_others(harness: Harness) -> None:
    await answered(harness, LOCKED)
    await replies(harness, "bob", channel=SIDE)
    bob = await claim_send(harness)
    await record(harness, bob, await begin(harness, bob), throttled(60))

    await harness.console.release(ACME, MAIN, actor=OPERATOR)

    assert [send.effect.lane_key for send in await claim_sends(harness)] == ["ann"]


@line("B4")
async def test_releasing_a_channel_does_not_release_its_tenant(harness: Harness) -> None:
    await answered(harness, REVOKED)

    released = await harness.console.release(ACME, MAIN, actor=OPERATOR)

    assert not released
    assert await later(harness) == ()


@line("B4", "G7")
async def test_a_release_is_of_one_tenant(harness: Harness) -> None:
    await answered(harness, REVOKED)

    assert not await harness.console.release(BOLT, actor=OPERATOR)
    assert not await harness.console.release(TenantId("nobody"), actor=OPERATOR)
    assert await later(harness) == ()


@line("B4")
async def test_a_back_off_may_be_released_early(harness: Harness) -> None:
    await replies(harness, "bob")
    bob = await claim_send(harness)
    await answered(harness, throttled(60))
    await harness.store.begin(bob.lease, bob.effect.id, 1)

    await harness.console.release(ACME, actor=OPERATOR)

    assert (await claim_send(harness)).effect.lane_key == "bob"


@line("D10")
async def test_what_was_released_can_be_halted_again(harness: Harness) -> None:
    await answered(harness, REVOKED)
    await harness.console.release(ACME, actor=OPERATOR)
    harness.clock.advance(seconds(1))
    send = await claim_send(harness)

    await record(harness, send, await begin(harness, send), REVOKED)

    assert [view.since for view in await harness.console.halts()] == [START + seconds(1)]
    assert await later(harness) == ()
