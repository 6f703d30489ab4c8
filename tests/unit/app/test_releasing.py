"""What a provider holds back until somebody acts: an operator sees it, and a replaced credential ends it."""

import pytest

from procession.app.desk import Desk
from procession.app.health import Finding, Grade
from procession.app.wiring import World
from procession.core.errors import BadRequest
from procession.core.ids import ChannelName, TenantId
from procession.core.verdict import Deferred, Halted, Scope, Verdict
from procession.ports.vault import SecretName
from tests.conformance.builders import a_settlement, an_ask, an_effect, an_event, an_intake, seconds
from tests.unit.app.scene import ACME, OTHER, SECRET, plan, scene

CHANNEL = ChannelName("shop")
REVOKED = Halted(reason="the token was revoked", code="190")


async def held_back(*verdicts: Verdict) -> tuple[World, Desk]:
    """Each of these is what came of a send of the channel."""
    world, desk = await scene()
    await desk.apply(plan(sending=SECRET), actor="anna")
    store = world.open.store
    await store.accept(
        an_intake(*(an_event(lane=f"lane-{number}", channel=CHANNEL) for number in range(len(verdicts))))
    )
    for turn in await store.claim_turns(an_ask()):
        effect = an_effect(of=turn.id, lane=turn.lane_key, channel=CHANNEL)
        await store.settle(a_settlement(turn, effects=(effect,)))
    sends = await store.claim_sends(an_ask())
    for send in sends:
        await store.begin(send.lease, send.effect.id, 1)
    for send, verdict in zip(sends, verdicts, strict=True):
        await store.record(send.lease, send.effect.id, 1, verdict, None)
    return world, desk


async def reasons(desk: Desk) -> list[str]:
    return [halt.reason for halt in await desk.halts()]


@pytest.mark.parametrize("scope", [Scope.CHANNEL, Scope.TENANT])
async def test_a_replaced_credential_ends_what_holds_its_channel_and_its_tenant_back(scope: Scope) -> None:
    _, desk = await held_back(Halted(reason="the token was revoked", scope=scope))

    await desk.apply(plan(sending=OTHER), actor="anna")

    assert await desk.halts() == ()
    released = next(row for row in await desk.audit() if row.verb == "sending release")
    assert (released.actor, released.detail) == ("anna", "the token was revoked")


async def test_applying_the_same_credential_again_releases_nothing() -> None:
    _, desk = await held_back(REVOKED)

    await desk.apply(plan(sending=SECRET), actor="anna")

    assert await reasons(desk) == ["190: the token was revoked"]


async def test_a_dry_run_releases_nothing() -> None:
    _, desk = await held_back(REVOKED)

    await desk.apply(plan(sending=OTHER), dry_run=True, actor="anna")

    assert await reasons(desk) == ["190: the token was revoked"]


async def test_a_new_credential_ends_no_back_off() -> None:
    _, desk = await held_back(Deferred(after=seconds(60), reason="throttled", counts=False, scope=Scope.CHANNEL))

    await desk.apply(plan(sending=OTHER), actor="anna")

    assert await reasons(desk) == ["throttled"]


async def test_a_credential_that_is_set_by_its_name_does_the_same() -> None:
    _, desk = await held_back(REVOKED)
    await desk.secret_set(ACME, SecretName("key"), b"of a model", actor="anna")
    of_another = await reasons(desk)

    await desk.secret_set(ACME, SecretName("channel/shop/signing"), OTHER, actor="anna")

    assert (of_another, await reasons(desk)) == (["190: the token was revoked"], [])


async def test_an_operator_releases_by_hand() -> None:
    _, desk = await held_back(REVOKED)

    assert not await desk.release(ACME, CHANNEL, actor="anna")
    assert await desk.release(ACME, actor="anna")
    assert await desk.halts(ACME) == ()
    with pytest.raises(BadRequest, match="no tenant"):
        await desk.release(TenantId("nobody"), actor="anna")


async def found(desk: Desk) -> Finding:
    (finding,) = (finding for finding in await desk.findings() if finding.about == "sends held back")
    return finding


async def test_the_doctor_says_what_is_held_back_since_when_and_what_to_do() -> None:
    _, desk = await held_back(REVOKED, Halted(reason="the number is locked", scope=Scope.CHANNEL))

    finding = await found(desk)

    assert finding.grade is Grade.LOOK
    assert finding.text.startswith("2: ")
    for part in ("acme since 20", "190: the token was revoked", "acme/shop since 20", "procession apply"):
        assert part in finding.text


async def test_the_doctor_asks_nothing_of_anybody_for_a_back_off() -> None:
    _, desk = await held_back(Deferred(after=seconds(60), reason="throttled", counts=False, scope=Scope.CHANNEL))

    finding = await found(desk)

    assert "throttled" in finding.text
    assert "apply" not in finding.text


async def test_the_doctor_finds_nothing_where_nothing_is_held_back() -> None:
    _, desk = await scene()

    assert await found(desk) == Finding(about="sends held back", grade=Grade.GOOD, text="none")
