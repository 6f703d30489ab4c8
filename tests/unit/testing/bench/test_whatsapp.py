"""A short round on real processes answers every text; what it says of speed is nobody's expectation here."""

import json

import pytest

from procession.testing.bench.driver import whatsapp
from procession.testing.bench.whatsapp import is_kept

GOOD = {
    "p99_ms": 5.0,
    "reply_p95_ms": 100.0,
    **dict.fromkeys(("refused", "missing", "twice", "astray", "refused_by_graph"), 0.0),
}


@pytest.mark.timeout(180)
def test_every_text_of_a_short_round_has_one_reply_of_its_own_tenant(capsys: pytest.CaptureFixture[str]) -> None:
    whatsapp(store="sqlite", rate=40, seconds=1.0, rounds=1, as_json=True)

    told = json.loads(capsys.readouterr().out)
    assert told["measures"]["bare"]["refused"] == 0
    for name in ("whatsapp", "with_statuses"):
        line = told["measures"][name]
        assert {line[bad] for bad in ("refused", "refused_by_graph", "missing", "twice", "astray")} == {0}
        assert 0 < line["replies"] <= 40
        assert (line["statuses"] > 0) == (name == "with_statuses")
        assert line["reply_p95_ms"] >= line["reply_p50_ms"] > 0
    assert told["ratios"]["ack p99 / bare server's p99"] > 0


def test_the_aim_is_kept_at_its_bounds() -> None:
    assert is_kept({"whatsapp": GOOD}, 4.0)


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_figure_beyond_its_bound_misses_the_aim(name: str) -> None:
    assert not is_kept({"whatsapp": {**GOOD, name: GOOD[name] + 1}}, 4.0)


def test_an_answer_that_waits_too_long_beside_the_bare_server_misses_the_aim() -> None:
    assert not is_kept({"whatsapp": GOOD}, 4.1)
