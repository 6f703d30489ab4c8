"""Settings: layers, origins, and errors that say what was meant."""

from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path

import pytest

from procession.app.config import Config, load, shown
from procession.app.settings import BY_NAME, SETTINGS, Role, duration_of, duration_text, read_value
from procession.core.errors import Misconfigured
from procession.ingress.http_limits import HttpLimits


def _origins(config: Config) -> dict[str, tuple[str, str]]:
    return {setting.name: (shown(setting, found), found.origin) for setting, found in config}


def test_the_later_layer_wins_and_each_value_keeps_its_origin(tmp_path: Path) -> None:
    (tmp_path / "procession.toml").write_text('port = 1\nhost = "10.0.0.1"\nslots = 5\n')

    config = load(
        {"port": "3"}, folder=tmp_path, environment={"PROCESSION_PORT": "2", "PROCESSION_SLOTS": "6", "PATH": "/bin"}
    )

    found = _origins(config)
    assert found["port"] == ("3", "flag --port")
    assert found["slots"] == ("6", "environment PROCESSION_SLOTS")
    assert found["host"] == ("10.0.0.1", "procession.toml")
    assert found["lease"] == ("10s", "default")


def test_every_default_reads_as_itself(tmp_path: Path) -> None:
    for setting, found in load(folder=tmp_path, environment={}):
        assert shown(setting, found) == setting.default
        assert read_value(setting, shown(setting, found), "test") == found.value


def test_the_defaults_of_http_are_the_servers_own(tmp_path: Path) -> None:
    assert load(folder=tmp_path, environment={}).http == HttpLimits()


def test_a_server_setting_reaches_the_server(tmp_path: Path) -> None:
    config = load({"http.body_ttl": "3s", "http.connections_max": "9"}, folder=tmp_path, environment={})

    assert (config.http.body_ttl, config.http.connections_max) == (timedelta(seconds=3), 9)


def test_every_setting_has_its_own_variable_and_a_reason() -> None:
    assert len({setting.variable for setting in SETTINGS}) == len(SETTINGS)
    assert BY_NAME["outbound.allow_private"].variable == "PROCESSION_OUTBOUND_ALLOW_PRIVATE"
    assert all(setting.reason for setting in SETTINGS)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("prot = 1", "'port'"), ("[outbound]\nallow_privat = []", "'outbound.allow_private'"), ("zzz = 1", "lists")],
)
def test_an_unknown_key_of_the_file_is_an_error_with_what_was_meant(tmp_path: Path, text: str, meant: str) -> None:
    (tmp_path / "procession.toml").write_text(text)

    with pytest.raises(Misconfigured, match=r"procession\.toml") as caught:
        load(folder=tmp_path, environment={})

    assert meant in str(caught.value)


def test_a_variable_that_is_nearly_ours_is_an_error_and_others_are_let_be(tmp_path: Path) -> None:
    load(folder=tmp_path, environment={"PROCESSION_IMAGE_OF_MINE": "x", "PROCESSION_MASTER_KEY": "y"})

    with pytest.raises(Misconfigured, match="did you mean PROCESSION_STORE"):
        load(folder=tmp_path, environment={"PROCESSION_STOR": "memory:"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("store", "mysql://x"),
        ("store", "sqlite:"),
        ("store", "sqlite:other.db"),
        ("port", "65536"),
        ("port", True),
        ("port", "-1"),
        ("lease", "soon"),
        ("lease", "0s"),
        ("keep", "7d"),
        ("only", "ingres"),
        ("only", ""),
        ("log", "loud"),
        ("outbound.allow_private", "10.0.0.1/8"),
        ("outbound.ports", "0"),
        ("outbound.ports", "9-1"),
        ("slots", 1.5),
    ],
)
def test_a_wrong_value_is_an_error_that_names_the_setting(tmp_path: Path, name: str, value: object) -> None:
    with pytest.raises(Misconfigured, match=name):
        load({name: value}, folder=tmp_path, environment={})


def test_a_wrong_store_is_not_repeated_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured) as caught:
        load({"store": "mysql://user:secret@host"}, folder=tmp_path, environment={})

    assert "secret" not in str(caught.value)


def test_a_password_is_masked_and_the_rest_is_shown(tmp_path: Path) -> None:
    config = load({"store": "postgresql://anna:secret@host/db"}, folder=tmp_path, environment={})

    assert config.shown_store == "postgresql://anna:***@host/db"


def test_lists_come_as_toml_or_with_commas(tmp_path: Path) -> None:
    (tmp_path / "procession.toml").write_text('only = ["ingress", "upkeep"]\n[outbound]\nports = [443, "8000-8999"]\n')

    config = load({"outbound.allow_private": "10.0.0.0/8, ::1/128"}, folder=tmp_path, environment={})

    assert config.roles == {Role.INGRESS, Role.UPKEEP}
    assert config.outbound_ports == (range(443, 444), range(8000, 9000))
    assert config.allow_private == (ip_network("10.0.0.0/8"), ip_network("::1/128"))


@pytest.mark.parametrize(
    ("store", "sqlite", "folder"),
    [
        ("sqlite:procession-data", "procession-data", "procession-data"),
        ("sqlite:/var/x/procession.db", "/var/x", "/var/x"),
        ("memory:", None, "procession-data"),
    ],
)
def test_the_folder_is_that_of_the_sqlite_file(tmp_path: Path, store: str, sqlite: str | None, folder: str) -> None:
    config = load({"store": store}, folder=tmp_path, environment={})

    assert config.sqlite_folder == (None if sqlite is None else Path(sqlite))
    assert config.folder == Path(folder)
    assert load({"store": store, "data": "own"}, folder=tmp_path, environment={}).folder == Path("own")


def test_a_file_that_is_no_toml_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "procession.toml").write_text("port =")

    with pytest.raises(Misconfigured, match="cannot be read"):
        load(folder=tmp_path, environment={})


@pytest.mark.parametrize("text", ["1ms", "1500ms", "0s", "10s", "90s", "5m", "2h", "30d"])
def test_a_duration_is_written_as_it_is_read(text: str) -> None:
    assert duration_text(duration_of(text)) == text
