"""Reminders: events to the same lane, later."""

from dataclasses import replace
from datetime import timedelta

from procession.core.turn import ReminderDraft
from tests.conformance.acts import (
    a_running_turn,
    accept,
    claim_one,
    pass_time,
    settle,
)
from tests.conformance.builders import (
    ACME,
    an_event,
    seconds,
    the_lane,
)
from tests.conformance.harness import Harness
from tests.conformance.lines import line


@line("T8", "S7")
async def test_a_reminder_becomes_an_event_of_its_lane_when_it_is_due(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    reminder = ReminderDraft(name="follow-up", after=timedelta(hours=2), payload=b"\x00ask")
    await settle(harness, turn, reminders=(reminder,))

    early = (await pass_time(harness, timedelta(hours=1, minutes=59))).reminded
    await accept(harness, an_event(2))
    swept = await pass_time(harness, timedelta(minutes=1))
    await settle(harness, await claim_one(harness))

    (event,) = (await claim_one(harness)).events
    assert (early, swept.reminded) == (0, 1)
    assert (event.kind, event.payload, event.seq) == ("reminder.follow-up", b"\x00ask", 3)
    assert (event.tenant, event.lane, event.lane_key) == (ACME, the_lane(), "ann")


@line("T8")
async def test_a_reminder_replaces_the_one_of_its_name(harness: Harness) -> None:
    await remind(harness, 1, "follow-up", 10, b"old")
    await remind(harness, 2, "follow-up", 20, b"new")

    first = await pass_time(harness, seconds(10))
    second = await pass_time(harness, seconds(10))

    assert (first.reminded, second.reminded) == (0, 1)
    assert (await claim_one(harness)).events[0].payload == b"new"


@line("S7")
async def test_reminders_of_one_moment_come_in_the_order_in_which_they_were_asked_for(harness: Harness) -> None:
    turn = await a_running_turn(harness)
    later, again = (ReminderDraft(name=name, after=seconds(20), payload=b"") for name in ("later", "again"))
    await settle(harness, turn, reminders=(later, again))
    await accept(harness, an_event(2))
    harness.clock.advance(seconds(10))
    first = ReminderDraft(name="first", after=seconds(10), payload=b"")
    await settle(harness, await claim_one(harness), reminders=(replace(later, after=seconds(10)), first))

    await pass_time(harness, seconds(10))

    kinds = []
    for _ in range(3):
        held = await claim_one(harness)
        kinds.append(held.events[0].kind)
        await settle(harness, held)
    assert kinds == ["reminder.again", "reminder.later", "reminder.first"]


@line("T8")
async def test_reminders_of_other_names_and_lanes_stay(harness: Harness) -> None:
    await remind(harness, 1, "one", 10)
    await remind(harness, 2, "two", 10)
    await remind(harness, 3, "one", 10, lane="bob")

    assert (await pass_time(harness, seconds(10))).reminded == 3


@line("T8")
async def test_a_cancelled_reminder_is_removed(harness: Harness) -> None:
    await remind(harness, 1, "one", 10)
    await remind(harness, 2, "two", 10)

    await settle(harness, await a_running_turn(harness, an_event(3)), cancel_reminders=("one", "unknown"))

    assert (await pass_time(harness, seconds(10))).reminded == 1
    assert (await claim_one(harness)).events[0].kind == "reminder.two"


@line("T8", "S7")
async def test_a_reminder_of_a_name_may_be_set_again_after_it_came(harness: Harness) -> None:
    await remind(harness, 1, "again", 10)
    await pass_time(harness, seconds(10))
    first = await claim_one(harness)
    await settle(harness, first, reminders=(ReminderDraft(name="again", after=seconds(10), payload=b""),))

    swept = await pass_time(harness, seconds(10))

    second = await claim_one(harness)
    assert swept.reminded == 1
    assert (first.events[0].kind, second.events[0].kind) == ("reminder.again", "reminder.again")
    assert first.id != second.id


async def remind(harness: Harness, n: int, name: str, after: float, payload: bytes = b"", lane: str = "ann") -> None:
    turn = await a_running_turn(harness, an_event(n, lane=lane))
    await settle(harness, turn, reminders=(ReminderDraft(name=name, after=seconds(after), payload=payload),))
