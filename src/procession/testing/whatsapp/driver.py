"""`procession simulate whatsapp`: a simulated WhatsApp against an engine that runs already, and a verdict."""

import asyncio
import os
import signal
import sys
from dataclasses import dataclass
from typing import Final

import msgspec

from procession.core.errors import Misconfigured
from procession.ports.clock import Clock
from procession.testing.demo.view import fits
from procession.testing.whatsapp import view
from procession.testing.whatsapp.courier import Habits
from procession.testing.whatsapp.course import Course
from procession.testing.whatsapp.declaration import declaration, instructions
from procession.testing.whatsapp.faults import Faults, read_faults
from procession.testing.whatsapp.handshake import handshake
from procession.testing.whatsapp.rules import FREE, Rules
from procession.testing.whatsapp.shape import Shape, numbers_of
from procession.testing.whatsapp.target import Target, read_target
from procession.testing.whatsapp.verdict import Promise, Verdict
from procession.testing.whatsapp.world import on_wires

_HOOKS: Final = "/hooks/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    target: Target
    shape: Shape
    habits: Habits
    faults: Faults
    rules: Rules
    promise: Promise
    seed: int
    pace: float
    port: int
    seconds: float
    drain: float
    secret_env: str
    verify_env: str | None


def main(
    *,
    target: str,
    app_secret_env: str,
    verify_token_env: str | None,
    numbers: int,
    people: int,
    bursts: int | None,
    redeliver: float,
    faults: str,
    limits: bool,
    bubbles: int | None,
    pace: float,
    seconds: float,
    drain: float,
    seed: int,
    port: int,
    declare: bool,
    anywhere: bool,
    as_json: bool,
    clock: Clock,
) -> int:
    plan = Plan(
        target=read_target(target, anywhere=anywhere),
        shape=Shape(numbers=numbers, people=people, bursts=bursts),
        habits=Habits(redelivered=redeliver),
        faults=read_faults(faults),
        rules=Rules() if limits else FREE,
        promise=Promise(bubbles=bubbles),
        seed=seed,
        pace=pace,
        port=port,
        seconds=seconds,
        drain=drain,
        secret_env=app_secret_env,
        verify_env=verify_token_env,
    )
    if declare:
        sys.stdout.write(page(plan))
        return 0
    result = asyncio.run(_run(plan, clock, as_json=as_json))
    return 0 if result.holds else 1


def page(plan: Plan) -> str:
    """What the engine has to be told."""
    numbers = numbers_of(plan.shape, plan.seed)
    declared = declaration(
        numbers,
        endpoint=plan.target.path.removeprefix(_HOOKS),
        secret_env=plan.secret_env,
        verify_env=plan.verify_env,
        url=f"http://127.0.0.1:{plan.port}",
        pace=plan.pace,
    )
    return instructions(declared, numbers, plan.port)


async def _run(plan: Plan, clock: Clock, *, as_json: bool) -> Verdict:
    secret = _of_environment(plan.secret_env, "app_secret").encode()
    if plan.verify_env is not None:
        wrong = await handshake(plan.target, _of_environment(plan.verify_env, "verify_token"))
        if wrong is not None:
            raise Misconfigured(f"the target did not agree to be called: {wrong}")
    async with on_wires(
        plan.target,
        clock=clock,
        secret=secret,
        seed=plan.seed,
        pace=plan.pace,
        port=plan.port,
        shape=plan.shape,
        rules=plan.rules,
        faults=plan.faults,
        habits=plan.habits,
        promise=plan.promise,
    ) as (world, server):
        course = Course(world, seconds=plan.seconds, drain_s=plan.drain, clock=clock)
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, course.end)
        if as_json:
            result = await course.run()
            sys.stdout.write(msgspec.json.encode(result.document()).decode() + "\n")
            return result
        sys.stdout.write(f"{page(plan)}\nGraph listens on {server.url}\n")
        sys.stdout.flush()
        return await (view.live(course) if fits(view.LEAST) else view.plain(course))


def _of_environment(name: str, what: str) -> str:
    value = os.environ.get(name, "")
    if not value:
        raise Misconfigured(f"the environment has no {name}: it holds what the target's {what} is")
    return value
