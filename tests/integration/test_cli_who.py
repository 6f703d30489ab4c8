"""Tenants, endpoints and channels, one at a time: what a command names changes, everything else stays."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from procession.cli import main
from procession.runtime.document import Json
from tests.integration.engines import house_in

SECRETS = {
    "FIRST": "the first signing secret of a test",
    "SECOND": "the second signing secret of a test",
    "TOKEN": "what replies are signed with by this test",
}


class Line:
    """Commands on a folder, each in its own words."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment

    def run(self, words: str) -> tuple[int, str, str]:
        ran = CliRunner().invoke(main, words.split(), env=self._environment, catch_exceptions=False)
        return ran.exit_code, ran.stdout, ran.stderr

    def ask(self, words: str) -> Json:
        status, out, error = self.run(f"{words} --json")
        assert status == 0, error
        return json.loads(out)

    def changes(self, words: str) -> list[str]:
        return [f"{change['sign']} {change['what']}" for change in self.ask(words)["changes"]]


@pytest.fixture
def line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    monkeypatch.chdir(tmp_path)
    return Line({**SECRETS})


@pytest.fixture
def shop(line: Line) -> Line:
    """One of each."""
    line.changes("tenant add acme weight=2")
    line.changes("endpoint add shop --connector plain signing=env:FIRST account=/account")
    line.changes(
        "channel add plain --tenant acme --endpoint shop --name main --account 12 "
        "id=/id lane=/from kind=/kind url=https://example.com/x signing=env:TOKEN"
    )
    return line


def test_what_is_added_is_listed(shop: Line) -> None:
    (tenant,), (endpoint,), (channel,) = shop.ask("tenant list"), shop.ask("endpoint list"), shop.ask("channel list")

    assert (tenant["id"], tenant["weight"]) == ("acme", 2)
    assert (endpoint["name"], endpoint["settings"]) == ("shop", {"account": "/account"})
    assert (channel["tenant"], channel["name"], channel["account"]) == ("acme", "main", "12")


def test_what_a_change_does_not_name_stays(shop: Line) -> None:
    shop.changes("tenant set acme lanes_max=5")
    shop.changes("channel set acme/main gate_gap=0.5")

    assert (shop.ask("tenant list")[0]["weight"], shop.ask("tenant list")[0]["lanes_max"]) == (2, 5)
    channel = shop.ask("channel list")[0]
    assert channel["settings"] == {
        "id": "/id",
        "lane": "/from",
        "kind": "/kind",
        "url": "https://example.com/x",
        "gate_gap": 0.5,
    }
    assert channel["account"] == "12"
    assert channel["secrets"] == {"signing": "channel/main/signing"}


def test_the_same_again_changes_nothing(shop: Line) -> None:
    assert shop.changes("channel set acme/main url=https://example.com/x signing=env:TOKEN") == []


def test_a_signing_secret_is_changed_while_both_are_valid(shop: Line) -> None:
    both = shop.changes("endpoint set shop signing=env:FIRST signing=env:SECOND")
    settings_only = shop.changes("endpoint set shop elements=/items")
    one = shop.changes("endpoint set shop signing=env:SECOND")

    assert "+ secret endpoint/shop/signing/2" in both
    assert not any("secret" in change for change in settings_only)
    assert "- secret endpoint/shop/signing/1" in one


def test_what_is_there_is_not_added_again_and_what_is_not_there_not_changed(shop: Line) -> None:
    for words, text in (
        ("tenant add acme", "`set` changes it"),
        ("tenant set bolt", "`add` makes it"),
        ("endpoint add shop --connector plain signing=env:FIRST", "`set` changes it"),
        ("channel set acme/other gate=sent", "`add` makes it"),
        ("channel remove acme/other", "there is no channel acme/other"),
        ("channel remove main", "TENANT/NAME"),
        ("tenant remove acme", "there is no tenant 'acme'"),
    ):
        status, _, error = shop.run(words)
        assert status == 1
        assert text in error


def test_a_secret_that_is_written_out_is_refused_and_not_repeated(shop: Line) -> None:
    status, out, error = shop.run("channel set acme/main signing=written-out-by-mistake")

    assert status == 1
    assert "env" in error
    assert "written-out-by-mistake" not in out + error


def test_everything_goes_in_the_other_order(shop: Line) -> None:
    shop.changes("channel remove acme/main")
    shop.changes("endpoint remove shop")
    shop.changes("tenant remove acme")

    assert shop.ask("tenant list") == shop.ask("endpoint list") == shop.ask("channel list") == []
    assert shop.ask("secret list") == []


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Line]:
    """The same, at an engine that runs."""
    monkeypatch.chdir(tmp_path)
    with house_in(tmp_path) as house, house.engine():
        yield Line({**house.environment, **SECRETS})


def test_a_running_engine_follows(house: Line) -> None:
    before = len(house.ask("channel list"))

    house.changes("tenant add bolt")
    house.changes("endpoint add more --connector standard --tenant bolt signing=env:FIRST")
    house.changes("channel add standard --tenant bolt --endpoint more lane=/a kind=/b")

    assert len(house.ask("channel list")) == before + 1
