"""Two stores (or one) driven with the same operations: every answer and everything that can be seen has to agree.

What the contract leaves open is not compared: which of several equally suspect lanes is answered first, in which order
a claim names its lanes, and how early a sweep says that the next one is due.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import timedelta
from typing import Generic, TypeVar

from procession.core.errors import BadRequest
from procession.core.event import Event
from procession.core.lane import Lease
from procession.core.turn import HeldEffect, HeldTurn, Recorded, Settled
from tests.conformance.acts import know
from tests.conformance.builders import ACME, BOLT, MANY, a_tenant
from tests.conformance.harness import Harness
from tests.conformance.picture import Picture, picture

T = TypeVar("T")


class Both(Generic[T]):
    """The same thing as each store knows it: a lease of one store is nothing to the other."""

    def __init__(self, each: Sequence[T]) -> None:
        self.each = tuple(each)

    @property
    def first(self) -> T:
        return self.each[0]


class Pair:
    """The first store is the reference. Where there is only one, only its own invariants are checked."""

    def __init__(self, harnesses: Sequence[Harness]) -> None:
        self._runner = asyncio.Runner()
        self._harnesses = tuple(harnesses)
        for harness in self._harnesses:
            self._runner.run(harness.__aenter__())
            self._runner.run(know(harness, a_tenant(ACME), a_tenant(BOLT, weight=2)))

    def close(self) -> None:
        for harness in self._harnesses:
            self._runner.run(harness.__aexit__(None, None, None))
        self._runner.close()

    def do(self, act: Callable[[Harness, int], Awaitable[T]]) -> Both[T | BadRequest]:
        """Act on each; a refusal is an answer too."""
        return Both([self._runner.run(_or_refused(act(harness, at))) for at, harness in enumerate(self._harnesses)])

    def do_at_once(self, acts: Sequence[Callable[[Harness, int], Awaitable[object]]]) -> list[Both[object]]:
        """All of them without waiting for one another: a store may share commits, and answers as if one by one."""

        async def together(harness: Harness, at: int) -> list[object]:
            return await asyncio.gather(*(_or_refused(act(harness, at)) for act in acts))

        answers = [self._runner.run(together(harness, at)) for at, harness in enumerate(self._harnesses)]
        return [Both(each) for each in zip(*answers, strict=True)]

    def compare(self, answers: Both[T]) -> None:
        expected, *others = (comparable(answer) for answer in answers.each)
        for other in others:
            assert other == expected, differences(expected, other)

    def advance(self, by: timedelta) -> None:
        for harness in self._harnesses:
            harness.clock.advance(by)

    def reopen(self) -> None:
        for harness in self._harnesses:
            self._runner.run(harness.reopen())

    def look(self, known: Sequence[str]) -> Picture:
        """Everything that can be seen: it has to be the same. The reference's picture is answered."""
        seen = [self._runner.run(_whole_picture(harness, known)) for harness in self._harnesses]
        for other in seen[1:]:
            for part, expected in seen[0].items():
                assert other[part] == expected, differences(expected, other[part], part)
        return seen[0]


async def _or_refused(act: Awaitable[T]) -> T | BadRequest:
    try:
        return await act
    except BadRequest as refused:
        return refused


async def _whole_picture(harness: Harness, known: Sequence[str]) -> Picture:
    whole = await picture(harness)
    whole["lives"] = {what: sorted(await harness.console.why(what), key=lambda view: view.tenant) for what in known}
    # Several of one moment have no order among them.
    whole["asides"] = sorted(await harness.console.asides(limit=MANY), key=lambda view: (view.at, view.tenant, view.id))
    whole["doubts"] = sorted(await harness.console.doubts(limit=MANY), key=lambda view: (view.tenant, view.id))
    whole["quarantine"] = sorted(await harness.console.quarantine(limit=MANY), key=lambda view: view.id)
    whole["directory"] = await harness.directory.snapshot()
    return whole


def comparable(answer: object) -> object:
    """The answer without what the contract leaves open: eras and the order in which a claim names its lanes."""
    match answer:
        case BadRequest():
            return "refused"
        case HeldTurn():
            return (_without_era(answer.lease), _turn(answer))
        case HeldEffect():
            return (_without_era(answer.lease), answer.effect)
        case Settled() | Recorded():
            return (answer.fate, comparable(answer.next))
        case tuple() if answer and isinstance(answer[0], HeldTurn | HeldEffect):
            return sorted((comparable(each) for each in answer), key=repr)
        case tuple() if answer and isinstance(answer[0], Lease):
            return sorted((_without_era(lease) for lease in answer), key=repr)
        case _:
            return answer


def _without_era(lease: Lease) -> Lease:
    return replace(lease, era=0)


def _turn(turn: HeldTurn) -> tuple[tuple[Event, ...], object]:
    steps = sorted(turn.steps, key=lambda step: (step.name, step.occurrence))
    return turn.events, (
        turn.lane_key,
        turn.state,
        steps,
        turn.tries,
        turn.deaths,
        turn.deaths_alone,
        turn.first_try_at,
        turn.heard_at,
        turn.aliases,
    )


def differences(expected: object, found: object, where: str = "the answer") -> str:
    """Where two values part, one line a place."""
    return "\n".join(_differences(expected, found, where))


def _differences(expected: object, found: object, where: str) -> Iterator[str]:
    if expected == found:
        return
    if is_dataclass(expected) and type(expected) is type(found):
        for own in fields(expected):
            yield from _differences(getattr(expected, own.name), getattr(found, own.name), f"{where}.{own.name}")
    elif isinstance(expected, dict) and isinstance(found, dict):
        for key in {**expected, **found}:
            yield from _differences(expected.get(key), found.get(key), f"{where}[{key}]")
    elif isinstance(expected, list | tuple) and isinstance(found, list | tuple) and len(expected) == len(found):
        for at, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from _differences(one, other, f"{where}[{at}]")
    else:
        yield f"{where}: {expected!r} in the reference, {found!r} here"
