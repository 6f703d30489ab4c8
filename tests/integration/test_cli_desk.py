"""Every command of an operator, against a running engine and against the file alone: the answers are the same."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from procession.cli import main
from procession.runtime.document import Json
from tests.integration.engines import Engine, House, house_in


class Lived:
    """A house in which something of everything has happened; with its engine still running, or stopped."""

    def __init__(self, house: House, engine: Engine | None) -> None:
        self.house = house
        self.engine = engine

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """In this process: the folder is the working directory."""
        ran = CliRunner().invoke(main, list(arguments), env=self.house.environment, catch_exceptions=False)
        return ran.exit_code, ran.stdout, ran.stderr

    def ask(self, *arguments: str) -> Json:
        status, out, error = self.run(*arguments, "--json")
        assert status == 0, error
        return json.loads(out)

    def text(self, *arguments: str) -> str:
        status, out, error = self.run(*arguments)
        assert status == 0, error
        return out


@pytest.fixture(params=["running", "stopped"])
def lived(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lived]:
    monkeypatch.chdir(tmp_path)
    with house_in(tmp_path) as house, house.engine() as engine:
        assert engine.text("e1") == 200
        house.provider.next()
        assert engine.deliver({"id": "f1", "who": "fay", "kind": "fail"}) == 200
        assert engine.deliver({"id": "p1", "who": "pat", "kind": "park"}) == 200
        assert engine.text("p2", who="pat") == 200
        assert engine.deliver({"who": "nobody", "kind": "text"}) == 200
        lived = Lived(house, engine)
        # The events after this one are accepted behind it, and the console is asked until they are played.
        while lived.ask("aside", "list") == [] or lived.ask("lanes", "--phase", "parked") == []:
            pass
        if request.param == "stopped":
            assert engine.stop() == 0
            lived.engine = None
        yield lived


def test_why_tells_the_life_of_an_event(lived: Lived) -> None:
    (view,) = lived.ask("why", "e1")

    assert (view["state"], view["tenant"], view["lane_key"], view["seq"]) == ("done", "acme", "bob", 1)
    assert [effect["state"] for effect in view["effects"]] == ["confirmed"]
    assert lived.ask("why", view["effects"][0]["id"]) == [view]
    assert "confirmed" in lived.text("why", "e1")


def test_why_of_nothing_fails_and_says_what_it_means(lived: Lived) -> None:
    status, out, error = lived.run("why", "nobody", "--json")

    assert status == 1
    assert json.loads(out)["error"]["kind"] == "BadRequest"
    assert "pruned" in error


def test_lanes_lists_what_waits_and_for_whom(lived: Lived) -> None:
    found = lived.ask("lanes")

    assert [(view["lane_key"], view["phase"], view["waiting"]) for view in found] == [("pat", "parked", 2)]
    assert "pat" in lived.text("lanes")
    assert lived.ask("lanes", "--tenant", "other") == []


def test_a_parked_lane_is_shown_skipped_and_goes_on(lived: Lived) -> None:
    shown = lived.ask("lane", "show", "pat")
    assert [event["provider_id"] for event in shown["events"]] == ["p1", "p2"]

    skipped = lived.ask("lane", "skip", "pat", "--actor", "anna")
    assert skipped == {"skipped": shown["events"][0]["id"]}
    assert lived.ask("why", "p1")[0]["state"] == "skipped"
    assert any((row["actor"], row["verb"]) == ("anna", "lane skip") for row in lived.ask("audit"))
    if lived.engine is not None:
        assert lived.house.provider.next().json == {"reply": "1: hello", "to": "pat"}


def test_a_lane_is_paused_and_resumed_once(lived: Lived) -> None:
    assert lived.ask("lane", "pause", "bob", "--for", "30m", "--reason", "a person writes") == {"paused": True}
    (turns, _) = lived.ask("lane", "show", "bob")["sides"]
    assert turns["paused_until"] is not None

    assert lived.ask("lane", "resume", "bob") == {"resumed": True}
    assert lived.ask("lane", "resume", "bob") == {"resumed": False}


def test_a_lane_that_is_not_there_is_refused(lived: Lived) -> None:
    assert lived.run("lane", "pause", "nobody")[0] == 1
    assert lived.run("lane", "pause", "bob", "--for", "soon")[0] == 1


def test_a_set_aside_event_is_listed_shown_and_given_up(lived: Lived) -> None:
    (listed,) = lived.ask("aside", "list")
    assert (listed["lane_key"], listed["tries"], listed["payload"]) == ("fay", 1, None)
    assert "nobody knows why" in listed["reason"]

    shown = lived.ask("aside", "show", listed["id"])
    assert json.loads(shown["payload"]) == {"id": "f1", "who": "fay", "kind": "fail"}
    assert any(row["verb"] == "aside show" for row in lived.ask("audit"))

    assert lived.ask("aside", "drop", listed["id"]) == {"dropped": True}
    assert lived.ask("aside", "drop", listed["id"], "--tenant", "acme") == {"dropped": False}
    assert lived.ask("aside", "list") == []


@pytest.mark.parametrize("by", ["event", "lane"])
def test_a_set_aside_event_is_replayed(lived: Lived, by: str) -> None:
    (listed,) = lived.ask("aside", "list")

    if by == "event":
        assert lived.ask("aside", "replay", listed["id"]) == {"replayed": True}
    else:
        assert lived.ask("lane", "replay", "fay") == {"replayed": [listed["id"]]}

    if lived.engine is None:
        assert lived.ask("why", "f1")[0]["state"] == "waiting"
    else:
        # Its handler fails again, and it is set aside again, later than before.
        while [view["at"] for view in lived.ask("aside", "list")] in ([], [listed["at"]]):
            pass


def test_what_is_in_quarantine_is_routed_once_the_directory_knows_how(lived: Lived) -> None:
    (listed,) = lived.ask("quarantine", "list")
    assert "id" in listed["reason"]
    assert json.loads(lived.ask("quarantine", "show", listed["id"])["body"]) == {"who": "nobody", "kind": "text"}
    status, _, error = lived.run("quarantine", "route", listed["id"])
    assert (status, "still cannot be read" in error) == (1, True)

    declared = Path("platform.toml").read_text()
    Path("platform.toml").write_text(declared.replace('id = "/id"', 'id = "/who"').replace('text = "/text"', ""))
    lived.ask("apply", "-f", "platform.toml")

    (event,) = lived.ask("quarantine", "route", listed["id"])["events"]
    assert lived.ask("why", event)[0]["provider_id"] == "nobody"
    assert lived.ask("quarantine", "list") == []


def test_what_is_in_quarantine_is_dropped(lived: Lived) -> None:
    (listed,) = lived.ask("quarantine", "list")

    assert lived.ask("quarantine", "drop", listed["id"]) == {"dropped": True}
    assert lived.ask("quarantine", "drop", listed["id"]) == {"dropped": False}


def test_sending_stops_and_goes_on(lived: Lived) -> None:
    assert lived.ask("sending", "pause") == {"changed": True}
    assert lived.ask("sending", "pause") == {"changed": False}
    assert lived.ask("sending", "resume") == {"changed": True}


def test_where_nothing_is_held_back_there_is_nothing_to_release(lived: Lived) -> None:
    assert lived.ask("sending", "show") == []
    assert "nothing is held back" in lived.text("sending", "show", "--tenant", "acme")
    assert lived.ask("sending", "release", "acme", "chat") == {"released": False}
    assert lived.run("sending", "release", "nobody")[0] == 1


def test_a_new_era_pauses_sending_and_doubts_what_was_not_sent(lived: Lived) -> None:
    assert lived.ask("sending", "pause") == {"changed": True}
    if lived.engine is not None:
        assert lived.engine.text("e2") == 200
        while lived.ask("why", "e2")[0]["state"] != "done":
            pass

    assert lived.ask("restore", "--yes", "--reason", "disk failed") == {"era": 2}

    assert lived.ask("sending", "pause") == {"changed": False}
    doubts = lived.ask("doubt", "list")
    assert len(doubts) == (0 if lived.engine is None else 1)
    for doubt in doubts:
        assert lived.ask("doubt", "resolve", doubt["id"], "sent") == {"resolved": True}
        assert lived.ask("doubt", "resolve", doubt["id"], "sent") == {"resolved": False}


def test_a_tenants_secret_goes_in_and_is_never_shown(lived: Lived) -> None:
    lived.house.environment["MODEL_KEY"] = "sk-very-secret"
    assert lived.ask("secret", "set", "acme", "model-key", "--env", "MODEL_KEY") == {"changed": True}
    assert lived.ask("secret", "set", "acme", "model-key", "--env", "MODEL_KEY") == {"changed": False}

    listed = lived.text("secret", "list")
    assert "model-key" in listed
    assert "sk-very-secret" not in listed + json.dumps(lived.ask("audit"))
    assert lived.ask("secret", "forget", "acme", "model-key") == {"forgotten": "model-key"}
    assert "model-key" not in lived.text("secret", "list")


def test_data_keys_are_rotated_and_everything_goes_on(lived: Lived) -> None:
    lived.house.environment["MODEL_KEY"] = "sk-very-secret"
    lived.ask("secret", "set", "acme", "model-key", "--env", "MODEL_KEY")
    before = lived.ask("secret", "list")

    assert lived.ask("secret", "rotate", "--tenant", "acme", "--actor", "anna") == {"keys": 1, "secrets": 2}
    assert lived.ask("secret", "rotate") == {"keys": 2, "secrets": 3}

    audited = [(row["actor"], row["tenant"], row["verb"], row["about"]) for row in lived.ask("audit")]
    assert ("anna", "acme", "key add", "data key 2") in audited
    assert [row["name"] for row in lived.ask("secret", "list")] == [row["name"] for row in before]
    assert lived.run("secret", "rotate", "--tenant", "nobody")[0] == 1
    assert_served_after(lived)


def test_the_master_key_is_rotated_and_everything_goes_on(lived: Lived) -> None:
    file = Path("procession-data/master.key")
    before = file.read_text()

    assert lived.ask("secret", "rotate", "--master", "--actor", "anna") == {"keys": 2, "secrets": 0}

    assert len(file.read_text().split()) == 1
    assert file.read_text() != before
    assert file.stat().st_mode & 0o777 == 0o600
    assert ("anna", "key rewrap") in [(row["actor"], row["verb"]) for row in lived.ask("audit")]
    assert lived.run("secret", "rotate", "--master", "--tenant", "acme")[0] == 1
    assert "master key" in lived.text("secret", "rotate", "--master")
    assert_served_after(lived)


def assert_served_after(lived: Lived) -> None:
    """By the engine that runs, and by one that is started after it."""
    if lived.engine is not None:
        assert lived.engine.text("after") == 200
        lived.house.provider.next()
        assert lived.engine.stop() == 0
        lived.engine = None
    with lived.house.engine() as engine:
        assert engine.text("later") == 200
        assert lived.house.provider.next().headers["webhook-signature"]
    found = {finding["about"]: finding for finding in lived.ask("doctor")}
    assert found["secrets"]["grade"] == "good"


def test_an_engine_with_another_master_key_is_refused_and_changes_nothing(lived: Lived) -> None:
    file, database = Path("procession-data/master.key"), Path("procession-data/procession.db")
    if lived.engine is not None:
        lived.engine.stop()
        lived.engine = None
    kept, before = file.read_text(), database.read_bytes()

    for stranger in ("", "c3RyYW5nZXIgc3RyYW5nZXIgc3RyYW5nZXIgc3RyYW4=\n"):
        file.unlink()
        if stranger:
            file.write_text(stranger)
            file.chmod(0o600)
        served = lived.house.run("serve", "bot:app", "--port", "0")
        assert served.returncode == 1
        assert "master key" in served.stderr
        assert (file.read_text() if file.exists() else "") == stranger
        status, out, _ = lived.run("doctor", "--json")
        assert status == 1
        assert "secrets" in [finding["about"] for finding in json.loads(out) if finding["grade"] == "bad"]
        file.touch(0o600)
    file.write_text(kept)

    assert database.read_bytes() == before
    assert_served_after(lived)


def test_the_doctor_says_what_a_rotation_has_left(lived: Lived) -> None:
    if lived.engine is not None:
        lived.engine.stop()
        lived.engine = None
    file = Path("procession-data/master.key")
    file.write_text("bmV3IG5ldyBuZXcgbmV3IG5ldyBuZXcgbmV3IG5ldyA=\n" + file.read_text())

    found = {finding["about"]: finding for finding in lived.ask("doctor")}
    assert found["secrets"]["grade"] == "look"
    assert "2 data keys wrapped by an older master key: `procession secret rotate --master`" in found["secrets"]["text"]

    assert lived.ask("secret", "rotate", "--master") == {"keys": 2, "secrets": 0}
    assert_served_after(lived)


def test_applying_the_same_again_changes_nothing_and_a_dry_run_only_tells(lived: Lived) -> None:
    assert lived.ask("apply", "-f", "platform.toml") == {"changes": [], "dry_run": False}
    Path("platform.toml").write_text(Path("platform.toml").read_text().replace('"acme"', '"acme"\nweight = 3', 1))

    told = lived.ask("apply", "-f", "platform.toml", "--dry-run")

    assert [change["what"] for change in told["changes"]] == ["tenant acme"]
    assert lived.ask("apply", "-f", "platform.toml", "--dry-run") == told
    assert lived.ask("apply", "-f", "platform.toml")["changes"] == told["changes"]


def test_the_doctor_sees_what_waits_for_somebody(lived: Lived) -> None:
    found = {finding["about"]: finding for finding in lived.ask("doctor")}

    assert (
        found["parked lanes"]["grade"] == found["set-aside events"]["grade"] == found["quarantine"]["grade"] == "look"
    )
    assert found["integrity"]["grade"] == "good"
    assert found["engine"]["text"].startswith("runs on") == (lived.engine is not None)
    assert "cannot be told from the original" in found["restore"]["text"]


def test_the_doctor_fails_when_others_can_read_the_master_key(lived: Lived) -> None:
    Path("procession-data/master.key").chmod(0o644)

    status, out, _ = lived.run("doctor", "--json")

    assert status == 1
    bad = [finding["about"] for finding in json.loads(out) if finding["grade"] == "bad"]
    # Where no engine runs that has read it already, no secret opens by it either.
    assert bad == (["master key"] if lived.engine is not None else ["master key", "secrets"])


def test_the_schema_is_brought_forward_only_while_no_engine_runs(lived: Lived) -> None:
    status, out, error = lived.run("migrate", "--json")

    if lived.engine is None:
        assert json.loads(out)["from"] == json.loads(out)["to"] >= 1
    else:
        assert (status, "another engine" in error) == (1, True)


def test_config_shows_values_with_their_origin(lived: Lived) -> None:
    Path("procession.toml").write_text("port = 9999\n[outbound]\nallow_private = ['10.0.0.0/8']\n")

    found = lived.ask("config", "--set", "slots=7")

    assert found["port"] == {"value": "9999", "origin": "procession.toml"}
    assert found["outbound.allow_private"] == {"value": "10.0.0.0/8", "origin": "procession.toml"}
    assert found["slots"] == {"value": "7", "origin": "flag --slots"}
    assert found["host"]["origin"] == "default"


def test_no_terminal_means_no_escape_codes(lived: Lived) -> None:
    shown = lived.text("lanes") + lived.text("doctor") + lived.text("config")

    assert "\x1b" not in shown
