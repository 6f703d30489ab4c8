"""A quarantined body is read once more with the directory as it is now."""

from dataclasses import replace

import pytest

from procession.app.desk import Desk
from procession.app.wiring import World
from procession.core.errors import BadRequest
from procession.core.event import Intake, Quarantined
from procession.core.ids import EndpointName, QuarantineId
from tests.unit.app.scene import SHOP, plan, scene

KEPT = QuarantineId("q1")


async def _kept(body: bytes) -> tuple[World, Desk]:
    world, desk = await scene()
    await _keep(world, body)
    return world, desk


async def _keep(world: World, body: bytes) -> None:
    kept = Quarantined(id=KEPT, endpoint=SHOP, reason="why not", body=body)
    await world.open.store.accept(Intake(endpoint=SHOP, quarantined=(kept,)))


async def test_it_takes_the_place_of_now_and_leaves_the_quarantine() -> None:
    _, desk = await _kept(b'{"id":"e1","who":"bob"}')
    await desk.apply(plan(), actor="anna")

    (event,) = await desk.quarantine_route(KEPT, actor="anna")

    (view,) = await desk.why(event)
    assert (view.provider_id, view.lane_key, view.seq) == ("e1", "bob", 1)
    assert await desk.quarantine() == ()
    assert [row.verb for row in await desk.audit(limit=2)] == ["quarantine route", "quarantine show"]


async def test_an_event_that_came_meanwhile_is_not_accepted_twice() -> None:
    world, desk = await _kept(b'{"id":"e1","who":"bob"}')
    await desk.apply(plan(), actor="anna")
    first = await desk.quarantine_route(KEPT, actor="anna")
    await _keep(world, b'{"id":"e1","who":"bob"}')

    assert await desk.quarantine_route(KEPT, actor="anna") == first

    assert (await desk.counts()).accepted == 1


async def test_an_element_of_a_list_is_read_by_itself() -> None:
    _, desk = await _kept(b'{"id":"e1","who":"bob"}')
    await desk.apply(plan(endpoint={"elements": "/items"}), actor="anna")

    (event,) = await desk.quarantine_route(KEPT, actor="anna")

    assert (await desk.why(event))[0].provider_id == "e1"


async def test_what_still_cannot_be_read_stays_and_says_why() -> None:
    _, desk = await _kept(b'{"who":"bob"}')
    await desk.apply(plan(), actor="anna")

    with pytest.raises(BadRequest, match="still cannot be read: id is missing"):
        await desk.quarantine_route(KEPT, actor="anna")

    assert len(await desk.quarantine()) == 1


async def test_another_endpoint_may_be_named() -> None:
    _, desk = await _kept(b'{"id":"e1","who":"bob"}')
    made = plan()
    other = EndpointName("other")
    renamed = replace(
        made,
        endpoints=(replace(made.endpoints[0], name=other),),
        channels=(replace(made.channels[0], endpoint=other),),
    )
    await desk.apply(renamed, actor="anna")
    with pytest.raises(BadRequest, match="no endpoint 'shop'"):
        await desk.quarantine_route(KEPT, actor="anna")

    assert len(await desk.quarantine_route(KEPT, other, actor="anna")) == 1
