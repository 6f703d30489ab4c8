"""Names: which lane an event, or an effect, belongs to."""

from dataclasses import replace

from procession.core.effect import EffectState
from procession.core.ids import ChannelName, namesake_id
from procession.core.limits import ALIAS_RETIRED_KEEP, DEDUP_KEEP_MIN
from procession.core.verdict import Fate
from tests.conformance.acts import (
    a_running_turn,
    accept,
    claim,
    claim_one,
    effect_seen,
    event_seen,
    providers_ids,
    settle,
)
from tests.conformance.builders import (
    BOLT,
    MANY,
    TICK,
    an_effect,
    an_event,
    number,
    the_effect,
    the_event,
    the_lane,
    version,
)
from tests.conformance.harness import Guarantee, Harness
from tests.conformance.lines import line
from tests.conformance.merging import a_named, claim_of, lane_of, merge, played
from tests.conformance.picture import picture


@line("A10")
async def test_any_name_of_a_subject_leads_to_its_lane_whatever_lane_is_meant(harness: Harness) -> None:
    await accept(harness, an_event(1, aliases=("phone", "id")), an_event(2, lane="else", aliases=("id",)))

    view = await event_seen(harness, the_event(2, "else"))

    assert (view.lane, view.lane_key, view.seq) == (the_lane(), "ann", 2)


@line("A10")
async def test_a_name_that_is_heard_in_company_of_a_known_one_leads_there_too(harness: Harness) -> None:
    await accept(harness, an_event(1, aliases=("phone",)), an_event(2, aliases=("phone", "id")))

    await accept(harness, an_event(3, lane="else", aliases=("id",)))

    assert await played(harness) == ["ann-1", "ann-2", "else-3"]


@line("A10", "G7")
async def test_a_name_is_known_in_its_tenant_and_channel_only(harness: Harness) -> None:
    side = ChannelName("side")
    await accept(harness, a_named())

    await accept(harness, replace(a_named(), tenant=BOLT, lane=the_lane("ann", BOLT), id=the_event(tenant=BOLT)))
    await accept(harness, an_event(1, lane="else", channel=side, aliases=("ann",)))

    assert (await event_seen(harness, the_event(tenant=BOLT), BOLT)).lane == the_lane("ann", BOLT)
    assert (await event_seen(harness, the_event(1, "else", channel=side))).lane == the_lane("else", channel=side)


@line("A10")
async def test_a_lane_that_no_name_has_led_to_is_taken_as_meant(harness: Harness) -> None:
    await accept(harness, an_event(1))

    await accept(harness, a_named(2))

    assert await played(harness) == ["ann-1", "ann-2"]


@line("A10")
async def test_where_names_have_led_another_subject_to_the_lane_it_gets_one_of_the_same_key(harness: Harness) -> None:
    await accept(harness, an_event(1, aliases=("one",)))

    await accept(harness, an_event(2, aliases=("two",)), an_event(3, aliases=("three",)))

    views = [await event_seen(harness, the_event(n)) for n in (1, 2, 3)]
    assert [view.lane for view in views] == [the_lane(), namesake_id(the_lane(), 2), namesake_id(the_lane(), 3)]
    assert [view.lane_key for view in views] == ["ann"] * 3


@line("A10")
async def test_a_turn_is_told_the_names_that_lead_to_its_lane_the_newest_first(harness: Harness) -> None:
    await accept(harness, an_event(1, aliases=("old", "phone")), an_event(2, aliases=("id", "phone")))
    first = await claim_one(harness)
    await settle(harness, first)

    await accept(harness, an_event(3, aliases=("new", "old"), retires=("old",)))

    assert first.aliases == ("id", "phone", "old")
    assert (await claim_one(harness)).aliases == ("new", "id", "phone")


# --- names that change hands ---


async def a_retired_name(harness: Harness) -> None:
    """The subject of ann's lane was called `old`, and is called `new` now."""
    await accept(harness, an_event(1, aliases=("old",)))
    await accept(harness, an_event(2, aliases=("new", "old"), retires=("old",)))


@line("A10")
async def test_what_comes_late_under_a_retired_name_alone_goes_to_its_lane_and_changes_no_name(
    harness: Harness,
) -> None:
    await a_retired_name(harness)
    harness.clock.advance(ALIAS_RETIRED_KEEP - TICK)
    await accept(harness, an_event(3, lane="else", aliases=("old",)))
    harness.clock.advance(TICK)

    await accept(harness, an_event(4, lane="else", aliases=("old",)))

    assert [await lane_of(harness, n, "else") for n in (3, 4)] == [the_lane(), the_lane("else")]


@line("A10")
async def test_a_retired_name_in_company_is_somebody_elses_by_now(harness: Harness) -> None:
    await a_retired_name(harness)

    await accept(harness, an_event(3, lane="else", aliases=("stranger", "old")))
    await accept(harness, an_event(4, lane="third", aliases=("old",)), an_event(5, lane="third", aliases=("new",)))

    assert await lane_of(harness, 3, "else") == the_lane("else")
    assert [await lane_of(harness, n, "third") for n in (4, 5)] == [the_lane("else"), the_lane()]


@line("A10")
async def test_an_event_that_retires_a_name_once_more_finds_the_lane_by_it(harness: Harness) -> None:
    await accept(harness, an_event(1, aliases=("old",)))
    await accept(harness, an_event(2, aliases=("old",), retires=("old",)))

    await accept(harness, an_event(3, lane="else", aliases=("new", "old"), retires=("old",)))
    await accept(harness, an_event(4, lane="else", aliases=("new",)))

    assert [await lane_of(harness, n, "else") for n in (3, 4)] == [the_lane()] * 2


