"""record: what became of an attempt, or of a probe, is written down once."""

import pytest

from procession.core.effect import DoubtPolicy, EffectState, Receipt, RefusedPolicy, Repeatability
from procession.core.lane import Phase, Side
from procession.core.turn import HeldEffect
from procession.core.verdict import Absent, Confirmed, Deferred, Fate, Refused, Uncertain, Verdict
from tests.conformance.acts import (
    a_doubt,
    an_armed_send,
    ask_for,
    begin,
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
    OTHER,
    TICK,
    TTL,
    a_sighting,
    an_effect,
    an_event,
    seconds,
    some_terms,
    the_effect,
    the_event,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture

KEYED = some_terms(repeatability=Repeatability.KEYED)
PROBED = some_terms(repeatability=Repeatability.PROBED)
VERDICTS: list[Verdict] = [
    Confirmed(ref="r"),
    Deferred(after=seconds(1), reason="throttled"),
    Refused(reason="no such number"),
    Uncertain(reason="the line broke"),
]


async def a_probe(harness: Harness) -> HeldEffect:
    """A doubt that can be probed, claimed for it."""
    await a_doubt(harness, an_effect("0", terms=PROBED), an_effect("1"))
    await pass_time(harness, seconds(1))
    return await claim_send(harness)


@line("D2")
async def test_a_confirmed_effect_has_ended_with_its_reference(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness)

    recorded = await record(harness, send, attempt, Confirmed(ref="ref-1", receipt=Receipt.SENT))

    view = await effect_seen(harness, the_effect())
    assert (recorded.fate, recorded.next) == (Fate.KEPT, None)
    assert (view.state, view.ref, view.receipt) == (EffectState.CONFIRMED, "ref-1", Receipt.SENT)
    assert await phase_of(harness, side=Side.SENDS) is Phase.IDLE


@pytest.mark.parametrize("verdict", VERDICTS)
@line("D1", "G4")
async def test_a_verdict_that_was_kept_is_kept_again_and_changes_nothing(harness: Harness, verdict: Verdict) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0"), an_effect("1"))
    await record(harness, send, attempt, verdict)
    before = await picture(harness)

    again = await record(harness, send, attempt, verdict)

    assert again.fate is Fate.KEPT
    assert await picture(harness) == before


@line("D1", "D7", "G4")
async def test_a_repeated_verdict_answers_the_kept_lanes_next_effect_again(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0"), an_effect("1"))
    first = await record(harness, send, attempt, Confirmed(), ttl=TTL)
    before = await picture(harness)

    again = await record(harness, send, attempt, Confirmed(), ttl=TTL)

    assert first.next is not None
    assert again == first
    assert await picture(harness) == before
    assert await begin(harness, first.next) == 1


@line("D1")
async def test_a_verdict_of_an_older_attempt_is_lost(harness: Harness) -> None:
    send, first = await an_armed_send(harness, an_effect(terms=KEYED))
    await record(harness, send, first, Uncertain(reason="?", after=seconds(0)))
    again = await claim_send(harness)
    await begin(harness, again)
    before = await picture(harness)

    recorded = await record(harness, again, first, Refused(reason="late"))

    assert recorded.fate is Fate.LOST
    assert await picture(harness) == before


@line("D2")
async def test_the_next_effect_goes_at_once_where_acceptance_is_the_gate(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0"), an_effect("1"))

    await record(harness, send, attempt, Confirmed())

    assert (await claim_send(harness)).effect.key == "1"


@line("D2", "S3")
async def test_the_next_effect_waits_for_the_gate_at_most_its_longest_wait(harness: Harness) -> None:
    terms = some_terms(gate=Receipt.DELIVERED, gate_wait=5)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=terms), an_effect("1"))
    await record(harness, send, attempt, Confirmed())

    early = await pass_time(harness, seconds(5) - TICK)
    waiting = await claim_sends(harness)
    swept = await pass_time(harness, TICK)

    assert (waiting, early.gates_expired, swept.gates_expired) == ((), 0, 1)
    assert (await claim_send(harness)).effect.key == "1"
    assert (await harness.console.counts()).gates_expired == 1


@line("D2")
async def test_a_receipt_of_the_answer_itself_may_open_the_gate(harness: Harness) -> None:
    terms = some_terms(gate=Receipt.SENT, gate_wait=60)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=terms), an_effect("1"))

    await record(harness, send, attempt, Confirmed(receipt=Receipt.DELIVERED))

    assert (await claim_send(harness)).effect.key == "1"


