"""How often a channel, and a conversation, may send: what comes too early is told when, and waits."""

from datetime import timedelta

from procession.core.effect import EffectState
from procession.core.ids import TenantId
from procession.core.lane import Phase, Side
from procession.core.pace import Pace
from procession.core.turn import Began, HeldEffect, NotBegun
from procession.core.verdict import Confirmed, Deferred, Fate, Scope
from tests.conformance.acts import (
    accept,
    ask_for,
    claim,
    claim_send,
    claim_sends,
    effect_seen,
    lane_seen,
    pass_time,
    phase_of,
    record,
)
from tests.conformance.builders import (
    ACME,
    BOLT,
    OPERATOR,
    TICK,
    a_settlement,
    an_effect,
    an_event,
    seconds,
    the_effect,
    the_event,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.picture import picture

SLOW = Pace(per_second=2)
"""Half a second between two, and no early share."""
HALF = timedelta(milliseconds=500)
PAIR = Pace(pair_every=seconds(6), pair_burst=3)


async def replies(harness: Harness, *lanes: str, tenant: TenantId = ACME, each: int = 1) -> None:
    """Each of these conversations wants to send."""
    await accept(harness, *(an_event(lane=lane, tenant=tenant) for lane in lanes))
    for turn in await claim(harness):
        effects = tuple(an_effect(str(number), of=turn.id, lane=turn.lane_key, tenant=tenant) for number in range(each))
        await harness.store.settle(a_settlement(turn, effects=effects))


async def try_to_begin(harness: Harness, send: HeldEffect, pace: Pace | None) -> Began | NotBegun:
    return await harness.store.begin(send.lease, send.effect.id, send.effect.attempts + 1, pace)


async def begun_at_once(harness: Harness, pace: Pace | None) -> list[str]:
    """The conversations whose next effect may be begun now; it is confirmed as well."""
    begun: list[str] = []
    while sends := await claim_sends(harness):
        for send in sends:
            answer = await try_to_begin(harness, send, pace)
            if isinstance(answer, Began):
                begun.append(send.effect.lane_key)
                await record(harness, send, answer.attempt, Confirmed())
            else:
                assert answer.fate is Fate.KEPT
    return begun


# --- the channel ---


@line("B5")
async def test_a_channel_sends_one_after_the_other_at_its_pace(harness: Harness) -> None:
    await replies(harness, "ann", "bob", "cem")
    begun = [await begun_at_once(harness, SLOW)]

    for _ in range(3):
        await pass_time(harness, HALF)
        begun.append(await begun_at_once(harness, SLOW))

    assert [len(each) for each in begun] == [1, 1, 1, 0]
    assert sorted(lane for each in begun for lane in each) == ["ann", "bob", "cem"]


@line("B5", "G8")
async def test_what_comes_too_early_waits_for_its_place(harness: Harness) -> None:
    await replies(harness, "ann", "bob")
    (begun,) = await begun_at_once(harness, SLOW)
    early = "bob" if begun == "ann" else "ann"

    lane = await lane_seen(harness, early, side=Side.SENDS)
    view = await effect_seen(harness, the_effect(of=the_event(lane=early)))

    assert (lane.phase, lane.wake_at) == (Phase.WAITING, harness.clock.now() + HALF)
    assert (view.state, view.attempts) == (EffectState.PENDING, 0)
    assert view.waits_for == "its place in the channel's line, at 2030-01-07 09:00:00 UTC"


@line("B5", "S3")
async def test_not_before_its_place_and_at_once_when_it_has_come(harness: Harness) -> None:
    await replies(harness, "ann", "bob")
    await begun_at_once(harness, SLOW)

    await pass_time(harness, HALF - TICK)
    early = await claim_sends(harness)
    await pass_time(harness, TICK)

    assert early == ()
    assert len(await begun_at_once(harness, SLOW)) == 1


@line("B5")
async def test_a_few_may_go_ahead_of_an_even_pace(harness: Harness) -> None:
    lanes = [f"lane-{number}" for number in range(20)]
    await replies(harness, *lanes)

    assert len(await begun_at_once(harness, Pace(per_second=80))) == 9


@line("B5", "G4")
async def test_a_begin_that_is_repeated_counts_once(harness: Harness) -> None:
    await replies(harness, "ann")
    send = await claim_send(harness)
    first = await try_to_begin(harness, send, SLOW)
    before = await picture(harness)
    again = await try_to_begin(harness, send, SLOW)
    after = await picture(harness)
    await replies(harness, "bob")

    await pass_time(harness, HALF)

    assert first == again == Began(attempt=1)
    assert before == after
    assert await begun_at_once(harness, SLOW) == ["bob"]


@line("B5")
async def test_a_place_that_was_kept_is_good_under_a_slower_pace(harness: Harness) -> None:
    await replies(harness, "ann", "bob")
    await begun_at_once(harness, SLOW)
    await pass_time(harness, HALF)

    assert len(await begun_at_once(harness, Pace(per_second=1, pair_every=seconds(60)))) == 1


@line("B5")
async def test_what_is_cancelled_leaves_its_place_unused(harness: Harness) -> None:
    await replies(harness, "ann", "bob")
    (begun,) = await begun_at_once(harness, SLOW)
    early = "bob" if begun == "ann" else "ann"
    await harness.console.cancel(ACME, the_effect(of=the_event(lane=early)), actor=OPERATOR)
    await replies(harness, "cem")

    at_once = await begun_at_once(harness, SLOW)
    await pass_time(harness, HALF)
    in_the_cancelled_place = await begun_at_once(harness, SLOW)
    await pass_time(harness, HALF)

    assert (at_once, in_the_cancelled_place) == ([], [])
    assert await begun_at_once(harness, SLOW) == ["cem"]


@line("B5", "B3")
async def test_what_is_refused_for_its_age_takes_no_place(harness: Harness) -> None:
    await ask_for(harness, an_effect("0", about_at=harness.clock.now() - timedelta(hours=25)), an_effect("1"))

    assert await begun_at_once(harness, SLOW) == ["ann"]


@line("B5")
async def test_a_try_that_was_taken_back_takes_the_next_place(harness: Harness) -> None:
    await replies(harness, "ann")
    send = await claim_send(harness)
    await try_to_begin(harness, send, SLOW)
    await record(harness, send, 1, Deferred(after=timedelta(0), reason="not reached", counts=False))

    at_once = await begun_at_once(harness, SLOW)
    await pass_time(harness, HALF)

    assert at_once == []
    assert await begun_at_once(harness, SLOW) == ["ann"]


@line("B5", "G7")
async def test_each_tenants_channel_has_a_line_of_its_own(harness: Harness) -> None:
    await replies(harness, "ann")
    await replies(harness, "ann", tenant=BOLT)

    assert await begun_at_once(harness, SLOW) == ["ann", "ann"]


@line("B5")
async def test_without_a_pace_nothing_is_counted(harness: Harness) -> None:
    await replies(harness, "ann", "bob")
    without = await begun_at_once(harness, None)
    await replies(harness, "cem")

    assert sorted(without) == ["ann", "bob"]
    assert await begun_at_once(harness, SLOW) == ["cem"]


@line("B5", "B4")
async def test_places_that_passed_while_it_was_held_back_are_given_up(harness: Harness) -> None:
    await replies(harness, "ann", "bob", "cem", "dan")
    send, *others = await claim_sends(harness)
    await try_to_begin(harness, send, SLOW)
    for other in others:
        await try_to_begin(harness, other, SLOW)
    throttled = Deferred(after=seconds(10), reason="throttled", counts=False, scope=Scope.CHANNEL)
    await record(harness, send, 1, throttled)

    await pass_time(harness, seconds(10))
    begun = [len(await begun_at_once(harness, SLOW))]
    for _ in range(3):
        await pass_time(harness, HALF)
        begun.append(len(await begun_at_once(harness, SLOW)))

    assert begun == [1, 1, 1, 1]


@line("B5", "G2", needs=(Guarantee.DURABLE,))
async def test_the_line_and_its_places_survive_a_restart(harness: Harness) -> None:
    await replies(harness, "ann", "bob", "cem")
    await begun_at_once(harness, SLOW)

    await harness.reopen()
    at_once = await begun_at_once(harness, SLOW)
    await replies(harness, "dan")
    behind = await begun_at_once(harness, SLOW)
    await pass_time(harness, 2 * HALF)

    assert (at_once, behind) == ([], [])
    assert len(await begun_at_once(harness, SLOW)) == 2


# --- the conversation ---


@line("B5")
async def test_a_conversation_has_its_burst_and_then_pays_for_it(harness: Harness) -> None:
    await replies(harness, "ann", each=5)

    burst = await begun_at_once(harness, PAIR)
    await pass_time(harness, seconds(18) - TICK)
    early = await begun_at_once(harness, PAIR)
    await pass_time(harness, TICK)

    assert (len(burst), early) == (3, [])
    assert len(await begun_at_once(harness, PAIR)) == 2


@line("B5", "G8")
async def test_a_conversation_that_owes_waits_and_says_so(harness: Harness) -> None:
    await replies(harness, "ann", each=4)
    await begun_at_once(harness, PAIR)

    lane = await lane_seen(harness, side=Side.SENDS)
    view = await effect_seen(harness, the_effect("3"))

    assert (lane.phase, lane.wake_at) == (Phase.WAITING, harness.clock.now() + seconds(18))
    assert view.waits_for == "the pace of its conversation, until 2030-01-07 09:00:18 UTC"


@line("B5")
async def test_a_conversation_that_owes_keeps_no_other_from_sending(harness: Harness) -> None:
    both = Pace(per_second=2, pair_every=seconds(6))
    await replies(harness, "ann", each=2)
    await begun_at_once(harness, both)
    await pass_time(harness, HALF)
    await begun_at_once(harness, both)
    await replies(harness, "bob")

    assert await begun_at_once(harness, both) == ["bob"]


@line("B5")
async def test_a_conversation_is_measured_by_when_its_place_lets_it_go(harness: Harness) -> None:
    """The line is long: its first goes later than it was asked for, and its second is counted from there."""
    both = Pace(per_second=1, pair_every=seconds(6))
    await replies(harness, *(f"lane-{number}" for number in range(10)))
    await begun_at_once(harness, both)
    await replies(harness, "ann", each=2)
    await begun_at_once(harness, both)

    gone: list[int] = []
    for second in range(1, 20):
        await pass_time(harness, seconds(1))
        gone += [second] * (await begun_at_once(harness, both)).count("ann")

    assert gone == [10, 16]


@line("B5", "G2", needs=(Guarantee.DURABLE,))
async def test_what_a_conversation_owes_survives_a_restart(harness: Harness) -> None:
    await replies(harness, "ann", each=4)
    await begun_at_once(harness, PAIR)
    await harness.reopen()

    await pass_time(harness, seconds(18) - TICK)
    early = await begun_at_once(harness, PAIR)
    await pass_time(harness, TICK)

    assert early == []
    assert len(await begun_at_once(harness, PAIR)) == 1


@line("B5", "G8")
async def test_a_pause_outlasts_a_place(harness: Harness) -> None:
    await replies(harness, "ann", "bob")
    (begun,) = await begun_at_once(harness, SLOW)
    early = "bob" if begun == "ann" else "ann"
    lane = (await lane_seen(harness, early, side=Side.SENDS)).lane
    await harness.console.pause(ACME, lane, seconds(5), actor=OPERATOR, keep_effects=True)

    await pass_time(harness, HALF)
    paused = await phase_of(harness, early, side=Side.SENDS)
    await pass_time(harness, seconds(5))

    assert paused is Phase.PAUSED
    assert await begun_at_once(harness, SLOW) == [early]
