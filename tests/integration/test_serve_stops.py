"""How an engine ends: calmly, in a hurry, or not at all since another has the folder."""

import fcntl
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.integration.engines import PATIENCE_S, Engine, House, house_in


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path) as made:
        yield made


def _hold_a_turn(house: House, engine: Engine) -> None:
    """Its handler has begun, and waits for the provider."""
    held = {"id": "h1", "who": "bob", "kind": "hold", "at": house.provider.url}
    assert engine.deliver(held) == 200
    house.provider.holds.get(timeout=PATIENCE_S)


def _wait_until_closed(port: int) -> None:
    """Its listener is gone: ingress is the first to stop."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), PATIENCE_S).close()
        except ConnectionError:
            return


def test_sigterm_plays_what_is_under_way_to_its_end_and_accepts_nothing_more(house: House) -> None:
    with house.engine() as engine:
        _hold_a_turn(house, engine)

        engine.signal(signal.SIGTERM)
        _wait_until_closed(engine.port)
        house.provider.let_go.set()

        assert engine.wait() == 0
    (view,) = house.ask("why", "h1")
    assert (view["state"], len(view["effects"])) == ("done", 1)


def test_a_second_sigterm_stops_at_once_and_gives_the_lane_back(house: House) -> None:
    with house.engine("--lease", "10m", "--drain-wait", "10m") as engine:
        _hold_a_turn(house, engine)
        engine.signal(signal.SIGTERM)
        _wait_until_closed(engine.port)

        engine.signal(signal.SIGTERM)
        status = engine.wait()

    assert status == 128 + signal.SIGTERM
    (view,) = house.ask("why", "h1")
    assert (view["state"], view["effects"]) == ("waiting", [])
    # Its lease would hold the lane for ten minutes; it was given back, so the next engine plays it now.
    house.provider.let_go.set()
    with house.engine():
        assert house.provider.next().json == {"reply": "held", "to": "bob"}


def test_sigint_drains_like_sigterm(house: House) -> None:
    with house.engine() as engine:
        engine.signal(signal.SIGINT)

        assert engine.wait() == 0


def test_a_second_engine_on_one_folder_is_refused_and_the_first_goes_on(house: House) -> None:
    with house.engine() as engine:
        second = house.run("serve", "bot:app", "--port", "0")

        assert second.returncode == 1
        assert "another engine" in second.stderr
        assert engine.text("e1") == 200
        assert house.provider.next().json["to"] == "bob"


def test_a_command_that_has_the_store_for_a_moment_is_waited_for(house: House) -> None:
    lock = (house.folder / "procession-data/lock").open("a")
    fcntl.flock(lock, fcntl.LOCK_EX)
    letting_go = threading.Timer(0.5, lock.close)
    letting_go.start()
    try:
        with house.engine() as engine:
            assert engine.request("GET", "/health") == 200
    finally:
        letting_go.join()


def test_a_command_waits_for_an_engine_that_is_just_starting(house: House) -> None:
    with ThreadPoolExecutor(8) as threads:
        asked = [threads.submit(house.run, "lanes", "--json") for _ in range(4)]
        with house.engine():
            asked += [threads.submit(house.run, "lanes", "--json") for _ in range(4)]
            ended = [one.result() for one in asked]

    assert [(one.returncode, one.stdout.strip(), one.stderr) for one in ended] == [(0, "[]", "")] * 8


def test_a_second_engine_in_memory_on_one_folder_is_refused(house: House) -> None:
    with house.engine("--store", "memory:", "--data", "own"):
        second = house.run("serve", "bot:app", "--port", "0", "--store", "memory:", "--data", "own")

    assert second.returncode == 1
    assert "an engine runs on own already" in second.stderr


def test_the_socket_of_a_killed_engine_is_in_nobodys_way(house: House) -> None:
    with house.engine() as engine:
        engine.kill()
    assert (house.folder / "procession-data/control.sock").exists()

    assert house.ask("lanes") == []
    with house.engine():
        assert house.ask("lanes") == []


def test_a_port_that_is_taken_ends_it_with_a_text(house: House) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        ran = house.run("serve", "bot:app", "--port", str(other.getsockname()[1]))

    assert ran.returncode == 1
    assert "cannot listen on" in ran.stderr
    assert "next:" in ran.stderr


@pytest.mark.parametrize(
    ("app", "text"),
    [
        ("nobody:app", "there is no module nobody"),
        ("bot:nothing", "did you mean bot:app?"),
        ("bot", "names no application"),
        ("broken:app", "line 1"),
        ("raising:app", "raising raised KeyError"),
        ("needing:app", "needing needs nowhere_to_be_found"),
    ],
)
def test_an_application_that_cannot_be_loaded_says_whose_line_it_is(house: House, app: str, text: str) -> None:
    (house.folder / "broken.py").write_text("def (:\n")
    (house.folder / "raising.py").write_text("{}['x']\n")
    (house.folder / "needing.py").write_text("import nowhere_to_be_found\n")

    ran = house.run("serve", app, "--port", "0")

    assert ran.returncode == 1
    assert text in ran.stderr
    assert "Traceback" not in ran.stderr
