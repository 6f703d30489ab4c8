"""The code uses the words of the glossary, and none of those that mean everything."""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Final

import pytest

from tests.tidy.sources import Finding, Source, findings, hold, sources

INSTEAD: Final = {
    "message": "event, effect or delivery",
    "job": "turn, effect or reminder",
    "task": "turn, effect or reminder",
    "queue": "lane",
    "ack": "settle, record or answer",
    "manager": "say what it does",
    "util": "say what it does",
    "helper": "say what it does",
    "common": "say what it does",
    "misc": "say what it does",
    "data": "say what it holds",
    "info": "say what it tells",
}
INSTEAD_OF_VERBS: Final = {"process": "say what is done", "handle": "say what is done"}

# Names that somebody else has given: the interface of a library that we implement.
GIVEN: Final = frozenset({"create_task", "data_received", "on_message_begin", "on_message_complete"})

# Where a word is the right one.
AT_HOME: Final = (
    ("data", "src/procession/lanes/event.py"),  # `event.data`: the users' word for what a source sent
    ("message", "src/procession/connectors/"),  # what the providers themselves call it
    ("task", "src/procession/runtime/"),  # asyncio's own
    ("task", "src/procession/testing/simulation/"),  # likewise, of the simulated loop
)


def words_not_ours(source: Source) -> Iterator[Finding]:
    for line, name, is_function in _named(source):
        if name in GIVEN:
            continue
        words = _words(name)
        for word in words:
            singular = word.removesuffix("s") if word not in INSTEAD else word
            if singular in INSTEAD and not _is_at_home(singular, source):
                yield Finding(path=source.path, line=line, why=f"{name}: not {singular}; {INSTEAD[singular]}")
        if is_function and words and words[0] in INSTEAD_OF_VERBS:
            yield Finding(path=source.path, line=line, why=f"{name}: not {words[0]}; {INSTEAD_OF_VERBS[words[0]]}")


def _named(source: Source) -> Iterator[tuple[int, str, bool]]:
    yield from ((1, part, False) for part in PurePosixPath(source.path).with_suffix("").parts)
    if not source.path.endswith(".py"):
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.lineno, node.name, True
        elif isinstance(node, ast.ClassDef):
            yield node.lineno, node.name, False
            yield from ((line, name, False) for line, name in _fields(node))


def _fields(node: ast.ClassDef) -> Iterator[tuple[int, str]]:
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            yield statement.lineno, statement.target.id


def _words(name: str) -> list[str]:
    parts = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name)
    return [part.lower() for part in re.split(r"[^A-Za-z0-9]+", parts) if part]


def _is_at_home(word: str, source: Source) -> bool:
    return any(word == at_home and source.within(place) for at_home, place in AT_HOME)


def test_names_are_words_of_the_glossary() -> None:
    hold(words_not_ours, sources((".py", ".sql", ".lua"), "src/"))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("class JobRunner: ...", "job"),
        ("def drain_queues(): ...", "queue"),
        ("async def ack(): ...", "ack"),
        ("class Lane:\n    user_data: bytes", "data"),
        ("def process(): ...", "process"),
        ("def handle_event(): ...", "handle"),
        ("class LaneManager: ...", "manager"),
    ],
)
def test_a_word_that_is_not_ours_is_caught(text: str, word: str) -> None:
    assert any(f"not {word};" in finding for finding in findings(words_not_ours, [Source.sample(text)]))


def test_a_file_with_such_a_name_is_caught() -> None:
    assert findings(words_not_ours, [Source.sample("", "src/procession/core/utils.py")])
    assert findings(words_not_ours, [Source.sample("", "src/procession/storage/sqlite/ack.sql")])


def test_words_that_only_look_alike_pass() -> None:
    text = (
        "class Acknowledgement: ...\ndef metadata(): ...\nclass Handler: ...\ndef back(): ...\ndef spawn_process(): ..."
    )

    assert not findings(words_not_ours, [Source.sample(text)])


def test_a_connector_may_speak_of_messages() -> None:
    assert not findings(
        words_not_ours, [Source.sample("def message(): ...", "src/procession/connectors/plain/parse.py")]
    )
