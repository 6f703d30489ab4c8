"""Whoever waits for statuses that never come is told: nothing orders a handset, and nothing proves a doubt, without."""

from procession.app.desk import Desk
from procession.app.health import Finding, Grade
from procession.app.plan import Plan, PlannedChannel, PlannedEndpoint
from procession.app.wiring import World
from procession.core.effect import Receipt
from procession.core.event import Sighting
from procession.core.ids import ChannelName, EndpointName
from procession.core.verdict import Confirmed
from procession.ports.directory import Setting, Tenant
from tests.conformance.builders import a_settlement, an_ask, an_effect, an_event, an_intake
from tests.unit.app.scene import ACME, SECRET, plan, scene

META, MAIN = EndpointName("meta"), ChannelName("main")


def whatsapp(**settings: Setting) -> Plan:
    return Plan(
        tenants=(Tenant(id=ACME),),
        endpoints=(PlannedEndpoint(name=META, connector="whatsapp", signing=(SECRET,)),),
        channels=(
            PlannedChannel(tenant=ACME, name=MAIN, endpoint=META, connector="whatsapp", account="1", settings=settings),
        ),
    )


async def sent(world: World) -> None:
    """One effect, confirmed by the provider's own answer."""
    store = world.open.store
    await store.accept(an_intake(an_event(channel=MAIN)))
    (turn,) = await store.claim_turns(an_ask())
    await store.settle(a_settlement(turn, effects=(an_effect(of=turn.id, lane=turn.lane_key, channel=MAIN),)))
    (send,) = await store.claim_sends(an_ask())
    await store.begin(send.lease, send.effect.id, 1)
    await store.record(send.lease, send.effect.id, 1, Confirmed(ref="wamid.1"), None)


async def found(desk: Desk) -> Finding:
    (finding,) = (finding for finding in await desk.findings() if finding.about == "statuses")
    return finding


async def test_the_doctor_says_that_no_status_ever_came_and_what_happens_instead() -> None:
    world, desk = await scene()
    await desk.apply(whatsapp(), actor="anna")
    await sent(world)

    finding = await found(desk)

    assert finding.grade is Grade.LOOK
    for part in ("acme/main", "0.5 s", "`messages`"):
        assert part in finding.text
    assert (await desk.listing()).silent == ("acme/main",)


async def test_before_anything_was_sent_nobody_has_to_look() -> None:
    _, desk = await scene()
    await desk.apply(whatsapp(), actor="anna")

    assert (await found(desk)).grade is Grade.GOOD


async def test_the_first_status_ends_it() -> None:
    world, desk = await scene()
    await desk.apply(whatsapp(), actor="anna")
    await sent(world)

    sighting = Sighting(tenant=ACME, channel=MAIN, receipt=Receipt.SENT, ref="wamid.1")
    await world.open.store.accept(an_intake(sightings=(sighting,)))

    assert (await found(desk)).grade is Grade.GOOD
    assert (await desk.listing()).silent == ()


async def test_channels_that_wait_for_no_status_are_not_named() -> None:
    _, desk = await scene()
    await desk.apply(whatsapp(gate="accepted"), actor="anna")
    whatsapp_accepted = (await desk.listing()).silent
    await desk.apply(plan(), actor="anna")

    assert whatsapp_accepted == (await desk.listing()).silent == ()
