"""prune: what ended long ago is forgotten, and nothing else."""

from datetime import timedelta

import pytest

from procession.core.errors import BadRequest
from procession.core.event import Stale
from procession.core.limits import DEDUP_KEEP_MIN
from procession.core.turn import SetAside
from procession.core.verdict import Confirmed
from procession.ports.store import Pruned
from tests.conformance.acts import (
    a_doubt,
    a_running_turn,
    accept,
    an_armed_send,
    begin,
    claim_one,
    claim_send,
    claim_sends,
    event_seen,
    lane_seen,
    record,
    see,
    settle,
)
from tests.conformance.builders import (
    ACME,
    MANY,
    OPERATOR,
    a_quarantined,
    a_sighting,
    a_step,
    an_effect,
    an_event,
    number,
    seconds,
    the_effect,
    the_event,
    the_lane,
    version,
)
from tests.conformance.harness import Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture

KEEP = DEDUP_KEEP_MIN
LONG = KEEP + seconds(1)


async def prune(harness: Harness) -> Pruned:
    return await harness.store.prune(KEEP, MANY)


@line("P1")
async def test_what_ended_long_ago_is_forgotten_and_with_it_the_memory_of_its_id(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness)
    await record(harness, send, attempt, Confirmed(ref="r"))
    harness.clock.advance(LONG)

    pruned = await prune(harness)
    (again,) = await accept(harness, an_event())

    assert pruned.rows > 0
    assert await harness.console.why(the_effect(), ACME) == ()
    assert again.fresh


@line("P2", "A2")
async def test_a_lane_keeps_its_counters_for_ever(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await settle(harness, turn, state=b"kept", effects=(an_effect(),))
    send = await claim_send(harness)
    await record(harness, send, await begin(harness, send), Confirmed())
    harness.clock.advance(LONG)
    await prune(harness)

    (place,) = await accept(harness, an_event(2))
    again = await claim_one(harness)
    await settle(harness, again, effects=(an_effect("0", of=the_event(2)),))

    assert (place.seq, again.state) == (2, b"kept")
    assert again.lease.epoch > turn.lease.epoch
    assert (await claim_send(harness)).effect.oseq == 2


@line("P2", "A3")
async def test_a_lane_remembers_for_ever_which_number_it_expects(harness: Harness) -> None:
    await accept(harness, an_event(1, order=number(1)))
    await settle(harness, await claim_one(harness))
    harness.clock.advance(LONG)
    await prune(harness)

    (place,) = await accept(harness, an_event(2, order=number(2)))

    assert place.seq == 2
    assert not (await event_seen(harness, the_event(2))).late


@line("P1")
async def test_what_ended_lately_stays(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness))
    harness.clock.advance(KEEP - seconds(1))

    pruned = await prune(harness)
    (again,) = await accept(harness, an_event())

    assert pruned == Pruned(rows=0, more=False)
    assert not again.fresh


