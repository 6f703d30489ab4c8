"""The provider writes down what reached it, and lies as it was told to."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path

import pytest
import uvloop

from procession.app.system import SystemClock
from procession.testing.chaos import Caller, Carried, FakeProvider, History, Lies, Unclear, Wired, carried_in
from procession.testing.simulation.chance import SeededChance

BODY = json.dumps({"type": "x", "payload": {"event": "e1", "lane": "a", "n": 3, "oseq": 7}}).encode()

Talk = Callable[[FakeProvider, Caller], Awaitable[None]]


async def wires_of(tmp_path: Path, talk: Talk, lies: Lies | None = None, *, keyed: bool = True) -> list[Wired]:
    with History(tmp_path / "history.jsonl", SystemClock()) as history:
        async with (
            FakeProvider(history=history, chance=SeededChance(7), lies=lies, keyed=keyed) as provider,
            Caller(host="127.0.0.1", port=provider.port) as caller,
        ):
            await talk(provider, caller)
        return [entry.happening for entry in history.entries if isinstance(entry.happening, Wired)]


async def send(caller: Caller, effect: str = "f1") -> int | None:
    try:
        return (await caller.post("/send", {"Webhook-Id": effect}, BODY)).status
    except Unclear:
        return None


async def twice(_provider: FakeProvider, caller: Caller) -> None:
    await send(caller)
    await send(caller)


async def test_a_call_is_taken_and_written_down(tmp_path: Path) -> None:
    async def talk(provider: FakeProvider, caller: Caller) -> None:
        assert await send(caller) == 200
        assert provider.taken == 1

    (wire,) = await wires_of(tmp_path, talk)

    assert wire == Wired(effect="f1", event="e1", lane="a", n=3, oseq=7, accepted=True, is_repeat=False, answer="200")


def test_provider_and_caller_speak_on_uvloop_too(tmp_path: Path) -> None:
    assert len(uvloop.run(wires_of(tmp_path, twice))) == 2


async def test_a_keyed_provider_drops_a_repeat(tmp_path: Path) -> None:
    wires = await wires_of(tmp_path, twice)

    assert [(wire.accepted, wire.is_repeat) for wire in wires] == [(True, False), (False, True)]


async def test_a_provider_without_keys_takes_a_repeat(tmp_path: Path) -> None:
    wires = await wires_of(tmp_path, twice, keyed=False)

    assert [(wire.accepted, wire.is_repeat) for wire in wires] == [(True, False), (True, True)]


@pytest.mark.parametrize(
    ("lies", "status", "answer", "accepted"),
    [
        (Lies(refused=1.0), 503, "503", False),
        (Lies(error_after_taking=1.0), 500, "500", True),
        (Lies(cut_before_taking=1.0), None, "cut", False),
        (Lies(cut_after_taking=1.0), None, "cut", True),
        (Lies(delay_max=timedelta(milliseconds=5)), 200, "200", True),
    ],
)
async def test_each_lie_answers_one_thing_and_does_another(
    tmp_path: Path, lies: Lies, status: int | None, answer: str, accepted: bool
) -> None:
    async def talk(_provider: FakeProvider, caller: Caller) -> None:
        assert await send(caller) == status

    (wire,) = await wires_of(tmp_path, talk, lies)

    assert (wire.answer, wire.accepted) == (answer, accepted)


async def test_a_late_taking_comes_after_the_cut(tmp_path: Path) -> None:
    async def talk(provider: FakeProvider, caller: Caller) -> None:
        assert await send(caller) is None
        async with asyncio.timeout(5):
            while provider.taken == 0:
                await asyncio.get_running_loop().run_in_executor(None, lambda: None)

    wires = await wires_of(tmp_path, talk, Lies(taken_late=1.0, delay_max=timedelta(milliseconds=20)))

    assert [(wire.answer, wire.accepted) for wire in wires] == [("cut", False), ("late", True)]


async def test_shares_of_lies_are_kept_over_many_calls(tmp_path: Path) -> None:
    async def talk(_provider: FakeProvider, caller: Caller) -> None:
        for number in range(400):
            await send(caller, f"f{number}")

    wires = await wires_of(tmp_path, talk, Lies(refused=0.25, error_after_taking=0.25))

    answers = [wire.answer for wire in wires]
    assert [answers.count(answer) / 400 for answer in ("503", "500", "200")] == pytest.approx(
        [0.25, 0.25, 0.5], abs=0.1
    )


async def test_a_body_that_carries_nothing_is_refused_and_kept(tmp_path: Path) -> None:
    async def talk(provider: FakeProvider, caller: Caller) -> None:
        assert (await caller.post("/", {}, b'{"a": [1, {"b": 2}]}')).status == 400
        assert (await caller.post("/", {}, b"no json")).status == 400
        assert len(provider.unreadable) == 2

    assert await wires_of(tmp_path, talk) == []


@pytest.mark.parametrize("body", [BODY, json.dumps({"event": "e1", "lane": "a", "n": 3, "oseq": 7}).encode()])
def test_what_the_event_carried_is_found_at_any_depth(body: bytes) -> None:
    assert carried_in(body) == Carried(event="e1", lane="a", n=3, oseq=7)
