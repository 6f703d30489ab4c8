"""Pauses: a person takes over, for a while or until they give back."""

from dataclasses import replace

import pytest

from procession.core.effect import EffectState
from procession.core.event import NewEvent
from procession.core.lane import PauseDraft, Phase, Side
from procession.core.verdict import Confirmed, Fate
from tests.conformance.acts import (
    a_running_turn,
    a_send,
    accept,
    an_armed_send,
    ask_for,
    begin,
    claim,
    claim_one,
    claim_send,
    claim_sends,
    effect_seen,
    lane_seen,
    pass_time,
    phase_of,
    providers_ids,
    record,
    settle,
)
from tests.conformance.builders import (
    ACME,
    BOLT,
    OPERATOR,
    an_effect,
    an_event,
    number,
    seconds,
    the_effect,
    the_event,
    the_lane,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture


async def pause(harness: Harness, duration: float | None = None, *, keep_effects: bool = False) -> bool:
    return await harness.console.pause(
        ACME,
        the_lane(),
        None if duration is None else seconds(duration),
        actor=OPERATOR,
        keep_effects=keep_effects,
        reason="I take over",
    )


@line("K1", "K2")
async def test_a_pause_stops_both_sides_and_no_other_lane(harness: Harness) -> None:
    send = await a_send(harness)
    await harness.store.release([send.lease])
    await accept(harness, an_event(2), an_event(lane="bob"), an_event(tenant=BOLT))

    paused = await pause(harness)

    assert paused
    assert sorted((turn.lease.tenant, turn.lane_key) for turn in await claim(harness)) == [
        (ACME, "bob"),
        (BOLT, "ann"),
    ]
    assert await claim_sends(harness) == ()
    assert (await harness.console.counts(ACME)).lanes_paused == 1


@line("G8")
async def test_a_running_turn_may_settle_into_a_pause(harness: Harness) -> None:
    await accept(harness, an_event(1), an_event(2))
    turn = await claim_one(harness)

    await pause(harness)
    held = await phase_of(harness)
    settled = await settle(harness, turn, keep_for=seconds(10))

    assert (held, settled.fate, settled.next) == (Phase.HELD, Fate.KEPT, None)
    assert await phase_of(harness) is Phase.PAUSED
    assert await claim(harness) == ()


@line("S4")
async def test_effects_of_a_turn_that_settles_into_an_operators_pause_wait_and_are_cancelled(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await pause(harness, 30)

    await settle(harness, turn, effects=(an_effect(),))
    waiting = await claim_sends(harness)
    await pass_time(harness, seconds(30))

    assert waiting == ()
    assert (await effect_seen(harness, the_effect())).state is EffectState.CANCELLED


@line("K4")
async def test_the_same_pause_again_changes_nothing_and_says_so(harness: Harness) -> None:
    await accept(harness, an_event())
    await pause(harness, 30)
    before = await picture(harness)

    again = await pause(harness, 30)

    assert not again
    assert await picture(harness) == before


@line("K1", "K4")
async def test_a_resumed_lane_goes_on_and_says_if_there_was_nothing_to_resume(harness: Harness) -> None:
    await accept(harness, an_event())
    await pause(harness)

    first = await harness.console.resume(ACME, the_lane(), actor=OPERATOR)
    before = await picture(harness)
    second = await harness.console.resume(ACME, the_lane(), actor=OPERATOR)

    assert (first, second) == (True, False)
    assert await picture(harness) == before
    assert providers_ids(await claim_one(harness)) == ["ann-1"]


@line("S4")
async def test_what_waited_is_cancelled_when_an_operator_resumes(harness: Harness) -> None:
    send = await a_send(harness)
    await harness.store.release([send.lease])
    await pause(harness)

    await harness.console.resume(ACME, the_lane(), actor=OPERATOR)

    assert (await effect_seen(harness, the_effect())).state is EffectState.CANCELLED
    assert await claim_sends(harness) == ()


@line("S4")
async def test_what_waited_goes_when_the_pause_keeps_effects(harness: Harness) -> None:
    send = await a_send(harness)
    await harness.store.release([send.lease])
    await pause(harness, keep_effects=True)

    await harness.console.resume(ACME, the_lane(), actor=OPERATOR)

    assert (await claim_send(harness)).effect.id == the_effect()


@line("S4")
async def test_an_effect_that_was_armed_when_the_pause_began_is_not_cancelled(harness: Harness) -> None:
    send, attempt = await an_armed_send(harness, an_effect("0"), an_effect("1"))
    await pause(harness, 5)
    await record(harness, send, attempt, Confirmed())

    await pass_time(harness, seconds(5))

    states = [(await effect_seen(harness, the_effect(key))).state for key in ("0", "1")]
    assert states == [EffectState.CONFIRMED, EffectState.CANCELLED]


@line("S3", "S4")
async def test_an_effect_asked_for_after_the_pause_goes(harness: Harness) -> None:
    await accept(harness, an_event())
    await pause(harness, 5)
    await pass_time(harness, seconds(5))

    await settle(harness, await claim_one(harness), effects=(an_effect(),))

    send = await claim_send(harness)
    assert (await record(harness, send, await begin(harness, send), Confirmed())).fate is Fate.KEPT


@line("S4", "T3")
async def test_effects_asked_for_when_the_pause_is_over_go_though_nobody_has_swept_yet(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await pause(harness, 5)
    harness.clock.advance(seconds(5))

    await settle(harness, turn, effects=(an_effect("0"), an_effect("1")))
    await pass_time(harness, seconds(0))

    for key in ("0", "1"):
        send = await claim_send(harness)
        assert send.effect.id == the_effect(key)
        await record(harness, send, await begin(harness, send), Confirmed())


@line("S3")
async def test_a_longer_pause_replaces_a_shorter_one(harness: Harness) -> None:
    await accept(harness, an_event())
    await pause(harness, 5)
    await pause(harness, 30)

    await pass_time(harness, seconds(5))
    early = await claim(harness)
    await pass_time(harness, seconds(25))

    assert early == ()
    assert len(await claim(harness)) == 1


@line("S4", "G8")
async def test_a_pause_of_a_lane_without_effects_ends_for_those_that_come_during_it(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness))
    await pause(harness, 5)
    await ask_for(harness, an_effect("0", of=the_event(1, "bob")), event=an_event(lane="bob"))
    waiting = await claim_sends(harness)

    await pass_time(harness, seconds(5))

    effect = the_effect("0", of=the_event(1, "bob"))
    assert waiting == ()
    assert (await effect_seen(harness, effect)).state is EffectState.CANCELLED
    assert await phase_of(harness, side=Side.SENDS) is Phase.IDLE


@line("G8")
async def test_a_paused_lane_says_until_when(harness: Harness) -> None:
    await accept(harness, an_event())
    await pause(harness, 30)
    timed = (await lane_seen(harness)).paused_until
    await pause(harness)

    endless = (await lane_seen(harness)).paused_until

    assert timed == harness.clock.now() + seconds(30)
    assert endless is not None
    assert endless.year == 9999


@line("G2", "S4", needs=(Guarantee.DURABLE,))
async def test_a_pause_survives_a_restart(harness: Harness) -> None:
    await accept(harness, an_event())
    await pause(harness, 30)

    await harness.reopen()
    early = await claim(harness)
    await pass_time(harness, seconds(30))

    assert early == ()
    assert len(await claim(harness)) == 1


# --- by an event ---


def by_event(n: int = 1, seconds_long: float | None = None, *, keep_effects: bool = False) -> NewEvent:
    """The owner has answered by hand."""
    duration = None if seconds_long is None else seconds(seconds_long)
    return an_event(n, pause=PauseDraft(duration=duration, keep_effects=keep_effects, reason="a person answers"))


@line("A12", "G8")
async def test_an_event_pauses_both_sides_of_its_lane_at_once(harness: Harness) -> None:
    send = await a_send(harness)
    await harness.store.release([send.lease])

    await accept(harness, by_event(2, 30))

    views = [await lane_seen(harness, side=side) for side in Side]
    assert [view.phase for view in views] == [Phase.PAUSED, Phase.PAUSED]
    assert {view.paused_until for view in views} == {harness.clock.now() + seconds(30)}
    assert (await claim(harness), await claim_sends(harness)) == ((), ())


@line("A12")
async def test_the_event_that_pauses_is_played_when_the_pause_is_over(harness: Harness) -> None:
    await accept(harness, by_event(1, 30))

    await pass_time(harness, seconds(30))

    assert providers_ids(await claim_one(harness)) == ["ann-1"]


@line("A12")
async def test_a_running_turn_settles_into_an_events_pause(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    await accept(harness, by_event(2, 30))

    settled = await settle(harness, turn, effects=(an_effect(),), keep_for=seconds(10))

    assert (settled.fate, settled.next) == (Fate.KEPT, None)
    assert await claim_sends(harness) == ()


@line("A12", "S4")
async def test_what_waited_through_an_events_pause_is_cancelled_or_kept_as_it_says(harness: Harness) -> None:
    await ask_for(harness, an_effect())
    await accept(harness, by_event(2, 30, keep_effects=True))

    await pass_time(harness, seconds(30))

    assert (await claim_send(harness)).effect.id == the_effect()


@line("A12", "A1", "G4")
async def test_a_repeated_event_pauses_nothing_again(harness: Harness) -> None:
    await accept(harness, by_event(1, 30))
    await harness.console.resume(ACME, the_lane(), actor=OPERATOR)
    before = await picture(harness)

    await accept(harness, by_event(1, 30))

    after = await picture(harness)
    assert {**after, "counts": None} == {**before, "counts": None}


@pytest.mark.parametrize(("there", "comes", "left"), [(60, 30, 60), (30, 60, 60), (None, 30, None), (30, None, None)])
@line("A12")
async def test_the_longer_pause_stays(
    harness: Harness, there: float | None, comes: float | None, left: float | None
) -> None:
    await accept(harness, an_event())
    await pause(harness, there, keep_effects=True)

    await accept(harness, by_event(2, comes))

    until = (await lane_seen(harness)).paused_until
    assert until is not None
    assert (None if until.year == 9999 else until - harness.clock.now()) == (None if left is None else seconds(left))


@line("A12")
async def test_a_pause_that_lasts_as_long_stays_as_it_is(harness: Harness) -> None:
    await ask_for(harness, an_effect())
    await pause(harness, 30, keep_effects=True)
    await accept(harness, by_event(2, 30))

    await pass_time(harness, seconds(30))

    assert (await claim_send(harness)).effect.id == the_effect()


@line("A12", "A3")
async def test_an_event_that_waits_for_its_predecessor_pauses_when_it_comes(harness: Harness) -> None:
    await accept(harness, an_event(1))
    early = replace(by_event(3, 30), order=number(3))

    await accept(harness, early)

    assert await phase_of(harness) is Phase.PAUSED


@line("A12", "G7")
async def test_an_event_pauses_its_own_lane_only(harness: Harness) -> None:
    await accept(harness, by_event(1, 30), an_event(lane="bob"), an_event(tenant=BOLT))

    assert sorted((turn.lease.tenant, turn.lane_key) for turn in await claim(harness)) == [(ACME, "bob"), (BOLT, "ann")]