@line("P2")
async def test_names_that_were_retired_long_ago_are_forgotten_and_others_stay(harness: Harness) -> None:
    await a_retired_name(harness)
    await played(harness)
    harness.clock.advance(ALIAS_RETIRED_KEEP - TICK)
    early = await harness.store.prune(ALIAS_RETIRED_KEEP * 2, MANY)
    await accept(harness, an_event(3, lane="else", aliases=("old",)))
    harness.clock.advance(TICK)

    pruned = await harness.store.prune(ALIAS_RETIRED_KEEP * 2, MANY)
    await accept(harness, an_event(4, lane="else", aliases=("new",)))

    assert (early.rows, pruned.rows, pruned.more) == (0, 1, False)
    assert [await lane_of(harness, n, "else") for n in (3, 4)] == [the_lane()] * 2


@line("P2", "A10")
async def test_a_lane_outlives_the_events_and_the_name_that_led_to_it(harness: Harness) -> None:
    await accept(harness, an_event(1, aliases=("old",), retires=("old",)))
    await played(harness)
    harness.clock.advance(ALIAS_RETIRED_KEEP)
    await harness.store.prune(DEDUP_KEEP_MIN, MANY)

    await accept(harness, an_event(2, aliases=("old",)))

    assert await lane_of(harness, 2, "ann") == namesake_id(the_lane(), 2)


# --- what does not change them, and what does ---


@line("A10", "A1", "G4")
async def test_a_repeated_event_leads_no_name_anywhere(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    before = await picture(harness)

    await accept(harness, an_event(1, aliases=("ann", "bob", "new")))
    after = await picture(harness)
    await accept(harness, an_event(2, lane="else", aliases=("new",)))

    assert {**after, "counts": None} == {**before, "counts": None}
    assert await lane_of(harness, 2, "else") == the_lane("else")


@line("A10", "A3", "A4")
async def test_names_of_an_event_that_is_held_or_dropped_are_heard_all_the_same(harness: Harness) -> None:
    held = replace(a_named(3), order=number(3), aliases=("ann", "early"))
    old = replace(a_named(1, "bob"), order=version(5), aliases=("bob",))
    stale = replace(a_named(2, "bob"), order=version(4), aliases=("bob", "stale"))

    await accept(harness, held, old, stale)
    await accept(harness, an_event(8, lane="else", aliases=("early",)), an_event(9, lane="else", aliases=("stale",)))

    assert [await lane_of(harness, n, "else") for n in (8, 9)] == [the_lane(), the_lane("bob")]


@line("A10", "G2", needs=(Guarantee.DURABLE,))
async def test_names_survive_a_restart(harness: Harness) -> None:
    await a_retired_name(harness)
    await accept(harness, a_named(1, "bob"))
    await merge(harness, "new", "bob")

    await harness.reopen()
    await accept(harness, *(an_event(n, lane="else", aliases=(name,)) for n, name in enumerate(("old", "new", "bob"))))
    await accept(harness, an_event(7, lane="bob"))

    assert [await lane_of(harness, n, "else") for n in range(3)] == [the_lane()] * 3
    assert await lane_of(harness, 7, "bob") == the_lane()


# --- effects ---


@line("T3", "A10")
async def test_an_effect_goes_to_the_conversation_that_its_names_lead_to(harness: Harness) -> None:
    await accept(harness, a_named(1, "bob"))
    await settle(harness, await claim_one(harness))

    turn = await a_running_turn(harness, an_event())
    await settle(harness, turn, effects=(an_effect(lane="else", aliases=("bob",)),))

    view = await effect_seen(harness, the_effect())
    assert (view.lane, view.state) == (the_lane("bob"), EffectState.PENDING)


@line("T3", "A10")
async def test_a_name_that_an_effect_is_first_to_use_leads_to_its_lane_from_then_on(harness: Harness) -> None:
    turn = await a_running_turn(harness, an_event())
    await settle(harness, turn, effects=(an_effect(lane="bob", aliases=("phone",)),))

    await accept(harness, an_event(1, lane="else", aliases=("phone",)))

    assert await lane_of(harness, 1, "else") == the_lane("bob")


@line("T3", "M2", "A10")
async def test_an_effect_that_is_there_already_merges_nobody(harness: Harness) -> None:
    await accept(harness, a_named(1, "bob"), a_named(1, "carol"))
    for turn in await claim(harness):
        await settle(harness, turn)
    turn = await a_running_turn(harness, an_event())
    first, again = (an_effect(lane="bob", aliases=names) for names in (("bob",), ("bob", "carol")))
    await harness.store.remember(turn.lease, turn.id, (), (first,))

    fate = await harness.store.remember(turn.lease, turn.id, (), (again,))

    await accept(harness, a_named(2, "carol"))
    assert fate is Fate.KEPT
    assert await lane_of(harness, 2, "carol") == the_lane("carol")


@line("T3", "A10", "X1")
async def test_an_effect_whose_names_lead_to_several_lanes_merges_them(harness: Harness) -> None:
    await accept(harness, a_named(), a_named(1, "bob"))
    turn = await claim_of(harness, "bob")

    await settle(harness, turn, effects=(an_effect(of=turn.id, lane="bob", aliases=("ann", "bob")),), state=b"{}")

    assert (await effect_seen(harness, the_effect(of=turn.id))).lane == the_lane()
    assert providers_ids(await claim_one(harness)) == ["ann-1"]