@line("D2", "S3")
async def test_the_next_effect_keeps_the_gap(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0", terms=some_terms(gap=2)), an_effect("1"))
    await record(harness, send, attempt, Confirmed(receipt=Receipt.READ))

    await pass_time(harness, seconds(2) - TICK)
    early = await claim_sends(harness)
    swept = await pass_time(harness, TICK)

    assert (early, swept.gates_expired) == ((), 0)
    assert (await claim_send(harness)).effect.key == "1"


@line("D2", "A8")
async def test_an_open_gate_does_not_shorten_the_gap(harness: Harness) -> None:
    terms = some_terms(gate=Receipt.DELIVERED, gate_wait=60, gap=2)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=terms), an_effect("1"))
    await record(harness, send, attempt, Confirmed())

    await see(harness, a_sighting(effect=the_effect("0"), receipt=Receipt.DELIVERED))
    early = await claim_sends(harness)
    await pass_time(harness, seconds(2))

    assert early == ()
    assert (await claim_send(harness)).effect.key == "1"


@line("D2")
async def test_a_gate_holds_also_for_what_is_asked_for_after_it(harness: Harness) -> None:
    terms = some_terms(gate=Receipt.DELIVERED, gate_wait=5)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=terms))
    await record(harness, send, attempt, Confirmed())

    await ask_for(harness, an_effect("0", of=the_event(2)), event=an_event(2))
    early = await claim_sends(harness)
    await pass_time(harness, seconds(5))

    assert early == ()
    assert (await claim_send(harness)).effect.turn == the_event(2)


@line("D3")
async def test_a_deferred_effect_is_pending_again_and_waits(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0"), an_effect("1"))

    await record(harness, send, attempt, Deferred(after=seconds(3), reason="throttled"))
    early = await claim_sends(harness)
    await pass_time(harness, seconds(3))

    again = await claim_send(harness)
    assert early == ()
    assert (again.effect.key, again.effect.state) == ("0", EffectState.PENDING)
    assert (again.effect.attempts, again.effect.tries) == (1, 1)


@line("D3")
async def test_a_deferral_that_is_no_fault_of_the_effect_takes_its_try_back(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect(terms=some_terms(tries_max=1)))

    await record(harness, send, attempt, Deferred(after=seconds(0), reason="account stopped", counts=False))

    again = await claim_send(harness)
    assert (again.effect.attempts, again.effect.tries) == (1, 0)


@line("D3")
async def test_an_effect_whose_tries_are_used_up_is_refused(harness: Harness) -> None:
    terms = some_terms(tries_max=2)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=terms), an_effect("1"))
    await record(harness, send, attempt, Deferred(after=seconds(0), reason="throttled"))
    second = await claim_send(harness)

    await record(harness, second, await begin(harness, second), Deferred(after=seconds(0), reason="throttled"))

    view = await effect_seen(harness, the_effect("0"))
    assert view.state is EffectState.REFUSED
    assert view.reason.startswith("tries used up")
    assert (await claim_send(harness)).effect.key == "1"


@line("D3", "D4")
async def test_used_up_tries_park_the_conversation_where_refusals_do(harness: Harness) -> None:
    terms = some_terms(tries_max=1, on_refused=RefusedPolicy.PARK)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=terms), an_effect("1"))

    await record(harness, send, attempt, Deferred(after=seconds(0), reason="throttled"))

    assert await phase_of(harness, side=Side.SENDS) is Phase.PARKED


