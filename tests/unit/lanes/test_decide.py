"""The table of outcomes: what a failure, a death, or a missing handler leads to."""

from datetime import UTC, datetime, timedelta

import pytest

from procession.core.event import Event
from procession.core.ids import ChannelName, EventId, LaneId, TenantId, WorkerId
from procession.core.lane import Lease, Side
from procession.core.retry import Retry
from procession.core.turn import Advance, Delay, HeldTurn, Park, SetAside
from procession.lanes.decide import Failure, condemned, failed, is_condemned, unhandled
from procession.lanes.handler import WhenUsedUp

NOW = datetime(2030, 1, 1, tzinfo=UTC)
RETRY = Retry(tries_max=3, base=timedelta(seconds=8))
NO = Failure(reason="ValueError: no", kind="ValueError")


def held(*, tries: int = 1, deaths: int = 0, deaths_alone: int = 0) -> HeldTurn:
    tenant, lane = TenantId("acme"), LaneId("ln_1")
    event = Event(
        tenant=tenant,
        channel=ChannelName("main"),
        lane=lane,
        lane_key="person",
        id=EventId("ev_1"),
        provider_id="1",
        kind="text",
        payload=b"{}",
        seq=1,
        accepted_at=NOW,
    )
    return HeldTurn(
        lease=Lease(tenant=tenant, lane=lane, side=Side.TURNS, era=1, epoch=1, worker=WorkerId("w")),
        lane_key="person",
        events=(event,),
        state=None,
        steps=(),
        tries=tries,
        deaths=deaths,
        deaths_alone=deaths_alone,
        first_try_at=NOW,
    )


@pytest.mark.parametrize(
    ("tries", "deaths", "outcome"),
    [
        (1, 0, Delay(after=timedelta(seconds=4), reason="ValueError: no")),
        (2, 0, Delay(after=timedelta(seconds=8), reason="ValueError: no")),
        (3, 0, SetAside(reason="after 3 tries: ValueError: no")),
        (3, 2, Delay(after=timedelta(seconds=4), reason="ValueError: no")),
        (5, 2, SetAside(reason="after 3 tries: ValueError: no")),
    ],
)
def test_a_failure_waits_until_the_turns_own_tries_are_used_up(tries: int, deaths: int, outcome: object) -> None:
    assert failed(held(tries=tries, deaths=deaths), NO, 0.0, retry=RETRY) == outcome


def test_a_handlers_policy_decides_what_comes_then() -> None:
    outcome = failed(held(tries=3), NO, 0.0, retry=RETRY, policy=WhenUsedUp.PARK)

    assert outcome == Park(reason="after 3 tries: ValueError: no")


def test_a_reason_is_kept_short() -> None:
    outcome = failed(held(), Failure(reason="x" * 10_000, kind="ValueError"), 0.0, retry=RETRY)

    assert isinstance(outcome, Delay)
    assert len(outcome.reason) == 500


@pytest.mark.parametrize(("deaths", "alone", "is_one"), [(5, 2, False), (5, 3, True), (9, 0, False)])
def test_only_deaths_alone_condemn_a_turn(deaths: int, alone: int, is_one: bool) -> None:
    assert is_condemned(held(deaths=deaths, deaths_alone=alone)) is is_one


def test_a_condemned_turn_says_how_often_it_killed_its_process() -> None:
    outcome = condemned(held(deaths=5, deaths_alone=3), WhenUsedUp.SET_ASIDE)

    assert isinstance(outcome, SetAside)
    assert outcome.reason.startswith("it killed its process: 5 tries ended with it, 3 of them while nothing else ran")


def test_an_event_without_a_handler_passes_unless_the_application_is_strict() -> None:
    assert unhandled("text", strict=False) == Advance()
    assert unhandled("text", strict=True) == SetAside(reason="no handler for text")
