"""accept: what comes in is written down once, in order, and wakes whom it concerns."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from procession.core.effect import EffectState, Receipt
from procession.core.event import EventState
from procession.core.lane import Phase, Side
from procession.core.turn import Park, SetAside
from procession.core.verdict import Confirmed, Refused
from tests.conformance.acts import (
    a_doubt,
    a_running_turn,
    a_send,
    accept,
    an_armed_send,
    ask_for,
    claim,
    claim_one,
    claim_send,
    claim_sends,
    effect_seen,
    event_seen,
    lane_seen,
    pass_time,
    phase_of,
    providers_ids,
    record,
    see,
    settle,
)
from tests.conformance.builders import (
    ACME,
    BOLT,
    OPERATOR,
    a_quarantined,
    a_sighting,
    an_effect,
    an_event,
    number,
    seconds,
    some_terms,
    the_effect,
    the_event,
    the_lane,
    version,
)
from tests.conformance.harness import Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture

HOSTILE = b'{"a":"\\u0000\\ud800","n":1e999,"n":2, "s":"\xed\xa0\x80' + b"\x00\xff'\";--" + bytes(range(256)) + b'"}'


@line("A1")
async def test_a_payload_is_kept_byte_for_byte(harness: Harness) -> None:
    await accept(harness, an_event(payload=HOSTILE))

    turn = await claim_one(harness)

    assert turn.events[0].payload == HOSTILE


@line("A1")
async def test_an_event_is_claimed_as_it_was_accepted(harness: Harness) -> None:
    new = an_event(7, lane="ann's lane", kind="order.paid")

    await accept(harness, new)

    (event,) = (await claim_one(harness)).events
    assert (event.tenant, event.channel, event.lane, event.lane_key) == (ACME, new.channel, new.lane, "ann's lane")
    assert (event.id, event.provider_id, event.kind) == (new.id, new.provider_id, "order.paid")
    assert (event.accepted_at, event.late) == (harness.clock.now(), False)


@line("A1", "G4")
async def test_a_redelivered_event_keeps_its_seq_and_changes_nothing(harness: Harness) -> None:
    (first,) = await accept(harness, an_event())
    seen = await event_seen(harness, the_event())

    harness.clock.advance(seconds(5))
    (again,) = await accept(harness, an_event(payload=b"something else"))

    assert (first.fresh, first.seq) == (True, 1)
    assert (again.event, again.fresh, again.seq) == (the_event(), False, None)
    assert await event_seen(harness, the_event()) == seen
    assert (await claim_one(harness)).events[0].payload == an_event().payload


@line("A1")
async def test_a_redelivered_event_is_not_played_again_once_it_is_done(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness))

    (again,) = await accept(harness, an_event())

    assert not again.fresh
    assert (await event_seen(harness, the_event())).state is EventState.DONE
    assert await claim(harness) == ()


@line("A1")
async def test_a_redelivered_event_stays_set_aside(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness), SetAside(reason="bad"))

    (again,) = await accept(harness, an_event())

    assert not again.fresh
    assert (await event_seen(harness, the_event())).state is EventState.SET_ASIDE
    assert await claim(harness) == ()


@line("A1")
async def test_a_redelivered_event_stays_skipped(harness: Harness) -> None:
    await accept(harness, an_event())
    await harness.console.skip(ACME, the_lane(), actor=OPERATOR)

    (again,) = await accept(harness, an_event())

    assert not again.fresh
    assert (await event_seen(harness, the_event())).state is EventState.SKIPPED
    assert await claim(harness) == ()


@line("A1")
async def test_a_redelivered_event_stays_held_for_its_predecessor(harness: Harness) -> None:
    await accept(harness, an_event(2, order=number(2)))

    (again,) = await accept(harness, an_event(2, order=number(2)))

    assert not again.fresh
    assert (await event_seen(harness, the_event(2))).state is EventState.HELD
    assert (await harness.console.counts(ACME)).held == 1


@line("A1")
async def test_an_event_that_is_twice_in_one_intake_is_one_event(harness: Harness) -> None:
    first, twin, other = await accept(harness, an_event(1), an_event(1, payload=b"twin"), an_event(2))

    assert [(first.fresh, first.seq), (twin.fresh, twin.seq), (other.fresh, other.seq)] == [
        (True, 1),
        (False, None),
        (True, 2),
    ]


@line("A1", "G7")
async def test_the_same_id_of_two_tenants_is_two_events(harness: Harness) -> None:
    mine, theirs = an_event(tenant=ACME), an_event(tenant=BOLT)
    same_id = type(theirs)(
        tenant=BOLT,
        channel=theirs.channel,
        lane=theirs.lane,
        lane_key=theirs.lane_key,
        id=mine.id,
        provider_id=theirs.provider_id,
        kind=theirs.kind,
        payload=b"theirs",
    )

    first, second = await accept(harness, mine, same_id)

    assert (first.fresh, second.fresh) == (True, True)
    payloads = {turn.lease.tenant: turn.events[0].payload for turn in await claim(harness)}
    assert payloads == {ACME: mine.payload, BOLT: b"theirs"}


@line("A1")
async def test_duplicates_are_counted(harness: Harness) -> None:
    await accept(harness, an_event())

    await accept(harness, an_event())

    counts = await harness.console.counts(ACME)
    assert (counts.accepted, counts.duplicates) == (1, 1)


@line("A2")
async def test_events_take_their_lanes_next_seq_in_the_order_of_the_intake(harness: Harness) -> None:
    first = await accept(harness, an_event(1, lane="ann"), an_event(1, lane="bob"), an_event(2, lane="ann"))
    second = await accept(harness, an_event(2, lane="bob"), an_event(9, lane="ann"), an_event(1, lane="ann"))

    assert [place.seq for place in first] == [1, 1, 2]
    assert [place.seq for place in second] == [2, 3, None]


@line("A2", "G1")
async def test_concurrent_intakes_leave_no_gap(harness: Harness) -> None:
    events = [an_event(n) for n in range(40)]

    answers = await asyncio.gather(*(accept(harness, event) for event in events))

    assert sorted(place.seq or 0 for (place,) in answers) == list(range(1, 41))
    seqs = {}
    for _ in events:
        turn = await claim_one(harness)
        seqs[turn.id] = turn.events[0].seq
        await settle(harness, turn)
    assert list(seqs.values()) == list(range(1, 41))
    assert seqs == {place.event: place.seq for (place,) in answers}


@line("A2")
async def test_a_lane_keeps_counting_after_all_was_played(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness))

    (place,) = await accept(harness, an_event(2))

    assert place.seq == 2


@line("A2", "G1", "G9")
async def test_intakes_that_name_lanes_in_opposite_orders_do_not_block_one_another(harness: Harness) -> None:
    lanes = ["ann", "bob", "cid", "dan"]

    await asyncio.gather(
        *(
            accept(harness, *(an_event(n, lane=lane) for lane in (lanes if n % 2 else reversed(lanes))))
            for n in range(20)
        )
    )

    assert [(await lane_seen(harness, lane)).waiting for lane in lanes] == [20, 20, 20, 20]


@line("A7", "G8")
async def test_an_event_makes_a_lane_at_rest_ready(harness: Harness) -> None:
    await accept(harness, an_event(1))
    fresh = await phase_of(harness)
    await settle(harness, await claim_one(harness))
    empty = await phase_of(harness)

    await accept(harness, an_event(2))

    assert (fresh, empty, await phase_of(harness)) == (Phase.READY, Phase.IDLE, Phase.READY)


@line("A7")
async def test_an_event_leaves_a_held_lane_held(harness: Harness) -> None:
    turn = await a_running_turn(harness)

    await accept(harness, an_event(2))

    assert await phase_of(harness) is Phase.HELD
    assert providers_ids(turn) == ["ann-1"]
    assert await claim(harness) == ()


@line("A7")
async def test_an_event_leaves_a_parked_lane_parked(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness), Park(reason="ask Olive"))

    await accept(harness, an_event(2))

    assert await phase_of(harness) is Phase.PARKED
    assert await claim(harness) == ()


@line("A7")
async def test_an_event_leaves_a_paused_lane_paused(harness: Harness) -> None:
    await accept(harness, an_event(1))
    await harness.console.pause(ACME, the_lane(), None, actor=OPERATOR)

    await accept(harness, an_event(2))

    assert await phase_of(harness) is Phase.PAUSED
    assert await claim(harness) == ()


@line("A7", "G8")
async def test_the_first_event_of_a_lane_that_was_paused_before_it_waits_for_the_pause(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness))
    await harness.console.pause(ACME, the_lane(), seconds(5), actor=OPERATOR)

    await accept(harness, an_event(2))
    early = await claim(harness)
    await pass_time(harness, seconds(5))

    assert early == ()
    assert providers_ids(await claim_one(harness)) == ["ann-2"]


@line("A8")
async def test_a_sighting_by_our_id_proves_a_doubt(harness: Harness) -> None:
    await a_doubt(harness)

    await see(harness, a_sighting(effect=the_effect(), receipt=Receipt.SENT))

    view = await effect_seen(harness, the_effect())
    assert (view.state, view.receipt) == (EffectState.CONFIRMED, Receipt.SENT)


@line("A8")
async def test_a_sighting_by_the_providers_reference_finds_its_effect(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness)
    await record(harness, send, attempt, Confirmed(ref="ref-1"))

    await see(harness, a_sighting(ref="ref-1", receipt=Receipt.DELIVERED))

    assert (await effect_seen(harness, the_effect())).receipt is Receipt.DELIVERED


@line("A8", "D2")
async def test_a_sighting_that_comes_before_the_calls_own_answer_is_kept_for_it(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness)

    await see(harness, a_sighting(ref="ref-1", receipt=Receipt.DELIVERED))
    await record(harness, send, attempt, Confirmed(ref="ref-1"))

    assert (await effect_seen(harness, the_effect())).receipt is Receipt.DELIVERED


@line("A8", "D2")
async def test_of_early_sightings_only_a_failed_one_says_why(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness)

    await see(harness, replace(a_sighting(ref="ref-1"), detail="a remark"))
    await see(harness, a_sighting(ref="ref-1", failed=True))
    await record(harness, send, attempt, Confirmed(ref="ref-1"))

    seen = await effect_seen(harness, the_effect())
    assert (seen.failed, seen.reason) == (True, "")


@line("A8")
async def test_a_sighting_of_nothing_known_changes_nothing(harness: Harness) -> None:
    await a_send(harness)
    before = await picture(harness)

    await see(harness, a_sighting(effect=the_effect("unknown")))

    assert await picture(harness) == before


@line("A8", "G7")
async def test_a_sighting_counts_only_for_its_own_tenant_and_channel(harness: Harness) -> None:
    await a_doubt(harness)
    other_channel = a_sighting(effect=the_effect(), channel=type(an_event().channel)("other"))
    before = await effect_seen(harness, the_effect())

    await see(harness, a_sighting(effect=the_effect(), tenant=BOLT), other_channel)

    assert await effect_seen(harness, the_effect()) == before


@line("A8", "G7")
async def test_a_reference_counts_only_within_its_own_tenant_and_channel(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness)
    await record(harness, send, attempt, Confirmed(ref="ref-1"))
    other = type(an_event().channel)("other")

    await see(
        harness,
        a_sighting(ref="ref-1", receipt=Receipt.READ, tenant=BOLT),
        a_sighting(ref="ref-1", receipt=Receipt.READ, channel=other),
    )

    assert (await effect_seen(harness, the_effect())).receipt is Receipt.ACCEPTED


@line("A8", "G7")
async def test_a_kept_reference_is_found_only_within_its_own_tenant_and_channel(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness)
    other = type(an_event().channel)("other")

    await see(
        harness,
        a_sighting(ref="ref-1", receipt=Receipt.READ, tenant=BOLT),
        a_sighting(ref="ref-1", receipt=Receipt.READ, channel=other),
    )
    await record(harness, send, attempt, Confirmed(ref="ref-1"))

    assert (await effect_seen(harness, the_effect())).receipt is Receipt.ACCEPTED


@line("A8")
async def test_a_receipt_climbs_and_never_falls(harness: Harness) -> None:
    await a_doubt(harness)
    climb = []

    for receipt in (Receipt.SENT, Receipt.READ, Receipt.DELIVERED, Receipt.ACCEPTED):
        await see(harness, a_sighting(effect=the_effect(), receipt=receipt))
        climb.append((await effect_seen(harness, the_effect())).receipt)

    assert climb == [Receipt.SENT, Receipt.READ, Receipt.READ, Receipt.READ]


@line("A8")
async def test_a_failed_sighting_proves_acceptance_and_says_so_beside_the_ladder(harness: Harness) -> None:
    await a_doubt(harness)

    await see(harness, a_sighting(effect=the_effect(), receipt=Receipt.NONE, failed=True))

    view = await effect_seen(harness, the_effect())
    assert (view.state, view.failed) == (EffectState.CONFIRMED, True)


@line("A8")
async def test_a_sighting_proves_an_effect_from_each_state_that_has_not_ended(harness: Harness) -> None:
    await ask_for(harness, an_effect("pending"), event=an_event(1, lane="p"))
    first = await claim_send(harness)
    await harness.store.release([first.lease])
    await ask_for(harness, an_effect("armed", lane="a"), event=an_event(1, lane="a"))
    (armed,) = [send for send in await claim_sends(harness) if send.effect.key == "armed"]
    await harness.store.begin(armed.lease, armed.effect.id, 1)

    await see(harness, a_sighting(effect=the_effect("pending")), a_sighting(effect=the_effect("armed")))

    states = [(await effect_seen(harness, the_effect(key))).state for key in ("pending", "armed")]
    assert states == [EffectState.CONFIRMED, EffectState.CONFIRMED]


@line("A8")
async def test_a_sighting_does_not_move_what_has_ended(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness)
    await record(harness, send, attempt, Refused(reason="no such number", code="131026"))

    await see(harness, a_sighting(effect=the_effect(), receipt=Receipt.DELIVERED))

    assert (await effect_seen(harness, the_effect())).state is EffectState.REFUSED


@line("A8")
async def test_a_sighting_opens_the_gate_of_its_conversation(harness: Harness) -> None:
    gated = some_terms(gate=Receipt.DELIVERED, gate_wait=60)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=gated), an_effect("1"))
    await record(harness, send, attempt, Confirmed(ref="ref-1"))
    early = await claim_sends(harness)

    await see(harness, a_sighting(ref="ref-1", receipt=Receipt.READ))

    assert early == ()
    assert (await claim_send(harness)).effect.key == "1"


@line("A8")
async def test_a_sighting_below_the_gate_does_not_open_it(harness: Harness) -> None:
    gated = some_terms(gate=Receipt.DELIVERED, gate_wait=60)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=gated), an_effect("1"))
    await record(harness, send, attempt, Confirmed(ref="ref-1"))

    await see(harness, a_sighting(ref="ref-1", receipt=Receipt.SENT))

    assert await claim_sends(harness) == ()
    assert await phase_of(harness, side=Side.SENDS) is Phase.WAITING


@line("A8")
async def test_a_proof_lets_a_conversation_go_on_that_was_parked_for_its_doubt(harness: Harness) -> None:
    await a_doubt(harness, an_effect("0", terms=some_terms(doubt_wait=5)), an_effect("1"))
    await pass_time(harness, seconds(5))
    parked = await phase_of(harness, side=Side.SENDS)

    await see(harness, a_sighting(effect=the_effect("0")))

    assert parked is Phase.PARKED
    assert (await claim_send(harness)).effect.key == "1"


@line("A9", "K3")
async def test_a_quarantined_body_is_stored_once_and_byte_for_byte(harness: Harness) -> None:
    kept = a_quarantined(HOSTILE)

    await accept(harness, quarantined=(kept, kept))
    await accept(harness, quarantined=(kept,))

    (view,) = await harness.console.quarantine()
    shown = await harness.console.quarantine_show(kept.id, actor=OPERATOR)
    assert (view.id, view.endpoint, view.reason, view.body) == (kept.id, kept.endpoint, "not JSON", None)
    assert (view.body_bytes, shown.body, shown.headers) == (len(HOSTILE), HOSTILE, kept.headers)
    assert (await harness.console.counts()).quarantined == 1


@line("A1", "A8", "A9", "G1")
async def test_an_intake_may_hold_everything_at_once(harness: Harness) -> None:
    await a_doubt(harness)

    await accept(
        harness,
        an_event(2),
        an_event(3, order=version(1)),
        an_event(4, lane="bob", order=number(2)),
        sightings=(a_sighting(effect=the_effect()),),
        quarantined=(a_quarantined(),),
    )

    counts = await harness.console.counts()
    assert (counts.waiting, counts.held, counts.quarantined, counts.effects_confirmed) == (2, 1, 1, 1)


@line("A2")
async def test_an_empty_intake_is_accepted(harness: Harness) -> None:
    before = await picture(harness)

    placements = await accept(harness)

    assert placements == ()
    assert await picture(harness) == before


@line("G5")
async def test_the_stores_time_does_not_go_backwards_when_the_wall_clock_does(harness: Harness) -> None:
    await accept(harness, an_event(1))
    harness.clock.set_back(timedelta(hours=1))

    await accept(harness, an_event(2))

    first, second = [await event_seen(harness, the_event(n)) for n in (1, 2)]
    assert second.accepted_at >= first.accepted_at
