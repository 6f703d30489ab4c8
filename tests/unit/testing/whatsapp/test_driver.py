"""The command's own part: what the engine is told, how a run goes, and what is shown of it."""

import io
import json
import tomllib

import pytest
from click.testing import CliRunner
from rich.console import Console

from procession.app.system import SystemClock
from procession.cli import main
from procession.testing.chaos import free_port
from procession.testing.chaos.listener import Line, Listener, Request
from procession.testing.whatsapp import view
from procession.testing.whatsapp.course import Course
from procession.testing.whatsapp.declaration import declaration
from procession.testing.whatsapp.handshake import handshake
from procession.testing.whatsapp.rules import FREE
from procession.testing.whatsapp.shape import Shape, numbers_of
from procession.testing.whatsapp.target import Target
from procession.testing.whatsapp.world import World, on_wires
from tests.unit.testing.whatsapp.bot import Bot
from tests.unit.testing.whatsapp.scene import SECRET

SMALL = Shape(numbers=2, people=3, bursts=2, rest_s=(1.0, 3.0))
NOBODY = "http://127.0.0.1:9/hooks/meta"


def run(*options: str, environment: dict[str, str] | None = None) -> tuple[int, str, str]:
    ran = CliRunner().invoke(main, ["simulate", "whatsapp", *options], env={"APP_SECRET": None, **(environment or {})})
    return ran.exit_code, ran.stdout, ran.stderr


async def coursed(*, promised: bool = True, drain_s: float = 60.0) -> tuple[Course, World]:
    bot = Bot()
    listener = Listener(lambda line, request: bot.carry(request.body, {}, lambda _: line.answer(200)))
    await listener.start()
    target = Target(host="127.0.0.1", port=listener.port, path="/hooks/meta")
    async with on_wires(target, clock=SystemClock(), secret=SECRET, seed=4, pace=50.0, shape=SMALL, rules=FREE) as (
        world,
        _,
    ):
        bot.world = world if promised else None
        bot.is_deaf = not promised
        course = Course(world, seconds=30.0, drain_s=drain_s, clock=SystemClock())
        await course.run()
    await listener.close()
    return course, world


def test_what_the_engine_has_to_be_told_is_a_declaration() -> None:
    status, said, _ = run("--target", NOBODY, "--declare", "--numbers", "2", "--verify-token-env", "VERIFY")

    assert status == 0
    declared = tomllib.loads(said)
    assert declared["endpoint"] == [
        {
            "name": "meta",
            "connector": "whatsapp",
            "app_secret": [{"env": "APP_SECRET"}],
            "verify_token": {"env": "VERIFY"},
        }
    ]
    assert [channel["tenant"] for channel in declared["channel"]] == ["sim-1", "sim-2"]
    assert declared["channel"][0]["api_url"] == "http://127.0.0.1:8098"
    assert declared["channel"][0]["token"] == {"env": "SIM_1_TOKEN"}
    assert "export SIM_1_TOKEN=simulated-token-0-1" in said


def test_settings_of_every_channel_win_over_metas_rates() -> None:
    numbers = numbers_of(SMALL, 0)
    settings: dict[str, str | float] = {"pair_every": 0, "gate": "sent"}

    declared = tomllib.loads(
        declaration(numbers, endpoint="meta", secret_env="APP_SECRET", url=NOBODY, pace=2.0, channel=settings)
    )

    for channel in declared["channel"]:
        assert (channel["pair_every"], channel["gate"], channel["messages_per_second"]) == (0, "sent", 160)


def test_what_is_missing_or_leads_elsewhere_is_refused_in_words() -> None:
    assert "the environment has no APP_SECRET" in run("--target", NOBODY)[2]
    assert "not this machine" in run("--target", "http://engine.example/hooks/meta")[2]
    assert "no fault is called" in run("--target", NOBODY, "--faults", "all")[2]
    secrets = {"APP_SECRET": "x", "VERIFY": "y"}
    assert (
        "did not agree to be called" in run("--target", NOBODY, "--verify-token-env", "VERIFY", environment=secrets)[2]
    )


def test_an_engine_that_is_not_there_fails_with_a_verdict() -> None:
    short = ("--seconds", "1", "--drain", "0", "--pace", "50", "--numbers", "1", "--people", "2", "--json")
    port = ("--port", str(free_port()))

    status, said, _ = run("--target", NOBODY, *short, *port, environment={"APP_SECRET": "x"})

    assert status == 1
    told = json.loads(said)
    assert not told["holds"]
    assert told["not_taken"] == told["texts"] > 0
    assert told["answers"].keys() == {"none"}


async def test_a_run_ends_when_everybody_has_typed_and_all_is_answered() -> None:
    course, world = await coursed()

    assert course.passed < 30.0
    told = world.verdict()
    assert told.holds, told.wrong
    assert view.said(told)[0].startswith("PASSED")


async def test_a_run_without_answers_ends_when_its_time_is_up() -> None:
    _, world = await coursed(promised=False, drain_s=0.5)

    told = world.verdict()
    assert told.unanswered == told.texts > 0
    assert view.said(told)[0].startswith("FAILED")


async def test_the_view_shows_each_tenant_and_the_verdict() -> None:
    course, world = await coursed()
    console = Console(file=io.StringIO(), width=100, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(view.table(course))
        console.print(view.panel(world.verdict()))

    shown = captured.get()
    for part in ("sim-1", "sim-2", "the target answered 200", "EVERY PROMISE KEPT"):
        assert part in shown
    assert f"typed {len(world.book.texts)}" in view.progress(course)


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [(200, b"1158201444", None), (403, b"", "it answered 403"), (200, b"ok", "it answered 200 without the challenge")],
)
async def test_a_handshake_is_kept_only_by_the_challenge(status: int, body: bytes, expected: str | None) -> None:
    heard: list[Request] = []

    def answer(line: Line, request: Request) -> None:
        heard.append(request)
        line.answer(status, body)

    listener = Listener(answer)
    await listener.start()
    said = await handshake(Target(host="127.0.0.1", port=listener.port, path="/hooks/meta"), "a token")
    await listener.close()

    assert said == expected
    assert heard[0].target == "/hooks/meta?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=a+token"