@line("D4")
async def test_a_refused_effect_has_ended_and_the_next_goes(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0"), an_effect("1"))

    await record(harness, send, attempt, Refused(reason="no such number", code="131026"))

    view = await effect_seen(harness, the_effect("0"))
    assert view.state is EffectState.REFUSED
    assert "no such number" in view.reason
    assert "131026" in view.reason
    assert (await claim_send(harness)).effect.key == "1"
    assert (await harness.console.counts()).effects_refused == 1


@line("D4")
async def test_a_refusal_may_park_the_conversation(harness: Harness) -> None:
    terms = some_terms(on_refused=RefusedPolicy.PARK)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=terms), an_effect("1"))

    await record(harness, send, attempt, Refused(reason="no such number"))

    view = await lane_seen(harness, side=Side.SENDS)
    assert view.phase is Phase.PARKED
    assert view.reason
    assert await claim_sends(harness) == ()


@line("D5")
async def test_an_unclear_keyed_effect_is_sent_again_after_a_while(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect(terms=KEYED))

    await record(harness, send, attempt, Uncertain(reason="the line broke", after=seconds(2)))
    early = await claim_sends(harness)
    await pass_time(harness, seconds(2))

    again = await claim_send(harness)
    assert early == ()
    assert (again.effect.state, again.effect.attempts) == (EffectState.PENDING, 1)


@line("D5")
async def test_an_unclear_keyed_effect_without_tries_left_is_in_doubt(harness: Harness) -> None:
    terms = some_terms(repeatability=Repeatability.KEYED, tries_max=1)
    send, attempt = await an_armed_send(harness, an_effect(terms=terms))

    await record(harness, send, attempt, Uncertain(reason="the line broke"))

    assert (await effect_seen(harness, the_effect())).state is EffectState.DOUBT


@pytest.mark.parametrize("repeatability", [Repeatability.UNSAFE, Repeatability.PROBED])
@line("D5")
async def test_an_unclear_effect_is_in_doubt_and_nothing_behind_it_goes(
    harness: Harness, repeatability: Repeatability
) -> None:
    terms = some_terms(repeatability=repeatability)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=terms), an_effect("1"))

    await record(harness, send, attempt, Uncertain(reason="the line broke"))

    view = await effect_seen(harness, the_effect("0"))
    assert view.state is EffectState.DOUBT
    assert "the line broke" in view.reason
    assert await claim_sends(harness) == ()
    (doubt,) = await harness.console.doubts()
    assert doubt.id == the_effect("0")
    assert (await harness.console.counts()).effects_in_doubt == 1


@line("D5")
async def test_an_unsafe_doubt_is_not_claimed_for_a_probe(harness: Harness) -> None:
    await a_doubt(harness)

    await pass_time(harness, seconds(30))

    assert await claim_sends(harness) == ()


