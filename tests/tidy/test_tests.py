"""Tests say what they show, and wait for what they wait for."""

import ast
from collections.abc import Iterator
from typing import Final, TypeGuard

import pytest

from tests.tidy.names import uses
from tests.tidy.sources import Finding, Source, findings, hold, sources

WORDS_MIN: Final = 3

# Between two looks at another process there is nothing to wait on. What looks again until a deadline is written once,
# in a file of its own beside the integration tests; there too stand the programs that measure.
LOOKS_AGAIN: Final = "tests/integration/"

# On the simulated loop a sleep costs nothing, and is what these tests are about.
VIRTUAL: Final = ("tests/simulation/", "tests/unit/testing/simulation/")


def names_that_are_no_sentences(source: Source) -> Iterator[Finding]:
    for node in ast.walk(source.tree):
        if _is_test(node):
            words = [word for word in node.name.split("_")[1:] if word]
            if len(words) < WORDS_MIN:
                yield Finding(path=source.path, line=node.lineno, why=f"{node.name}: say as a sentence what it shows")


def sleeps(source: Source) -> Iterator[Finding]:
    if source.within(LOOKS_AGAIN) and "/test_" not in source.path:
        return
    giving_way = {id(node.func) for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _is_zero(node)}
    for node, dotted in uses(source.tree):
        passes = id(node) in giving_way or (dotted == "asyncio.sleep" and source.within(*VIRTUAL))
        if dotted in ("time.sleep", "asyncio.sleep") and not passes:
            yield Finding(path=source.path, line=node.lineno, why=f"{dotted}: wait for a signal, or move the clock")


def _is_zero(call: ast.Call) -> bool:
    return len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and call.args[0].value == 0


def idle_tests(source: Source) -> Iterator[Finding]:
    """A test that cannot fail is worse than none; one that only calls must say so by calling something that fails."""
    for node in ast.walk(source.tree):
        if _is_test(node) and all(_is_idle(statement) for statement in node.body):
            yield Finding(path=source.path, line=node.lineno, why=f"{node.name}: it cannot fail")


def _is_test(node: ast.AST) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")


def _is_idle(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Pass) or (
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    )


def test_test_names_are_sentences() -> None:
    hold(names_that_are_no_sentences, sources((".py",), "tests/"))


def test_no_test_sleeps_in_place_of_a_condition() -> None:
    hold(sleeps, sources((".py",), "tests/"))


def test_every_test_can_fail() -> None:
    hold(idle_tests, sources((".py",), "tests/"))


def test_a_name_that_is_no_sentence_is_caught() -> None:
    assert findings(names_that_are_no_sentences, [Source.sample("def test_accept(): ...")])
    assert findings(names_that_are_no_sentences, [Source.sample("class TestA:\n    async def test_claim(self): ...")])
    assert not findings(
        names_that_are_no_sentences, [Source.sample("def test_a_redelivered_event_keeps_its_seq(): ...")]
    )


@pytest.mark.parametrize(
    "text",
    [
        "import time\ntime.sleep(0.1)",
        "import asyncio\nasync def f():\n    await asyncio.sleep(wait)",
        "from asyncio import sleep\nasync def f():\n    await sleep(1)",
    ],
)
def test_a_sleep_is_caught(text: str) -> None:
    assert findings(sleeps, [Source.sample(text)])


def test_only_what_looks_again_at_another_process_may_sleep() -> None:
    text = "import asyncio\nasync def f():\n    await asyncio.sleep(0.05)"

    assert not findings(sleeps, [Source.sample(text, "tests/integration/looking.py")])
    assert findings(sleeps, [Source.sample(text, "tests/integration/test_serve.py")])
    assert findings(sleeps, [Source.sample(text, "tests/conformance/looking.py")])


def test_time_may_pass_on_the_simulated_loop_but_not_in_its_process() -> None:
    virtual = "import asyncio\nasync def f():\n    await asyncio.sleep(60)"

    assert not findings(sleeps, [Source.sample(virtual, "tests/simulation/test_world.py")])
    assert findings(sleeps, [Source.sample("import time\ntime.sleep(60)", "tests/simulation/test_world.py")])


def test_giving_way_once_is_no_sleep() -> None:
    assert not findings(sleeps, [Source.sample("import asyncio\nasync def f():\n    await asyncio.sleep(0)")])


def test_a_test_that_cannot_fail_is_caught() -> None:
    assert findings(idle_tests, [Source.sample('def test_a():\n    """It works."""\n    ...')])
    assert not findings(idle_tests, [Source.sample("def test_a():\n    assert f()")])
