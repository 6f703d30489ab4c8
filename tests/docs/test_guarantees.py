"""A promise names the tests that show it, and these exist."""

import ast
import re
from functools import cache
from typing import Final

import pytest

from procession.testing.simulation.planted import catalogue
from tests.docs.pages import ROOT, page

GUARANTEES: Final = "docs/guarantees.md"
PROMISES: Final = 10
_TEST: Final = re.compile(r"`(?P<path>tests/[\w/]+\.py)::(?P<name>\w+)`")
_PLANTED: Final = re.compile(r"^Planted: (?P<names>.*?)(?:\n\n|\Z)", re.MULTILINE | re.DOTALL)
_PROMISE: Final = re.compile(r"^## P(?P<number>\d+) (?P<rest>.*?)(?=^## )", re.MULTILINE | re.DOTALL)


def named_tests(text: str) -> list[tuple[str, str]]:
    return [(found["path"], found["name"]) for found in _TEST.finditer(text)]


@cache
def tests_in(path: str) -> frozenset[str]:
    file = ROOT / path
    tree = ast.parse(file.read_text("utf-8")) if file.exists() else ast.Module(body=[], type_ignores=[])
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    )


@pytest.mark.parametrize(("path", "name"), sorted(set(named_tests(page(GUARANTEES)))))
def test_each_test_that_a_promise_names_exists(path: str, name: str) -> None:
    assert name in tests_in(path)


def test_each_promise_is_shown_by_several_tests() -> None:
    promises = {int(found["number"]): found["rest"] for found in _PROMISE.finditer(page(GUARANTEES))}

    assert sorted(promises) == list(range(1, PROMISES + 1))
    for number, text in promises.items():
        assert len(named_tests(text)) >= 3, f"P{number}"


def test_each_planted_bug_that_a_promise_names_exists() -> None:
    there = {plant.name for plant in catalogue()}

    named = {
        name for found in _PLANTED.finditer(page(GUARANTEES)) for name in re.findall(r"`([\w-]+)`", found["names"])
    }

    assert named
    assert not named - there


def test_each_fault_names_its_test_or_says_that_none_can_show_it() -> None:
    table = page(GUARANTEES).partition("## Store and fault")[2].partition("## Where it ends")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| fault")]

    assert len(rows) > 10
    for row in rows:
        assert named_tests(row) or "nothing can show" in row, row


def test_a_name_that_is_not_there_is_caught() -> None:
    assert "test_nothing_like_that" not in tests_in("tests/docs/test_guarantees.py")
    assert not tests_in("tests/nowhere.py")