@line("D5")
async def test_a_doubt_that_can_be_probed_is_claimed_for_it_after_a_while(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0", terms=PROBED), an_effect("1"))
    await record(harness, send, attempt, Uncertain(reason="the line broke", after=seconds(2)))
    early = await claim_sends(harness)

    await pass_time(harness, seconds(2))

    probe = await claim_send(harness, worker=OTHER)
    assert early == ()
    assert (probe.effect.key, probe.effect.state, probe.effect.attempts) == ("0", EffectState.DOUBT, 1)


@line("D6")
async def test_a_probe_that_finds_nothing_makes_the_effect_pending_again(harness: Harness) -> None:
    probe = await a_probe(harness)

    recorded = await record(harness, probe, probe.effect.attempts, Absent(reason="not found"))

    again = await claim_send(harness)
    assert recorded.fate is Fate.KEPT
    assert (again.effect.key, again.effect.state) == ("0", EffectState.PENDING)
    assert await begin(harness, again) == 2


@line("D6", "D2")
async def test_a_probe_that_finds_it_confirms_the_effect(harness: Harness) -> None:
    probe = await a_probe(harness)

    await record(harness, probe, probe.effect.attempts, Confirmed(ref="found"))

    view = await effect_seen(harness, the_effect("0"))
    assert (view.state, view.ref) == (EffectState.CONFIRMED, "found")
    assert (await claim_send(harness)).effect.key == "1"


@line("D6")
async def test_a_probe_without_answer_leaves_the_doubt_to_the_next_probe(harness: Harness) -> None:
    probe = await a_probe(harness)

    await record(harness, probe, probe.effect.attempts, Uncertain(reason="no answer", after=seconds(2)))
    early = await claim_sends(harness)
    await pass_time(harness, seconds(2))

    assert early == ()
    assert (await claim_send(harness)).effect.state is EffectState.DOUBT


@line("D6", "D4")
async def test_a_probe_may_find_a_refusal(harness: Harness) -> None:
    probe = await a_probe(harness)

    await record(harness, probe, probe.effect.attempts, Refused(reason="it was refused"))

    assert (await effect_seen(harness, the_effect("0"))).state is EffectState.REFUSED
    assert (await claim_send(harness)).effect.key == "1"


@line("D6", "S5")
async def test_probes_do_not_prolong_a_doubts_wait(harness: Harness) -> None:
    terms = some_terms(repeatability=Repeatability.PROBED, doubt=DoubtPolicy.SKIP, doubt_wait=5)
    await a_doubt(harness, an_effect("0", terms=terms), an_effect("1"))
    await pass_time(harness, seconds(4))
    probe = await claim_send(harness)
    await record(harness, probe, 1, Uncertain(reason="no answer", after=seconds(3)))

    swept = await pass_time(harness, seconds(1))

    assert swept.doubts_skipped == 1
    assert (await claim_send(harness)).effect.key == "1"


@line("D7")
async def test_with_a_ttl_the_next_effect_is_answered_under_a_new_epoch(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0"), an_effect("1"))

    recorded = await record(harness, send, attempt, Confirmed(), ttl=seconds(20))

    held = recorded.next
    assert held is not None
    assert (held.effect.key, held.effect.state) == ("1", EffectState.PENDING)
    assert held.lease.epoch > send.lease.epoch
    assert (held.lease.worker, held.lease.lane) == (send.lease.worker, send.lease.lane)
    assert await claim_sends(harness, worker=OTHER) == ()
    assert await begin(harness, held) == 1


@line("D7", "S2")
async def test_a_kept_conversation_is_held_for_as_long_as_was_asked(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0"), an_effect("1"))
    await record(harness, send, attempt, Confirmed(), ttl=seconds(20))

    early = await pass_time(harness, seconds(19))
    late = await pass_time(harness, seconds(1))

    assert (early.leases_freed, late.leases_freed) == (0, 1)


@line("D7", "D2")
async def test_a_conversation_behind_a_gate_is_not_kept(harness: Harness) -> None:
    terms = some_terms(gate=Receipt.DELIVERED)
    send, attempt = await an_armed_send(harness, an_effect("0", terms=terms), an_effect("1"))

    recorded = await record(harness, send, attempt, Confirmed(), ttl=TTL)

    assert recorded.next is None
    assert await phase_of(harness, side=Side.SENDS) is Phase.WAITING


@pytest.mark.parametrize("verdict", [VERDICTS[1], VERDICTS[3]])
@line("D7", "D3", "D5")
async def test_a_conversation_whose_head_must_wait_is_not_kept(harness: Harness, verdict: Verdict) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0"), an_effect("1"))

    recorded = await record(harness, send, attempt, verdict, ttl=TTL)

    assert recorded.next is None
    assert await phase_of(harness, side=Side.SENDS) is Phase.WAITING


@line("D7", "D4")
async def test_a_refusal_keeps_the_conversation_for_the_next_effect(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0"), an_effect("1"))

    recorded = await record(harness, send, attempt, Refused(reason="no"), ttl=TTL)

    assert recorded.next is not None
    assert recorded.next.effect.key == "1"


@line("D2", "D5", "G2", needs=(Guarantee.DURABLE,))
async def test_verdicts_survive_a_restart(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0"), an_effect("1"))
    await record(harness, send, attempt, Confirmed(ref="r"))
    second = await claim_send(harness)
    await record(harness, second, await begin(harness, second), Uncertain(reason="?"))

    await harness.reopen()

    states = [(await effect_seen(harness, the_effect(key))).state for key in ("0", "1")]
    assert states == [EffectState.CONFIRMED, EffectState.DOUBT]
