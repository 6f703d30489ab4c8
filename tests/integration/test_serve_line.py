"""The whole line, as its user runs it: a signed webhook in, a handler, an effect out; on SQLite, one process."""

import base64
import hashlib
import hmac
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.engines import SENDING, SIGNING, House, house_in


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    with house_in(tmp_path) as made:
        yield made


def test_a_signed_webhook_is_played_and_its_answer_is_sent_signed(house: House) -> None:
    with house.engine() as engine:
        assert engine.text("e1") == 200
        taken = house.provider.next()

    assert taken.json == {"reply": "1: hello", "to": "bob"}
    key = base64.b64decode(SENDING.removeprefix("whsec_"))
    signed = f"{taken.headers['webhook-id']}.{taken.headers['webhook-timestamp']}.".encode() + taken.body
    wanted = base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()
    assert taken.headers["webhook-signature"] == f"v1,{wanted}"


def test_health_answers_as_soon_as_it_listens(house: House) -> None:
    with house.engine() as engine:
        assert engine.request("GET", "/health") == 200


def test_what_is_not_signed_is_refused_and_not_kept(house: House) -> None:
    with house.engine() as engine:
        status = engine.deliver({"id": "e1", "who": "bob", "kind": "text"}, secret="x" * len(SIGNING))

        assert status == 401
        assert house.run("why", "e1").returncode == 1


def test_a_conversation_is_answered_in_order_and_a_repeat_is_dropped(house: House) -> None:
    with house.engine() as engine:
        for number in range(1, 9):
            assert engine.text(f"e{number}", text=str(number)) == 200
            assert engine.text(f"e{number}", text=str(number)) == 200
        replies = [house.provider.next().json["reply"] for _ in range(8)]
        (last,) = house.ask("why", "e8")

    assert replies == [f"{number}: {number}" for number in range(1, 9)]
    assert (last["seq"], last["state"]) == (8, "done")
    assert house.provider.taken.empty()


def test_what_was_accepted_is_played_after_a_kill(house: House) -> None:
    with house.engine("--only", "ingress", app=None) as engine:
        assert engine.text("e1") == 200
        engine.kill()

    with house.engine():
        taken = house.provider.next()

    assert taken.json == {"reply": "1: hello", "to": "bob"}


def test_without_an_application_events_wait_and_the_operator_is_told(house: House) -> None:
    with house.engine(app=None) as engine:
        assert engine.text("e1") == 200
        (view,) = house.ask("why", "e1")
        engine.stop()

    assert view["state"] == "waiting"
    assert "no application is named" in engine.said


def test_a_channel_that_is_applied_while_it_runs_is_served_at_once(house: House) -> None:
    declaration = (house.folder / "platform.toml").read_text()
    more = declaration.replace('"shop"', '"more"').replace('[[tenant]]\nname = "acme"', "")
    with house.engine() as engine:
        assert engine.deliver({}, endpoint="more") == 404
        (house.folder / "platform.toml").write_text(declaration + more)
        house.ask("apply", "-f", "platform.toml")

        assert engine.deliver({"id": "m1", "who": "eve", "kind": "text", "text": "new"}, endpoint="more") == 200
        assert house.provider.next().json == {"reply": "1: new", "to": "eve"}


def test_a_changed_signing_secret_opens_the_door_without_a_restart(house: House) -> None:
    new = "another-secret-for-the-shop-endpoint"
    both = 'signing = [{ env = "SHOP_NEW" }, { env = "SHOP_SIGNING" }]'
    old_only = (house.folder / "platform.toml").read_text()
    house.environment["SHOP_NEW"] = new
    with house.engine() as engine:
        document = {"id": "e1", "who": "bob", "kind": "text", "text": "x"}
        assert engine.deliver(document, secret=new) == 401

        (house.folder / "platform.toml").write_text(old_only.replace('signing = [{ env = "SHOP_SIGNING" }]', both))
        house.ask("apply", "-f", "platform.toml")
        assert (engine.deliver(document, secret=new), engine.deliver(document)) == (200, 200)

        new_only = old_only.replace('signing = [{ env = "SHOP_SIGNING" }]', 'signing = [{ env = "SHOP_NEW" }]')
        (house.folder / "platform.toml").write_text(new_only)
        house.ask("apply", "-f", "platform.toml")
        assert (engine.deliver(document, secret=new), engine.deliver(document)) == (200, 401)


def test_what_is_kept_in_memory_is_served_too(house: House) -> None:
    with house.engine("--store", "memory:", "--data", "elsewhere") as engine:
        house.ask("apply", "-f", "platform.toml", "--store", "memory:", "--data", "elsewhere")
        assert engine.text("e1") == 200
        taken = house.provider.next()

    assert taken.json == {"reply": "1: hello", "to": "bob"}
    assert sorted(path.name for path in (house.folder / "elsewhere").iterdir()) == ["control.sock"]
