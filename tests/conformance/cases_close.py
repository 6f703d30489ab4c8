"""close, and what is true of every operation."""

from datetime import timedelta

import pytest

from procession.core.errors import StoreError
from tests.conformance.acts import accept, claim, claim_one, event_seen, providers_ids, settle
from tests.conformance.builders import an_event, an_intake, the_event
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture


@line("G4")
async def test_a_store_may_be_closed_twice(harness: Harness) -> None:
    await harness.store.close()

    await harness.store.close()


@line("G3", needs=(Guarantee.DURABLE, Guarantee.CLOSES))
async def test_a_closed_store_says_that_nothing_happened(harness: Harness) -> None:
    store = harness.store
    await store.close()

    with pytest.raises(StoreError):
        await store.accept(an_intake(an_event()))

    await harness.reopen()
    assert await harness.console.why("ann-1") == ()


@line("G2", needs=(Guarantee.DURABLE,))
async def test_what_was_accepted_survives_a_restart_in_its_order(harness: Harness) -> None:
    await accept(harness, *(an_event(n) for n in range(1, 6)))
    before = await picture(harness)

    await harness.reopen()

    assert await picture(harness) == before
    order = []
    for _ in range(5):
        turn = await claim_one(harness)
        order += providers_ids(turn)
        await settle(harness, turn)
    assert order == ["ann-1", "ann-2", "ann-3", "ann-4", "ann-5"]
    assert await claim(harness) == ()


@line("G5", needs=(Guarantee.DURABLE,))
async def test_the_stores_time_does_not_go_backwards_over_a_restart(harness: Harness) -> None:
    await accept(harness, an_event(1))
    harness.clock.set_back(timedelta(hours=1))
    await harness.reopen()

    await accept(harness, an_event(2))

    first, second = [await event_seen(harness, the_event(n)) for n in (1, 2)]
    assert second.accepted_at >= first.accepted_at
