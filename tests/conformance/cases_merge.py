"""Merge: two lanes turn out to be one subject's. Which goes on, and what moves."""

import pytest

from procession.core.event import EventState
from procession.core.lane import Phase, Side
from procession.core.limits import DEDUP_KEEP_MIN
from procession.core.turn import Delay, ReminderDraft, SetAside
from procession.core.verdict import Fate
from tests.conformance.acts import (
    a_running_turn,
    accept,
    ask_for,
    claim,
    claim_one,
    event_seen,
    lane_seen,
    pass_time,
    phase_of,
    providers_ids,
    settle,
)
from tests.conformance.builders import (
    ACME,
    MANY,
    OPERATOR,
    TICK,
    a_step,
    a_window,
    an_effect,
    an_event,
    number,
    seconds,
    the_effect,
    the_event,
    the_lane,
)
from tests.conformance.harness import Harness
from tests.conformance.lines import line
from tests.conformance.merging import a_named, bobs_effect, claim_of, lane_of, merge, played, sent


async def set_aside(harness: Harness, n: int, lane: str = "bob", **words: object) -> None:
    turn = await a_running_turn(harness, a_named(n, lane))
    await harness.store.remember(turn.lease, turn.id, (a_step(),))
    await settle(harness, turn, SetAside(reason="bad"))


def remind(name: str, after: float) -> tuple[ReminderDraft, ...]:
    return (ReminderDraft(name=name, after=seconds(after), payload=b"r"),)


# --- which one goes on ---


@pytest.mark.parametrize("names", [("ann", "bob"), ("bob", "ann")])
@line("X1", "A10")
async def test_the_lane_that_was_made_first_goes_on_and_takes_what_is_new_under_whatever_name(
    harness: Harness, names: tuple[str, ...]
) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))

    await merge(harness, *names)
    await accept(harness, a_named(2, "bob"), an_event(3, lane="bob"), an_event(4, lane="else", aliases=("bob",)))

    assert [await lane_of(harness, n, "bob") for n in (1, 2, 3)] == [the_lane()] * 3
    assert await lane_of(harness, 4, "else") == the_lane()
    assert (await lane_seen(harness, "bob")).merged_into == the_lane()


