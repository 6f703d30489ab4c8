"""The whole line on Postgres, as its user runs it: several engines on one database, with roles of their own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from procession.testing.postgres import ThrowawayServer
from tests.integration.engines import House, house_in
from tests.throwaway import emptied, postgres_server

__all__ = ["postgres_server"]


@pytest.fixture
def house(tmp_path: Path, postgres_server: ThrowawayServer) -> Iterator[House]:
    emptied(postgres_server.url)
    # Engines on several machines have the same master key.
    key = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
    with house_in(tmp_path, PROCESSION_STORE=postgres_server.url, PROCESSION_MASTER_KEY=key) as made:
        yield made


def test_a_conversation_is_answered_in_order_and_a_repeat_is_dropped(house: House) -> None:
    with house.engine("--data", "one") as engine:
        for number in range(1, 9):
            assert engine.text(f"e{number}", text=str(number)) == 200
            assert engine.text(f"e{number}", text=str(number)) == 200
        replies = [house.provider.next().json["reply"] for _ in range(8)]
        (last,) = house.ask("why", "e8")

    assert replies == [f"{number}: {number}" for number in range(1, 9)]
    assert (last["seq"], last["state"]) == (8, "done")
    assert house.provider.taken.empty()


def test_roles_on_engines_of_their_own_share_the_work(house: House) -> None:
    with (
        house.engine("--data", "one", "--only", "ingress", app=None) as first,
        house.engine("--data", "two", "--only", "ingress", app=None) as second,
        house.engine("--data", "three", "--only", "lanes"),
        house.engine("--data", "four", "--only", "outbox,upkeep", app=None),
    ):
        for number in range(1, 7):
            assert (first if number % 2 else second).text(f"e{number}", text=str(number)) == 200
        replies = [house.provider.next().json["reply"] for _ in range(6)]

    assert replies == [f"{number}: {number}" for number in range(1, 7)]


def test_another_engine_goes_on_where_one_was_killed(house: House) -> None:
    with house.engine("--data", "one", "--only", "ingress", app=None) as engine:
        assert engine.text("e1") == 200
        engine.kill()

    with house.engine("--data", "two"):
        assert house.provider.next().json == {"reply": "1: hello", "to": "bob"}


def test_the_doctor_names_the_server_and_its_settings(house: House) -> None:
    findings = {found["about"]: found["text"] for found in house.ask("doctor")}

    assert "synchronous_commit is on" in findings["store"]
    assert "this version knows up to" in findings["schema"]


def test_an_address_where_nothing_answers_is_said_in_words(house: House) -> None:
    house.environment["PROCESSION_STORE"] = "postgresql://procession:secret@127.0.0.1:1/procession"

    ran = house.run("serve", "bot:app", "--port", "0")

    assert ran.returncode != 0
    assert "the database is not to be had" in ran.stderr
    assert "secret" not in ran.stderr + ran.stdout
