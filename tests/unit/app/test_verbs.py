"""A desk at the other end of a line answers as one here does."""

import json
from datetime import timedelta

import msgspec
import pytest

from procession.app.desk import Desk
from procession.app.verbs import VERBS, answer
from procession.app.wiring import desk_of
from procession.core.errors import BadRequest, Misconfigured, ProcessionError, SecretMissing
from procession.core.event import Intake, Quarantined
from procession.core.ids import EffectId, EventId, QuarantineId, TenantId
from procession.ingress.doors import Doors
from procession.ingress.intake import new_event
from procession.ports.connector import Arrival
from procession.ports.vault import SecretName
from tests.unit.app.scene import ACME, OTHER, SHOP, plan, scene


class Wired:
    """A line that goes nowhere: what is asked is answered by a desk in the same process."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def ask(self, question: bytes) -> bytes:
        return await answer(self._desk, question)


async def _two_ends() -> tuple[Desk, Desk]:
    world, here = await scene()
    await here.apply(plan(), actor="anna")
    doors = Doors(world.open.directory, world.vault, world.inbound, world.telemetry)
    await doors.refresh()
    arrival = Arrival(
        tenant=ACME, channel=plan().channels[0].name, lane_key="bob", provider_id="e1", kind="text", payload=b'{"a":1}'
    )
    kept = Quarantined(
        id=QuarantineId("q1"), endpoint=SHOP, reason="why not", body=b"\xff\x00", headers=(("x-a", "b"),)
    )
    await world.open.store.accept(Intake(endpoint=SHOP, events=(new_event(doors, arrival),), quarantined=(kept,)))
    return here, Desk(line=Wired(here))


async def test_what_is_read_there_is_what_is_read_here() -> None:
    here, there = await _two_ends()

    assert await there.counts() == await here.counts()
    assert await there.why("e1") == await here.why("e1")
    assert await there.lanes(limit=3) == await here.lanes(limit=3)
    assert await there.lane("bob", ACME) == await here.lane("bob", ACME)
    assert await there.quarantine() == await here.quarantine()
    assert await there.asides() == ()
    assert await there.doubts() == ()
    assert await there.halts() == await here.halts() == ()
    assert await there.secrets() == await here.secrets()
    assert await there.findings() == await here.findings()
    assert await there.audit(limit=2) == await here.audit(limit=2)


async def test_bytes_and_durations_arrive_as_they_were() -> None:
    here, there = await _two_ends()

    view = await there.quarantine_show(QuarantineId("q1"), actor="anna")
    assert (view.body, view.headers) == (b"\xff\x00", (("x-a", "b"),))
    assert await there.pause("bob", duration=timedelta(minutes=5), reason="a person", actor="anna")
    assert await there.pause("bob", actor="anna")
    (turns, _), _ = await here.lane("bob")
    assert turns.paused_until is not None
    assert turns.paused_until.year == 9999
    assert (await there.lane("bob"))[0] == (await here.lane("bob"))[0]


async def test_a_plan_with_secrets_arrives_as_it_was() -> None:
    here, there = await _two_ends()

    assert await there.apply(plan(sending=OTHER), dry_run=True, actor="anna") == await here.apply(
        plan(sending=OTHER), dry_run=True, actor="anna"
    )
    assert await there.apply(plan(), actor="anna") == ()


async def test_an_act_there_is_done_and_names_its_actor() -> None:
    here, there = await _two_ends()

    assert await there.secret_set(ACME, SecretName("key"), b"\x00\xff", actor="anna")
    await there.secret_forget(ACME, SecretName("key"), actor="bea")
    assert await there.sending(paused=True, actor="cleo")
    assert not await there.release(ACME, actor="cleo")
    assert await there.skip("bob", actor="dora") is not None
    assert await there.skip("bob", actor="dora") is None

    assert [row.actor for row in (await here.audit())[:4]] == ["dora", "cleo", "bea", "anna"]


async def test_what_is_raised_there_is_raised_here() -> None:
    here, there = await _two_ends()
    gone = EventId("nobody")

    for desk in (here, there):
        with pytest.raises(BadRequest, match="no event nobody"):
            await desk.replay(gone, actor="anna")
        with pytest.raises(BadRequest, match="there is no lane"):
            await desk.resume("nobody", actor="anna")
        with pytest.raises(BadRequest, match="no effect"):
            await desk.resolve(EffectId("nobody"), "sent", actor="anna")
        with pytest.raises(BadRequest, match="there is no tenant"):
            await desk.secret_set(TenantId("nobody"), SecretName("a"), b"x", actor="anna")
        with pytest.raises(Misconfigured, match="signing 1"):
            await desk.apply(plan(signing=(b"short",)), actor="anna")


@pytest.mark.parametrize(
    ("question", "says"),
    [
        (b"not json", "not understood"),
        (b'{"verb":"fly","arguments":{}}', "knows no 'fly'"),
        (b'{"verb":"why","arguments":{}}', "why: "),
        (b'{"verb":"why","arguments":{"what":1}}', "why: "),
        (b'{"verb":"why","arguments":{"what":"a","extra":1}}', "why: "),
        (b'{"verb":"__init__","arguments":{}}', "knows no"),
    ],
)
async def test_a_question_that_is_none_is_refused_in_words(question: bytes, says: str) -> None:
    _, desk = await scene()

    reply = json.loads(await answer(desk, question))

    assert reply["error"] == "BadRequest"
    assert says in reply["text"]


async def test_an_error_of_another_version_is_still_an_error_of_ours() -> None:
    there = Desk(line=Saying(msgspec.json.encode({"error": "NotKnownHere", "text": "so it is"})))

    with pytest.raises(ProcessionError, match="so it is"):
        await there.counts()
    with pytest.raises(SecretMissing):
        await Desk(line=Saying(b'{"error":"SecretMissing","text":"a"}')).counts()


class Saying:
    def __init__(self, reply: bytes) -> None:
        self._reply = reply

    async def ask(self, question: bytes) -> bytes:
        return self._reply


def test_every_verb_has_words_for_its_arguments_and_its_answer() -> None:
    assert {"why", "apply", "resolve", "quarantine_route"} <= VERBS.keys()
    for verb in VERBS.values():
        fields = msgspec.structs.fields(verb._arguments)
        assert not [field.name for field in fields if field.name == "self"], verb.name
        msgspec.json.Decoder(verb._answer)


async def test_whoever_keeps_secrets_open_hears_that_one_was_set_or_forgotten() -> None:
    world, _ = await scene()
    opened_anew: list[str] = []

    async def reopened() -> None:
        opened_anew.append("anew")

    desk = desk_of(world, reopened)
    owner, name = ACME, SecretName("endpoint/shop/signing/1")
    await desk.apply(plan(), actor="anna")
    opened_anew.clear()
    await desk.secret_set(owner, name, b"a secret", actor="anna")
    await desk.secret_set(owner, name, b"a secret", actor="anna")
    assert len(opened_anew) == 1

    await desk.secret_forget(owner, name, actor="anna")

    assert len(opened_anew) == 2
