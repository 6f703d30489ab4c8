"""A server of one's own starts, keeps what was committed when it is killed, and leaves nothing behind."""

import os
from pathlib import Path

import psycopg
import pytest

from procession.testing.postgres import PostgresUnavailable, Programs, ThrowawayServer, programs, server, thrown_away
from procession.testing.postgres.programs import installed


def rows(of: ThrowawayServer) -> list[tuple[object, ...]]:
    with psycopg.connect(of.url) as connection:
        return connection.execute("select n from kept order by n").fetchall()


def test_each_installed_version_starts_and_says_which_it_is() -> None:
    for each in installed():
        with thrown_away(version=each.version) as started, psycopg.connect(started.url) as connection:
            assert connection.info.server_version // 10_000 == each.version


def test_what_was_committed_survives_a_kill_and_a_restart() -> None:
    with thrown_away() as started:
        with psycopg.connect(started.url) as connection:
            connection.execute("create table kept (n int)")
            connection.execute("insert into kept values (1)")
        started.kill()
        started.start()
        with psycopg.connect(started.url) as connection:
            connection.execute("insert into kept values (2)")
        started.restart()

        assert rows(started) == [(1,), (2,)]
        assert "database system was not properly shut down" in started.logged()


def test_its_settings_are_those_that_the_store_insists_on() -> None:
    settings = {"synchronous_commit": "remote_apply"}
    with thrown_away(settings=settings) as started, psycopg.connect(started.url) as connection:
        found = connection.execute(
            "select current_setting('fsync'), current_setting('full_page_writes'), "
            "current_setting('synchronous_commit')"
        ).fetchone()

    assert found == ("on", "on", "remote_apply")


def test_a_client_may_come_by_loopback_with_its_password_only() -> None:
    with thrown_away() as started:
        psycopg.connect(started.tcp_url).close()
        without = started.tcp_url.replace(started.tcp_url.split(":")[2].split("@")[0], "wrong")
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(without)


def test_nothing_of_it_is_left() -> None:
    with thrown_away() as started:
        folder, pid = started.folder, started.pid

    assert not folder.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_version_that_is_not_there_is_named_with_what_to_do() -> None:
    with pytest.raises(PostgresUnavailable, match=r"Postgres 7 .*make dev.*apt-get"):
        programs(7)


def test_programs_that_another_user_cannot_reach_are_copied(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden" / "bin"
    hidden.mkdir(parents=True)
    (hidden / "postgres").touch()
    (tmp_path / "hidden").chmod(0o700)

    found = server.reachable(Programs(version=1, folder=hidden), tmp_path / "mine")

    assert found.folder == tmp_path / "mine" / "programs" / "bin"
    assert (found.folder / "postgres").exists()