@line("P1")
async def test_age_counts_from_the_end(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    harness.clock.advance(LONG)
    await settle(harness, turn)

    await prune(harness)

    (again,) = await accept(harness, an_event())
    assert not again.fresh


@line("P1")
async def test_what_was_dropped_or_skipped_is_forgotten_too(harness: Harness) -> None:
    await accept(harness, an_event(1, order=version(5)), an_event(2, order=version(4, stale=Stale.DROP)))
    await harness.console.skip(ACME, the_lane(), actor=OPERATOR)
    harness.clock.advance(LONG)

    await prune(harness)

    places = await accept(harness, an_event(1), an_event(2))
    assert [place.fresh for place in places] == [True, True]


@line("P1")
async def test_what_has_not_ended_is_never_forgotten(harness: Harness) -> None:
    await a_doubt(harness)
    await a_running_turn(harness, an_event(2))
    await accept(harness, an_event(3), an_event(9, order=number(9)))
    harness.clock.advance(LONG * 10)

    await prune(harness)

    places = await accept(harness, an_event(2), an_event(3), an_event(9))
    assert [place.fresh for place in places] == [False, False, False]
    assert (await harness.console.counts(ACME)).effects_in_doubt == 1


@line("P2")
async def test_what_was_set_aside_quarantined_or_audited_stays_until_it_is_dropped(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, [a_step()])
    await settle(harness, turn, SetAside(reason="bad"))
    await accept(harness, quarantined=(a_quarantined(),))
    before = await picture(harness)
    harness.clock.advance(LONG * 10)

    await prune(harness)

    assert await picture(harness) == before
    (again,) = await accept(harness, an_event())
    assert not again.fresh
    await harness.console.replay(ACME, the_event(), actor=OPERATOR)
    assert (await claim_one(harness)).steps == (a_step(),)


@line("P1", "M2", "T3")
async def test_what_a_turn_has_flushed_is_remembered_as_long_as_it_may_be_tried_once_more(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, flush=(an_effect(),))
    await settle(harness, turn, SetAside(reason="it failed after its first bubble"))
    send = await claim_send(harness)
    await record(harness, send, await begin(harness, send), Confirmed())
    harness.clock.advance(LONG)
    await prune(harness)

    await harness.console.replay(ACME, turn.id, actor=OPERATOR)
    await settle(harness, await claim_one(harness), effects=(an_effect(),))

    assert await claim_sends(harness) == ()


@line("P1", "P2", "T3")
async def test_what_a_set_aside_turn_has_sent_is_remembered_for_its_replay(harness: Harness) -> None:
    """However old it is: forgotten, it would be sent a second time."""
    turn = await a_running_turn(harness)
    await harness.store.remember(turn.lease, turn.id, flush=[an_effect()])
    send = await claim_send(harness)
    await record(harness, send, await begin(harness, send), Confirmed())
    await settle(harness, turn, SetAside(reason="bad"))
    harness.clock.advance(LONG)
    await prune(harness)

    await harness.console.replay(ACME, the_event(), actor=OPERATOR)
    await settle(harness, await claim_one(harness), effects=(an_effect(),))

    assert await claim_sends(harness) == ()


@line("P2", "C5")
async def test_a_replay_knows_when_its_first_try_was_however_long_ago(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await settle(harness, turn, SetAside(reason="bad"))
    harness.clock.advance(LONG)
    await prune(harness)

    await harness.console.replay(ACME, the_event(), actor=OPERATOR)

    assert (await claim_one(harness)).first_try_at == turn.first_try_at
    assert [each.how for each in (await event_seen(harness, the_event())).tries] == ["set aside", "running"]


@line("P1", "A8")
async def test_a_sighting_that_found_no_effect_is_forgotten(harness: Harness) -> None:
    await see(harness, a_sighting(ref="r"))
    harness.clock.advance(LONG)

    assert (await prune(harness)).rows >= 1
    assert (await prune(harness)).rows == 0


@line("P1", "G3")
async def test_ids_cannot_be_forgotten_while_a_provider_may_still_repeat_them(harness: Harness) -> None:
    with pytest.raises(BadRequest):
        await harness.store.prune(DEDUP_KEEP_MIN - timedelta(seconds=1), MANY)


@line("P1")
async def test_a_prune_is_bounded_and_says_that_there_is_more(harness: Harness) -> None:
    for n in range(6):
        await settle(harness, await a_running_turn(harness, an_event(n)))
    harness.clock.advance(LONG)

    first = await harness.store.prune(KEEP, 2)
    prunes = 1
    while (pruned := await harness.store.prune(KEEP, 2)).more:
        prunes += 1
        assert prunes < 100

    assert first.more
    assert not pruned.more
    places = await accept(harness, *(an_event(n) for n in range(6)))
    assert all(place.fresh for place in places)


@line("P1", "P2")
async def test_forgetting_ends_in_a_lane_that_still_works(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))
    await settle(harness, await claim_one(harness))
    harness.clock.advance(LONG)

    await prune(harness)

    turn = await claim_one(harness)
    assert turn.id == the_event(2)
    await settle(harness, turn)
    assert (await lane_seen(harness)).waiting == 0
