"""A short bench over real processes gives every figure; what it says of speed is nobody's expectation here."""

import json

import pytest

from procession.testing.bench.driver import main


@pytest.mark.timeout(180)
def test_a_round_measures_the_engine_beside_the_floor(capsys: pytest.CaptureFixture[str]) -> None:
    only = "no_store,floor_accept,accept"
    status = main(store="sqlite", seconds=0.3, connections=4, rounds=1, as_json=True, only=only)

    told = json.loads(capsys.readouterr().out)
    assert status == 0
    assert set(told["measures"]) == {"no_store", "floor_accept", "floor_drain", "accept", "drain"}
    assert told["measures"]["accept"]["refused"] == 0
    assert told["measures"]["drain"]["done"] > 0
    assert told["ratios"]["accept / floor"] > 0


@pytest.mark.timeout(180)
def test_every_event_of_the_whole_line_comes_through(capsys: pytest.CaptureFixture[str]) -> None:
    main(store="sqlite", seconds=0.3, connections=4, rounds=1, as_json=False, only="whole_line,paced")

    assert "whole_line" in capsys.readouterr().out
