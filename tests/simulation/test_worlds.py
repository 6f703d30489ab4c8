"""Worlds: each of some seeds keeps every rule, is the same when played again, and has really gone through trouble.

They are played in processes of their own, as the command does it: a seed is the same world only under one hash seed.
"""

import json
from collections.abc import Sequence

import pytest

from procession.testing.simulation import driver
from procession.testing.simulation.rare import Rare
from procession.testing.simulation.report import Broken, Campaign
from procession.testing.simulation.whatsapp.rare import Sight
from procession.testing.simulation.whatsapp.tally import Wrong
from procession.testing.simulation.world import sites
from tests.simulation.regressions import SEEDS, WHATSAPP_SEEDS

_SMALL = 24
_SMALL_OF_WHATSAPP = 16


def _played(first: int, seeds: int, step: int = 1, *, world: str = "standard") -> Campaign:
    campaign = Campaign()
    arguments = ["--world", world, "--first", str(first), "--seeds", str(seeds), "--step", str(step)]
    for _, line in driver._lines([driver._start(arguments)]):
        campaign.merge(Campaign.unpacked(json.loads(line)))
    return campaign


def _told(campaign: Campaign) -> Sequence[str]:
    return [f"seed {broken.seed}: {broken.rule}: {broken.text}" for broken in campaign.broken]


@pytest.mark.parametrize("first", [0, 1, 3])
def test_every_rule_holds_in_some_worlds_on_each_kind_of_store(first: int) -> None:
    campaign = _played(first, 4, 4)

    assert not _told(campaign)
    assert campaign.seeds == 4
    assert campaign.events >= 4 * 200


@pytest.mark.parametrize("seed", SEEDS)
def test_a_seed_that_once_failed_does_not_fail_again(seed: int) -> None:
    assert not _told(_played(seed, 1))


def test_a_seed_is_the_same_world_in_every_process() -> None:
    first, second = _played(5, 3), _played(5, 3)

    assert first.packed() == second.packed()


def test_worlds_go_through_what_is_rare() -> None:
    campaign = _played(0, _SMALL)

    assert not _told(campaign)
    assert not [rare for rare in Rare if not campaign.rare[rare.value]]


def test_whatsapp_worlds_keep_every_promise_and_go_through_what_is_rare() -> None:
    campaign = _played(0, _SMALL_OF_WHATSAPP, world="whatsapp")

    assert not _told(campaign)
    assert not [sight for sight in Sight if not campaign.rare[sight.value]]
    assert not [wrong for wrong in Wrong if campaign.counts[wrong.value]]


@pytest.mark.parametrize("seed", WHATSAPP_SEEDS)
def test_a_whatsapp_seed_that_once_failed_does_not_fail_again(seed: int) -> None:
    assert not _told(_played(seed, 1, world="whatsapp"))


def test_a_seed_is_the_same_whatsapp_world_in_every_process() -> None:
    first, second = _played(1, 3, world="whatsapp"), _played(1, 3, world="whatsapp")

    assert first.packed() == second.packed()


def test_the_summary_of_whatsapp_worlds_names_what_the_command_promises() -> None:
    summary = _played(2, 1, world="whatsapp").summary_of_whatsapp(sites())

    assert (summary["world"], summary["seeds"], summary["violations"]) == ("whatsapp", 1, 0)
    assert {"lost", "duplicates", "out_of_order_accepted", "out_of_order_shown", "cross_tenant"} < summary.keys()
    assert summary["pairs_behind_expired_gates"] > 0
    assert list(summary["rare"]) == [sight.value for sight in Sight]


def test_the_summary_of_a_campaign_names_what_the_command_promises() -> None:
    summary = _played(2, 2).summary(sites())

    assert list(summary) == ["seeds", "events", "violations", "await_sites", "rare"]
    assert (summary["seeds"], summary["violations"]) == (2, 0)
    assert list(summary["rare"]) == [rare.value for rare in Rare]
    assert 0 < summary["await_sites"]["crashed_at"] <= summary["await_sites"]["total"]


def test_a_world_that_breaks_a_rule_makes_the_command_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    campaign = Campaign(seeds=1, events=200)
    campaign.broken.append(Broken(seed=7, rule="S1", text="an event is gone", excerpt=["what led there"]))
    monkeypatch.setattr(driver, "_played", lambda *_: iter([campaign]))

    status = driver.simulate(seeds=1, as_json=True)

    shown = capsys.readouterr()
    assert status == 1
    assert json.loads(shown.out)["violations"] == 1
    assert "S1: an event is gone" in shown.err
    assert "what led there" in shown.err
    assert "procession selftest simulate --seed 7" in shown.err
