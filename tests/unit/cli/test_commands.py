"""The command line itself: what every command has, and how failures are told."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from procession.cli import elsewhere, main
from procession.cli.blame import blame_of
from procession.cli.reference import commands_page, settings_page
from procession.core import errors
from procession.core.errors import Misconfigured, ProcessionError
from procession.ports.clock import Clock

REFERENCE = Path(__file__).parents[3] / "docs/reference"


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, command in group.commands.items():
        own = (*path, name)
        if isinstance(command, click.Group):
            yield from _commands(command, own)
        if not isinstance(command, click.Group) or command.invoke_without_command:
            yield own, command


ALL = dict(_commands(main))


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_has_json_and_a_help_text(path: tuple[str, ...]) -> None:
    options = {option for parameter in ALL[path].params for option in parameter.opts}

    assert "--json" in options
    assert ALL[path].help
    shown = CliRunner().invoke(main, [*path, "--help"])
    assert shown.exit_code == 0
    assert "--json" in shown.stdout


READING = {
    *(("why",), ("lanes",), ("lane", "show"), ("aside", "list"), ("quarantine", "list"), ("doubt", "list")),
    *(("tenant", "list"), ("endpoint", "list"), ("channel", "list")),
    *(("secret", "list"), ("audit",), ("config",), ("doctor",), ("migrate",), ("version",), ("serve",)),
    ("sending", "show"),
    *(path for path in ALL if path[0] in ("selftest", "simulate", "bench", "demo")),
}


def test_whatever_changes_something_names_its_actor() -> None:
    with_actor = {path for path, command in ALL.items() for parameter in command.params if "--actor" in parameter.opts}

    assert with_actor == ALL.keys() - READING


def test_the_commands_that_were_promised_are_there() -> None:
    promised = (
        "serve why lanes apply config doctor migrate restore version demo bench",
        "lane show,lane pause,lane resume,lane skip,lane replay,aside list,aside show,aside replay,aside drop",
        "quarantine list,quarantine show,quarantine route,quarantine drop,doubt list,doubt resolve",
        "sending pause,sending resume,sending show,sending release",
        "selftest simulate,selftest planted,selftest chaos,bench memory,simulate whatsapp",
    )
    names = [*promised[0].split(), *",".join(promised[1:]).split(",")]

    assert {tuple(name.split()) for name in names} <= ALL.keys()


def test_help_says_dead_letters_beside_our_own_word() -> None:
    for path in (["--help"], ["aside", "--help"], ["lane", "replay", "--help"]):
        assert "dead letter" in CliRunner().invoke(main, path).stdout


def test_the_reference_is_in_step_with_the_code() -> None:
    assert (REFERENCE / "settings.md").read_text("utf-8") == settings_page()
    assert (REFERENCE / "commands.md").read_text("utf-8") == commands_page(main)


def test_a_failure_says_what_happened_whose_it_is_and_what_to_do_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    ran = CliRunner().invoke(main, ["lanes", "--json"])

    assert ran.exit_code == 1
    told = json.loads(ran.stdout)["error"]
    assert told.keys() == {"kind", "text", "whose", "next"}
    assert told["kind"] == "Misconfigured"
    assert "no engine runs" in ran.stderr
    assert "whose:" in ran.stderr
    assert "next:" in ran.stderr


def test_a_command_on_nothing_makes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.toml").write_text("")

    assert CliRunner().invoke(main, ["why", "x"]).exit_code == 1
    assert CliRunner().invoke(main, ["doctor"]).exit_code == 0
    assert CliRunner().invoke(main, ["apply", "-f", "empty.toml", "--dry-run"]).exit_code == 0
    assert CliRunner().invoke(main, ["apply", "-f", "nowhere.toml"]).exit_code == 1

    assert [path.name for path in tmp_path.iterdir()] == ["empty.toml"]


@pytest.mark.parametrize("store", ["redis://localhost", "rediss://localhost"])
def test_a_store_of_a_later_version_is_refused_in_words(store: str, tmp_path: Path) -> None:
    ran = CliRunner().invoke(main, ["serve", "--store", store, "--data", str(tmp_path), "--port", "0"])

    assert ran.exit_code == 1
    assert "not supported by this version" in ran.stderr


def test_every_error_has_somebody_to_blame() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, ProcessionError)]

    assert len(kinds) > 10
    assert all(blame_of(kind("x")).next for kind in kinds)


def test_a_part_that_is_missing_is_said_in_words() -> None:
    with pytest.raises(Misconfigured, match=r"comes without procession\.testing\.nowhere"):
        elsewhere.run("procession.testing.nowhere:main")
    with pytest.raises(Misconfigured, match="comes without"):
        elsewhere.run("procession.core.ids:nothing")


def test_a_part_elsewhere_decides_the_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[dict[str, object]] = []

    def main_of_it(**options: object) -> int:
        called.append(options)
        return 3

    monkeypatch.setattr("procession.core.ids.main_of_it", main_of_it, raising=False)

    with pytest.raises(SystemExit) as ended:
        elsewhere.run("procession.core.ids:main_of_it", seeds=5)

    assert (ended.value.code, called) == (3, [{"seeds": 5}])


def test_a_part_elsewhere_is_given_the_clock_that_it_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def main_of_it(*, clock: Clock, seeds: int) -> int:
        return seeds if clock.now().tzinfo is not None else 0

    monkeypatch.setattr("procession.core.ids.main_of_it", main_of_it, raising=False)

    with pytest.raises(SystemExit) as ended:
        elsewhere.run("procession.core.ids:main_of_it", seeds=5)

    assert ended.value.code == 5


def test_asking_for_help_loads_no_engine_and_no_tables() -> None:
    script = (
        "import sys\n"
        "from procession.cli import main\n"
        "heavy = ('rich', 'uvloop', 'cryptography', 'sqlite3', 'httptools')\n"
        "print([name for name in heavy if name in sys.modules])"
    )

    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stdout.strip() == "[]"


def test_version_says_which() -> None:
    said = CliRunner().invoke(main, ["version", "--json"])

    assert json.loads(said.stdout)["version"]
