"""Applying a plan: checked as a whole, idempotent, and a secret changes without a moment in which none is valid."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from procession.app.applying import named
from procession.app.plan import Plan
from procession.core.errors import Misconfigured
from procession.core.ids import ChannelName, TenantId
from procession.ports.directory import Change, Tenant
from procession.ports.vault import PLATFORM
from tests.unit.app.scene import ACME, FIELDS, OTHER, SECRET, SHOP, plan, scene


def _signs(changes: tuple[Change, ...]) -> list[str]:
    return [f"{change.sign} {change.what}" for change in changes]


async def test_the_same_plan_again_changes_nothing() -> None:
    world, desk = await scene()

    first = await desk.apply(plan(sending=OTHER), actor="anna")
    again = await desk.apply(plan(sending=OTHER), actor="anna")

    assert _signs(first) == [
        "+ tenant acme",
        "+ endpoint shop",
        "+ channel acme/shop",
        "+ secret endpoint/shop/signing/1",
        "+ secret acme: channel/shop/signing",
    ]
    assert again == ()
    assert (await world.open.directory.snapshot()).version == 1


async def test_a_dry_run_says_the_same_and_writes_nothing() -> None:
    world, desk = await scene()

    told = await desk.apply(plan(), dry_run=True, actor="anna")

    assert (await world.open.directory.snapshot()).version == 0
    assert await world.vault.names(PLATFORM) == ()
    assert await desk.audit() == ()
    assert told == await desk.apply(plan(), actor="anna")


async def test_a_signing_secret_is_changed_without_a_gap() -> None:
    world, desk = await scene()
    await desk.apply(plan(signing=(SECRET,)), actor="anna")

    both = await desk.apply(plan(signing=(OTHER, SECRET)), actor="anna")
    endpoint = (await world.open.directory.snapshot()).endpoints[SHOP]
    assert [await world.vault.open(PLATFORM, name) for name in endpoint.signing] == [OTHER, SECRET]
    assert "+ secret endpoint/shop/signing/2" in _signs(both)

    new = await desk.apply(plan(signing=(OTHER,)), actor="anna")
    endpoint = (await world.open.directory.snapshot()).endpoints[SHOP]
    assert [await world.vault.open(PLATFORM, name) for name in endpoint.signing] == [OTHER]
    assert "- secret endpoint/shop/signing/1" in _signs(new)
    assert [name for name, _ in await world.vault.names(PLATFORM)] == list(endpoint.signing)


async def test_a_changed_secret_is_a_new_version_of_the_directory() -> None:
    """Other processes follow versions: a door that stayed at its version would keep the old secret open."""
    world, desk = await scene()
    await desk.apply(plan(signing=(SECRET,)), actor="anna")

    await desk.apply(plan(signing=(OTHER,)), actor="anna")

    assert (await world.open.directory.snapshot()).version == 2


async def test_a_channels_secret_is_replaced_and_shown_as_changed_only() -> None:
    world, desk = await scene()
    await desk.apply(plan(sending=SECRET), actor="anna")

    changes = await desk.apply(plan(sending=OTHER), actor="anna")

    assert _signs(changes) == ["~ secret acme: channel/shop/signing"]
    assert not [change for change in changes if OTHER.decode() in change.detail or SECRET.decode() in change.detail]
    channel = (await world.open.directory.snapshot()).channels[ACME, ChannelName("shop")]
    assert await world.vault.open(ACME, channel.secrets["signing"]) == OTHER


async def test_what_nobody_names_any_more_is_forgotten() -> None:
    world, desk = await scene()
    await desk.apply(plan(sending=OTHER), actor="anna")

    await desk.apply(Plan(), actor="anna")

    snapshot = await world.open.directory.snapshot()
    assert named(snapshot) == set()
    assert await world.vault.names(PLATFORM) == await world.vault.names(ACME) == ()


async def test_the_rules_of_the_application_stay() -> None:
    from datetime import timedelta

    from procession.ports.directory import CollectRule

    world, desk = await scene()
    rule = CollectRule(kinds=("text",), quiet=timedelta(seconds=1), wait_max=timedelta(seconds=9), events_max=5)
    current = await world.open.directory.snapshot()
    await world.open.directory.change(replace(current, collects=(rule,)), actor="serve")

    await desk.apply(plan(), actor="anna")

    assert (await world.open.directory.snapshot()).collects == (rule,)


def _endpoint_of(tenant: str) -> Plan:
    made = plan()
    return replace(made, endpoints=(replace(made.endpoints[0], tenant=TenantId(tenant)),))


def _channel_with(**changed: object) -> Plan:
    made = plan()
    return replace(made, channels=(replace(made.channels[0], **changed),))  # type: ignore[arg-type]  # any field, to break it


def _two_channels(first: str, second: str) -> Plan:
    made = plan()
    one = made.channels[0]
    return replace(
        made, channels=(replace(one, account=first), replace(one, name=ChannelName("second"), account=second))
    )


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        (lambda: plan(signing=(b"short",)), "signing 1 has 5 bytes"),
        (lambda: plan(endpoint={"signature_hedaer": "x"}), "endpoint shop: .*did you mean 'signature_header'"),
        (lambda: plan(channel={"id": "/id", "lane": "/who"}), "channel acme/shop: kind must say"),
        (lambda: plan(channel={**FIELDS, "gate": "soon"}), "channel acme/shop: gate"),
        (lambda: plan(tenants=()), "no tenant 'acme'"),
        (lambda: _endpoint_of("nobody"), "endpoint shop: there is no tenant 'nobody'"),
        (lambda: _channel_with(connector="pidgin"), "no connector 'pidgin'"),
        (lambda: _channel_with(connector="standard"), "speaks plain, not standard"),
        (lambda: _channel_with(endpoint="other"), "no endpoint 'other'"),
        (lambda: _two_channels("", ""), "have the same account"),
    ],
)
async def test_a_broken_plan_is_refused_before_anything_is_written(broken: Callable[[], Plan], says: str) -> None:
    world, desk = await scene()

    with pytest.raises(Misconfigured, match=says):
        await desk.apply(broken(), actor="anna")

    assert (await world.open.directory.snapshot()).version == 0
    assert await world.vault.names(PLATFORM) == ()


async def test_one_tenants_endpoint_serves_no_other_tenant() -> None:
    _, desk = await scene()
    made = _endpoint_of("other")
    made = replace(made, tenants=(Tenant(id=ACME), Tenant(id=TenantId("other"))))

    with pytest.raises(Misconfigured, match="belongs to tenant other"):
        await desk.apply(made, actor="anna")


async def test_accounts_tell_the_channels_of_one_endpoint_apart() -> None:
    world, desk = await scene()

    await desk.apply(_two_channels("a", "b"), actor="anna")

    assert len((await world.open.directory.snapshot()).channels) == 2


async def test_what_a_doubt_policy_may_cost_is_said_when_it_is_set_and_not_again() -> None:
    _, desk = await scene()
    daring = plan(channel={**FIELDS, "doubt_policy": "resend"})

    imagined = await desk.apply(daring, dry_run=True, actor="anna")
    made = await desk.apply(daring, actor="anna")
    again = await desk.apply(daring, actor="anna")
    other = await desk.apply(plan(channel={**FIELDS, "doubt_policy": "skip"}), actor="anna")
    safe = await desk.apply(plan(), actor="anna")

    said = [[change for change in changes if change.sign == "!"] for changes in (imagined, made, again, other, safe)]
    assert said[0] == said[1]
    assert [change.what for change in said[0]] == ["channel acme/shop"]
    assert "twice" in said[0][0].detail
    assert again == ()
    assert "missed" in said[3][0].detail
    assert said[4] == []
