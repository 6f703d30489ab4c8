"""Where a lane rests: `core.lane.resting`."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from procession.core.lane import Phase, RestingFacts, resting

NOW = datetime(2030, 1, 7, tzinfo=UTC)

instants = st.none() | st.integers(-5, 5).map(lambda seconds: NOW + timedelta(seconds=seconds))
facts_drawn = st.builds(
    RestingFacts,
    has_work=st.booleans(),
    parked=st.booleans(),
    pause_applies=st.booleans(),
    paused_until=instants,
    wake_at=instants,
    merging=st.booleans(),
)


@given(facts=facts_drawn)
def test_a_lane_rests_in_one_phase_and_never_held(facts: RestingFacts) -> None:
    phase, _ = resting(facts, NOW)

    assert phase is not Phase.HELD


@given(facts=facts_drawn)
def test_a_lane_is_ready_only_if_nothing_stops_it(facts: RestingFacts) -> None:
    phase, _ = resting(facts, NOW)

    stopped = facts.pause_applies and (facts.paused_until is None or facts.paused_until > NOW)
    early = facts.wake_at is not None and facts.wake_at > NOW
    assert (phase is Phase.READY) == (facts.has_work and not (facts.parked or stopped or early or facts.merging))


@given(facts=facts_drawn)
def test_whatever_waits_has_a_moment_to_come_unless_it_waits_for_a_merge(facts: RestingFacts) -> None:
    phase, wake_at = resting(facts, NOW)

    if phase is Phase.WAITING and facts.merging:
        assert wake_at is None
    elif phase is Phase.WAITING:
        assert wake_at is not None
        assert wake_at > NOW
    if phase in (Phase.READY, Phase.PARKED):
        assert wake_at is None


@given(facts=facts_drawn)
def test_looking_again_at_its_moment_finds_another_phase(facts: RestingFacts) -> None:
    """No lane is woken for nothing: L4, that nothing is forgotten, stands on this."""
    phase, wake_at = resting(facts, NOW)

    if wake_at is not None and phase in (Phase.WAITING, Phase.PAUSED):
        later, _ = resting(facts, wake_at)
        assert later is not phase


@given(facts=facts_drawn, later=st.integers(0, 20))
def test_a_ready_lane_stays_ready_while_time_passes(facts: RestingFacts, later: int) -> None:
    if resting(facts, NOW)[0] is Phase.READY:
        assert resting(facts, NOW + timedelta(seconds=later))[0] is Phase.READY