@line("X1", "T3")
async def test_what_is_asked_for_in_the_conversation_of_a_merged_lane_goes_where_it_went(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    await merge(harness)

    await settle(harness, await claim_one(harness), effects=(an_effect(lane="bob"),))

    view = await lane_seen(harness, side=Side.SENDS)
    assert (view.lane, view.phase, view.waiting) == (the_lane(), Phase.READY, 1)


@line("X1", "G4")
async def test_to_say_once_more_that_two_are_one_changes_nothing(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    await merge(harness)
    before = [await lane_seen(harness, "bob", side=side) for side in Side]

    await merge(harness, "bob", "ann", n=98)

    assert [await lane_seen(harness, "bob", side=side) for side in Side] == before
    assert await played(harness) == ["ann-1", "bob-1", "ann-99", "ann-98"]


@line("X1")
async def test_a_lane_that_was_merged_stays_so_when_all_of_it_is_done(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    await merge(harness)
    await played(harness)

    await accept(harness, an_event(2, lane="bob"))

    assert await lane_of(harness, 2, "bob") == the_lane()
    assert await phase_of(harness, "bob") is Phase.IDLE


# --- what moves ---


@line("X2")
async def test_waiting_events_move_behind_what_waits_in_their_own_order(harness: Harness) -> None:
    await accept(harness, a_named(1), a_named(1, "bob"), a_named(2), a_named(2, "bob"))

    await merge(harness)
    seqs = [(await event_seen(harness, the_event(n, lane))).seq for lane in ("ann", "bob") for n in (1, 2)]

    assert seqs == [1, 2, 3, 4]
    assert await played(harness) == ["ann-1", "ann-2", "bob-1", "bob-2", "ann-99"]


@line("X2", "X6")
async def test_ids_never_change(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    await settle(harness, await claim_of(harness), effects=(an_effect(of=the_event(1, "bob"), lane="bob"),))
    await accept(harness, a_named(2, "bob"))

    await merge(harness)
    again = await accept(harness, a_named(1, "bob"), a_named(2, "bob"))

    assert [placement.fresh for placement in again] == [False, False]
    assert await sent(harness) == [bobs_effect()]


@line("X2")
async def test_of_several_that_are_one_the_others_follow_in_the_order_in_which_they_were_made(
    harness: Harness,
) -> None:
    await accept(harness, a_named(1, "bob"), a_named(1, "carol"), a_named(1))

    await merge(harness, "carol", "ann", "bob")

    assert await lane_of(harness, 99, "ann") == the_lane("bob")
    assert await played(harness) == ["bob-1", "carol-1", "ann-1", "ann-99"]


@line("X2")
async def test_what_moves_keeps_what_it_brought(harness: Harness) -> None:
    await accept(harness, a_named(), an_event(1, lane="bob", aliases=("bob",), payload=b"\x00", kind="photo"))
    accepted_at = harness.clock.now()
    harness.clock.advance(seconds(5))

    await merge(harness)
    await settle(harness, await claim_one(harness))
    (event,) = (await claim_one(harness)).events

    assert (event.payload, event.kind, event.accepted_at, event.late) == (b"\x00", "photo", accepted_at, False)
    assert (event.lane, event.lane_key, event.seq) == (the_lane(), "ann", 2)


@line("X2", "S6")
async def test_held_events_wait_on_for_their_windows(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"), an_event(3, lane="bob", order=number(3, window=10)))
    harness.clock.advance(seconds(4))

    await merge(harness)
    early = await pass_time(harness, seconds(6) - TICK)
    due = await pass_time(harness, TICK)

    assert (early.released, due.released) == (0, 1)
    assert await played(harness) == ["ann-1", "bob-1", "ann-99", "bob-3"]


@line("X2", "C4", "A6")
async def test_events_with_windows_move_as_a_part_of_the_burst(harness: Harness) -> None:
    window = a_window(quiet=2, wait_max=10)
    await accept(harness, an_event(1, aliases=("ann",), window=window))
    await accept(harness, an_event(1, lane="bob", aliases=("bob",), window=window))
    harness.clock.advance(seconds(1))

    await accept(harness, an_event(2, aliases=("ann", "bob"), window=window))
    await pass_time(harness, seconds(2) - TICK)
    early = await claim(harness)
    await pass_time(harness, TICK)

    assert early == ()
    assert providers_ids(await claim_one(harness)) == ["ann-1", "bob-1", "ann-2"]


# --- reminders ---


@line("X2", "S7", "T8")
async def test_reminders_keep_their_time_and_the_survivors_of_the_same_name_stays(harness: Harness) -> None:
    await settle(harness, await a_running_turn(harness, a_named()), reminders=remind("same", 20))
    bob = await a_running_turn(harness, a_named(1, "bob"))
    await settle(harness, bob, reminders=(*remind("own", 10), *remind("same", 5)))
    await merge(harness)
    await played(harness)

    early = await pass_time(harness, seconds(10) - TICK)
    own = await pass_time(harness, TICK)
    (turn,) = await claim(harness)
    await settle(harness, turn)
    same = await pass_time(harness, seconds(10))

    assert (early.reminded, own.reminded, same.reminded) == (0, 1, 1)
    assert (turn.events[0].kind, turn.lease.lane) == ("reminder.own", the_lane())
    assert (await claim_one(harness)).events[0].kind == "reminder.same"


@line("X2", "S7")
async def test_reminders_of_both_lanes_that_are_due_at_one_moment_come_as_they_were_asked_for(harness: Harness) -> None:
    await accept(harness, a_named())
    await settle(harness, await claim_one(harness))
    await settle(harness, await a_running_turn(harness, a_named(1, "bob")), reminders=remind("first", 20))
    await settle(harness, await a_running_turn(harness, a_named(2)), reminders=remind("second", 20))
    await merge(harness)
    await played(harness)

    await pass_time(harness, seconds(20))

    kinds = []
    while turns := await claim(harness):
        kinds.append(turns[0].events[0].kind)
        await settle(harness, turns[0])
    assert kinds == ["reminder.first", "reminder.second"]


@line("X1", "T8")
async def test_what_the_open_turn_of_a_merged_lane_says_of_reminders_is_said_of_the_survivors(
    harness: Harness,
) -> None:
    await settle(harness, await a_running_turn(harness, a_named()), reminders=(*remind("off", 5), *remind("later", 5)))
    bob = await a_running_turn(harness, a_named(1, "bob"))
    await merge(harness)

    await settle(harness, bob, reminders=remind("later", 8), cancel_reminders=("off",))
    await played(harness)
    early = await pass_time(harness, seconds(8) - TICK)
    due = await pass_time(harness, TICK)

    assert (early.reminded, due.reminded) == (0, 1)
    assert (await claim_one(harness)).lease.lane == the_lane()


# --- replays ---


@line("X2")
async def test_a_set_aside_event_is_replayed_where_its_subject_is_by_now(harness: Harness) -> None:
    await accept(harness, a_named())
    await settle(harness, await claim_one(harness))
    await set_aside(harness, 1)
    await accept(harness, a_named(2))
    await merge(harness)

    replayed = await harness.console.replay(ACME, the_event(1, "bob"), actor=OPERATOR)
    await settle(harness, await claim_one(harness))
    await settle(harness, await claim_one(harness))
    turn = await claim_one(harness)

    assert replayed
    assert (providers_ids(turn), turn.events[0].late, turn.events[0].seq) == (["bob-1"], True, 4)
    assert (turn.lease.lane, turn.steps, turn.tries) == (the_lane(), (a_step(),), 1)


@line("X2")
async def test_what_waits_to_be_replayed_moves_before_what_waits(harness: Harness) -> None:
    await accept(harness, a_named())
    await settle(harness, await claim_one(harness))
    await set_aside(harness, 1)
    await set_aside(harness, 2)
    await accept(harness, a_named(2), a_named(3, "bob"))
    for n in (2, 1):
        await harness.console.replay(ACME, the_event(n, "bob"), actor=OPERATOR)

    await merge(harness)

    assert await played(harness) == ["ann-2", "bob-1", "bob-2", "bob-3", "ann-99"]


@line("X2", "T7")
async def test_a_replay_in_the_survivor_ends_as_any_other_and_may_be_set_aside_again(harness: Harness) -> None:
    await accept(harness, a_named())
    await settle(harness, await claim_one(harness))
    await set_aside(harness, 1)
    await merge(harness)
    await played(harness)

    for _ in range(2):
        await harness.console.replay(ACME, the_event(1, "bob"), actor=OPERATOR)
        await settle(harness, await claim_one(harness), SetAside(reason="still bad"))
    await harness.console.replay(ACME, the_event(1, "bob"), actor=OPERATOR)

    assert await played(harness) == ["bob-1"]
    assert (await event_seen(harness, the_event(1, "bob"))).state is EventState.DONE


@line("X2", "M2")
async def test_a_replay_does_not_send_again_what_its_earlier_try_has_flushed(harness: Harness) -> None:
    await accept(harness, a_named())
    await settle(harness, await claim_one(harness))
    turn = await a_running_turn(harness, a_named(1, "bob"))
    effect = an_effect(of=turn.id, lane="bob")
    await harness.store.remember(turn.lease, turn.id, (), (effect,))
    await settle(harness, turn, SetAside(reason="bad"))
    await merge(harness)
    await played(harness)

    await harness.console.replay(ACME, turn.id, actor=OPERATOR)
    await settle(harness, await claim_one(harness), effects=(effect, an_effect("1", of=turn.id, lane="bob")))

    assert await sent(harness) == [bobs_effect("0"), bobs_effect("1")]


# --- what is not there yet ---


@line("X1", "X2")
async def test_a_lane_with_nothing_in_it_is_merged_at_once(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    await played_at_once(harness)

    await merge(harness)

    assert await phase_of(harness) is Phase.READY
    assert await played(harness) == ["ann-99"]


async def played_at_once(harness: Harness) -> None:
    for turn in await claim(harness):
        await settle(harness, turn)


@line("X2", "T4")
async def test_an_event_behind_an_open_turn_moves_and_is_not_played_before_it(harness: Harness) -> None:
    await accept(harness, a_named(1, "ann"), a_named(1, "bob"), a_named(2, "bob"))
    bob = await claim_of(harness)
    await settle(harness, bob, Delay(after=seconds(5), reason="busy"))

    await merge(harness)
    early = await claim(harness)
    await pass_time(harness, seconds(5))

    assert early == ()
    assert await played(harness) == ["bob-1", "ann-1", "bob-2", "ann-99"]


@line("X2", "T3")
async def test_effects_move_behind_those_that_wait_in_their_own_order(harness: Harness) -> None:
    await ask_for(harness, an_effect("0"), an_effect("1"), event=a_named())
    own = [an_effect(key, of=the_event(1, "bob"), lane="bob") for key in ("0", "1")]
    await ask_for(harness, *own, event=a_named(1, "bob"))

    await merge(harness)

    assert await sent(harness) == [the_effect("0"), the_effect("1"), bobs_effect("0"), bobs_effect("1")]


@line("X1", "T1")
async def test_a_settlement_that_was_kept_before_the_merge_is_kept_again(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    bob = await claim_of(harness)
    await settle(harness, bob, effects=(an_effect(of=bob.id, lane="bob"),))
    await merge(harness)

    again = await settle(harness, bob, effects=(an_effect(of=bob.id, lane="bob"),))

    assert (again.fate, again.next) == (Fate.KEPT, None)
    assert await sent(harness) == [bobs_effect()]


@line("P1", "P2", "X1")
async def test_what_has_ended_is_forgotten_wherever_it_ended_and_the_lane_is_not(harness: Harness) -> None:
    await accept(harness, a_named())
    await settle(harness, await claim_one(harness))
    await set_aside(harness, 1)
    await settle(harness, await a_running_turn(harness, a_named(2, "bob")))
    await accept(harness, a_named(3, "bob"))
    await merge(harness)
    await played(harness)
    harness.clock.advance(DEDUP_KEEP_MIN + TICK)

    pruned = await harness.store.prune(DEDUP_KEEP_MIN, MANY)
    (again,) = await accept(harness, an_event(3, lane="bob"))
    replayed = await harness.console.replay(ACME, the_event(1, "bob"), actor=OPERATOR)

    assert (pruned.rows, again.fresh, again.seq, replayed) == (4, True, 4, True)
    assert await lane_of(harness, 3, "bob") == the_lane()
    assert await played(harness) == ["bob-3", "bob-1"]
