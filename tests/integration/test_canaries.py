"""A secret is seen nowhere, and a tenant's people by nobody else: after failures, a crash and all that can be asked."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.canaries import ACME, APPLICATION, BOLT, BOTH, Canaries, Life, Receiver, Seen, leaks
from tests.integration.engines import Engine
from tests.integration.meta_canaries import GraphReceiver, MetaLife, application

FAILING_SENDS = ("send-400", "send-500", "send-503", "send-cut")


@pytest.fixture
def receiver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    monkeypatch.chdir(tmp_path)
    made = Receiver()
    yield made
    made.close()


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GraphReceiver]:
    monkeypatch.chdir(tmp_path)
    made = GraphReceiver()
    yield made
    made.close()


def live(life: Life) -> None:
    """All that may go wrong, once for each tenant; a crash in the middle, and a second engine after it."""
    life.set_up()
    with life.engine() as engine:
        for own in BOTH:
            fail_in_every_way(life, engine, own)
            be_refused_in_every_way(life, engine, own)
            if isinstance(life, MetaLife):
                life.shake_hands(engine, own)
                life.report(engine, own)
                life.be_revoked(engine, own)
        sends = [b"#1#", b"#2#", *(mark.encode() for mark in FAILING_SENDS)]
        life.receiver.wait_for({own.tenant: sends for own in BOTH})
        ask_everything(life)
        for own in BOTH:
            life.deliver(engine, own, "text", 90)
        engine.kill()
        life.look_into_files("after the crash")
    with life.engine() as engine:
        life.receiver.wait_for({own.tenant: [b"#90#"] for own in BOTH})
        for arguments in (("rotate",), ("rotate", "--master")):
            life.tell("operator", "secret", *arguments)
        for own in BOTH:
            life.deliver(engine, own, "text", 91)
        life.receiver.wait_for({own.tenant: [b"#91#"] for own in BOTH})
        life.request(engine, "GET", "/health")
        life.look_into_files("while it runs")
        ask_everything(life)
    life.look_into_files("after the end")
    for own in BOTH:
        life.seen.own[own.tenant]["its receiver"] = b"".join(life.receiver.taken[own.tenant])


def fail_in_every_way(life: Life, engine: Engine, own: Canaries) -> None:
    for number, kind in enumerate(("text", "plain", "fail", "park", "missing", "nobody-plays-this"), 1):
        life.deliver(engine, own, kind, number)
    for number, how in enumerate(FAILING_SENDS, 20):
        life.deliver(engine, own, "text", number, how)
    # Signed, and of no use: it goes to quarantine.
    assert life.post(engine, own, json.dumps({"who": own.phone, "text": own.text}).encode()) == 200
    assert life.post(engine, own, f"{own.text} is no JSON {own.phone}".encode()) == 200


def be_refused_in_every_way(life: Life, engine: Engine, own: Canaries) -> None:
    body = json.dumps({"id": "x", "who": own.phone, "kind": "text", "text": own.text}).encode()
    other = BOLT if own is ACME else ACME
    assert life.post(engine, own, body, secret=other.signing) == 401
    assert life.post(engine, own, body, path=f"/hooks/{own.phone}") == 404
    assert life.post(engine, own, body, **{"content-type": "text/plain"}) == 415
    assert life.request(engine, "PUT", f"/hooks/{own.tenant}", body) == 405
    assert life.request(engine, "GET", f"/{own.phone}?text={own.text}") == 404
    assert life.request(engine, "POST", f"/hooks/{own.tenant}", body, {"x-signature-256": own.signing}) in (401, 415)


def ask_everything(life: Life) -> None:
    for own in BOTH:
        mine, other = ("--tenant", own.tenant), BOLT if own is ACME else ACME
        for command in (("lanes",), ("aside", "list"), ("doubt", "list"), ("audit",), ("secret", "list")):
            life.tell(own.tenant, *command, *mine)
        life.tell(own.tenant, "lane", "show", life.person(own, 4), *mine)
        for number in (1, 3, 20, 21):
            life.tell(own.tenant, "why", f"{own.tenant}-{number}", *mine)
        # What is the other's is not there for this one.
        life.tell(own.tenant, "why", f"{other.tenant}-1", *mine)
        for aside in json.loads(life.tell(own.tenant, "aside", "list", *mine)):
            life.tell(own.tenant, "aside", "show", aside["id"], *mine)
            life.tell(other.tenant, "aside", "show", aside["id"], "--tenant", other.tenant)
    for command in (("quarantine", "list"), ("doctor",), ("config",), ("audit",), ("secret", "list"), ("lanes",)):
        life.tell("operator", *command)


def test_no_canary_is_seen_where_it_does_not_belong(tmp_path: Path, receiver: Receiver) -> None:
    life = Life(tmp_path, receiver, APPLICATION)
    live(life)

    assert leaks(life.seen) == []
    check_that_there_was_something_to_see(life)


def test_no_canary_of_whatsapp_is_seen_where_it_does_not_belong(tmp_path: Path, graph: GraphReceiver) -> None:
    life = MetaLife(tmp_path, graph, application())
    live(life)

    # The token goes to its own tenant's Graph, in the one header that is for it, and nowhere else there.
    for own, other in (BOTH, BOTH[::-1]):
        header = b"\nauthorization: Bearer " + own.sending.encode() + b"\n"
        taken = life.seen.own[own.tenant]["its receiver"]
        assert taken.count(header) == len(graph.taken[own.tenant])
        assert other.sending.encode() not in taken
        life.seen.own[own.tenant]["its receiver"] = taken.replace(header, b"\n")
    assert leaks(life.seen) == []
    check_that_there_was_something_to_see(life)
    logged = b"".join(output for place, output in life.seen.anybody.items() if place.endswith("logged"))
    assert logged.count(b"outbox.halted") >= 2


def check_that_there_was_something_to_see(life: Life) -> None:
    logged = b"".join(output for place, output in life.seen.anybody.items() if place.endswith("logged"))
    assert logged.count(b"turn.failed") >= 4
    assert b"answered" in logged
    for own in BOTH:
        outputs = life.seen.own[own.tenant]
        assert {"procession.db", "procession.db-wal", "master.key"} <= {
            place.rpartition(": ")[2] for place in life.seen.files
        }
        assert own.phone.encode() in b"".join(outputs.values())
        assert own.text.encode() in outputs["its receiver"]
        opened = json.loads(life.tell(own.tenant, "audit", "--tenant", own.tenant, "--limit", "500"))
        turns = {row["actor"] for row in opened if row["verb"] == "secret open" and row["about"] == "model-key"}
        assert len(turns) >= 8
        assert {row["tenant"] for row in opened} == {own.tenant}


@pytest.mark.parametrize(
    ("planted", "place"),
    [
        ('turn.log.note("answered", text=turn.event.data["text"])', "logged"),
        ('turn.log.note("answered", who=turn.lane_key)', "logged"),
        ('turn.state["key"] = (await turn.secret("model-key")).hex()', "procession.db"),
        ('print((await turn.secret("model-key")).decode(), flush=True)', "printed"),
        ('raise LookupError((await turn.secret("model-key")).decode())', "why"),
        ('turn.reply((await turn.secret("model-key")).decode())', "receiver"),
    ],
)
def test_a_planted_leak_is_found(tmp_path: Path, receiver: Receiver, planted: str, place: str) -> None:
    leaking = APPLICATION.replace('turn.log.note("answered", kind=turn.event.kind)', planted)
    life = Life(tmp_path, receiver, leaking)
    life.set_up()
    with life.engine() as engine:
        life.deliver(engine, ACME, "text", 1)
        life.deliver(engine, ACME, "plain", 2)
        life.receiver.wait_for({ACME.tenant: [b"#2#"]})
        life.tell(ACME.tenant, "why", "acme-1", "--tenant", "acme")
        life.look_into_files("while it runs")
    life.seen.own[ACME.tenant]["its receiver"] = b"".join(receiver.taken[ACME.tenant])

    assert [leak for leak in leaks(life.seen) if place in leak]


def test_what_one_tenant_sees_of_another_is_found() -> None:
    seen = Seen()
    for own in BOTH:
        seen.own[own.tenant]["procession lanes"] = f'[{{"lane_key": "{ACME.phone}-1"}}]'.encode()

    assert leaks(seen) == [f"{ACME.phone} in bolt: procession lanes"]
