"""The tables of core: what has ended stays, whatever is legal can be reached, and stores do nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.core.effect import EFFECT_TABLE, ENDED, EffectMove, EffectState, moved
from procession.core.errors import IllegalMove
from procession.core.lane import LANE_TABLE, LaneMove, Phase, check_move
from procession.core.verdict import Absent, Confirmed, Deferred, Refused, Uncertain, Verdict
from procession.storage.memory import rest as memory_rest
from tests.conformance.acts import accept, ask_for, begin, claim, claim_send, pass_time, record, see
from tests.conformance.builders import (
    ACME,
    OPERATOR,
    TTL,
    a_sighting,
    an_effect,
    an_event,
    seconds,
    some_terms,
    the_effect,
    the_lane,
)
from tests.conformance.openers import memory
from tests.conformance.suite import every_case

states = st.sampled_from(EffectState)
moves = st.sampled_from(EffectMove)


@given(state=states, move=moves)
def test_an_effect_moves_as_the_table_says_or_not_at_all(state: EffectState, move: EffectMove) -> None:
    if (state, move) in EFFECT_TABLE:
        assert moved(state, move) is EFFECT_TABLE[state, move]
    else:
        with pytest.raises(IllegalMove):
            moved(state, move)


@given(state=st.sampled_from(sorted(ENDED)), move=moves)
def test_no_effect_that_has_ended_moves(state: EffectState, move: EffectMove) -> None:
    with pytest.raises(IllegalMove):
        moved(state, move)


def test_every_state_of_an_effect_can_be_reached_and_every_end_from_every_state() -> None:
    assert _reachable(EffectState.PENDING) == set(EffectState)
    for state in set(EffectState) - ENDED:
        assert _reachable(state) >= ENDED


def _reachable(state: EffectState) -> set[EffectState]:
    found = {state}
    while True:
        more = {to for (at, _), to in EFFECT_TABLE.items() if at in found} - found
        if not more:
            return found
        found |= more


def test_every_move_of_an_effect_is_legal_from_somewhere() -> None:
    assert {move for _, move in EFFECT_TABLE} == set(EffectMove)


@given(path=st.lists(moves, max_size=30))
def test_nothing_leads_from_doubt_to_pending_but_proof_or_a_declared_risk(path: list[EffectMove]) -> None:
    state = EffectState.PENDING
    for move in path:
        before = state
        if (state, move) in EFFECT_TABLE:
            state = moved(state, move)
        if before is EffectState.DOUBT and state is EffectState.PENDING:
            assert move in (EffectMove.ABSENT, EffectMove.RESEND)
        if before in ENDED:
            assert state is before


@given(phase=st.sampled_from(Phase), move=st.sampled_from(LaneMove), to=st.sampled_from(Phase))
def test_a_lane_moves_as_the_table_says_or_not_at_all(phase: Phase, move: LaneMove, to: Phase) -> None:
    if to in LANE_TABLE.get((phase, move), frozenset()):
        assert check_move(phase, move, to) is to
    else:
        with pytest.raises(IllegalMove):
            check_move(phase, move, to)


def test_only_a_claim_or_a_settlement_makes_a_lane_held() -> None:
    into = {move for (phase, move), tos in LANE_TABLE.items() if Phase.HELD in tos and phase is not Phase.HELD}

    assert into == {LaneMove.CLAIM}
    assert Phase.HELD in LANE_TABLE[Phase.HELD, LaneMove.SETTLE]


def test_every_phase_can_be_left() -> None:
    for phase in Phase:
        assert any(set(tos) - {phase} for (at, _), tos in LANE_TABLE.items() if at is phase)


Seen = set[tuple[Phase, LaneMove, Phase]]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Every move that the reference asks the table for."""
    asked: Seen = set()

    def remembering(phase: Phase, move: LaneMove, to: Phase) -> Phase:
        asked.add((phase, move, to))
        return check_move(phase, move, to)

    monkeypatch.setattr(memory_rest, "check_move", remembering)
    return asked


async def test_the_reference_moves_its_lanes_by_the_table_only(seen: Seen) -> None:
    """A day in the life of a few lanes: each kind of move is asked for, and each is allowed."""
    async with memory() as harness:
        await ask_for(harness, an_effect("0", terms=some_terms(doubt_wait=1)), an_effect("1"))
        send = await claim_send(harness)
        await record(harness, send, await begin(harness, send), Uncertain(reason="?"))
        await harness.console.resolve(ACME, send.effect.id, "sent", actor=OPERATOR)
        await see(harness, a_sighting(effect=the_effect("1")))
        await accept(harness, an_event(2), an_event(3), an_event(1, lane="bob"))
        turns = await claim(harness)
        await harness.store.release([turns[0].lease])
        await pass_time(harness, TTL)
        await harness.console.pause(ACME, the_lane(), seconds(1), actor=OPERATOR)
        await harness.console.resume(ACME, the_lane(), actor=OPERATOR)
        await harness.console.skip(ACME, the_lane(), actor=OPERATOR)
        await accept(harness, *(an_event(1, lane=name, aliases=(name,)) for name in ("cid", "dan")))
        await accept(harness, an_event(2, lane="cid", aliases=("cid", "dan")))

    assert {move for _, move, _ in seen} == set(LaneMove)
    assert all(to in LANE_TABLE[phase, move] for phase, move, to in seen)


def test_every_verdict_has_a_move_from_armed() -> None:
    verdicts: dict[type[Verdict], EffectMove] = {
        Confirmed: EffectMove.CONFIRM,
        Deferred: EffectMove.DEFER,
        Refused: EffectMove.REFUSE,
        Uncertain: EffectMove.DOUBT,
    }

    assert all((EffectState.ARMED, move) in EFFECT_TABLE for move in verdicts.values())
    assert (EffectState.ARMED, EffectMove.ABSENT) not in EFFECT_TABLE, f"{Absent.__name__} is the answer to a probe"


def test_the_suite_is_whole() -> None:
    assert len(every_case()) > 300
