"""A broad except has its place in a short list: elsewhere it would hide the error that mattered."""

import ast
from collections.abc import Iterator
from typing import Final

import pytest

from tests.tidy.names import imported
from tests.tidy.sources import Finding, Source, findings, hold, sources

BROAD: Final = frozenset({"Exception", "BaseException"})

# Each with the code of somebody else, or the whole of our own, that it stands around.
ALLOWED: Final = {
    "src/procession/runtime/loop.py": "the top of every loop: log, wait, go on",
    "src/procession/runtime/threads.py": "a user's function in a thread: what it raises belongs to who asked",
    "src/procession/lanes/runner.py": "the handler",
    "src/procession/outbox/sender.py": "the connector's call",
    "src/procession/outbox/scheduler.py": "the top of a send: a bug in one must not end the stage",
    "src/procession/ingress/exchange.py": "the edge: an answer, whatever the application does",
    "src/procession/ingress/receive.py": "the connector's parsing: what it fails on is kept, not lost",
    "src/procession/app/control.py": "the edge: a reply, whatever a verb does",
    "src/procession/app/application.py": "the user's module, as it is imported",
    "src/procession/testing/overheard.py": "a handler's own SQL",
    "src/procession/storage/sqlite/batches.py": "an operation of a batch: it must not take the others with it",
    "src/procession/storage/sqlite/sqlwork.py": "the handler's own SQL",
    "src/procession/storage/postgres/sqlwork.py": "the handler's own SQL",
    "src/procession/storage/postgres/batches.py": "an operation of a batch: it must not take the others with it",
    "src/procession/testing/simulation/": "a simulated loop, and processes that may end in any way, on purpose",
}


def broad_excepts(source: Source) -> Iterator[Finding]:
    if source.within(*ALLOWED):
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler) and _is_broad(node.type) and not _raises_again(node):
            yield Finding(path=source.path, line=node.lineno, why="a broad except: name what is expected here")
        elif isinstance(node, ast.Call) and _is_suppress(node, source) and any(_is_broad(arg) for arg in node.args):
            yield Finding(path=source.path, line=node.lineno, why="a broad suppress: name what is expected here")


def _is_broad(node: ast.expr | None) -> bool:
    if isinstance(node, ast.Tuple):
        return any(_is_broad(part) for part in node.elts)
    return node is None or (isinstance(node, ast.Name) and node.id in BROAD)


def _raises_again(handler: ast.ExceptHandler) -> bool:
    """Say whether it only cleans up: its last statement is a bare `raise`."""
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def _is_suppress(node: ast.Call, source: Source) -> bool:
    match node.func:
        case ast.Name(id=name):
            return imported(source.tree).get(name) == "contextlib.suppress"
        case ast.Attribute(attr="suppress"):
            return True
        case _:
            return False


def test_broad_excepts_stand_only_where_they_belong() -> None:
    hold(broad_excepts, sources((".py",), "src/"))


def test_every_place_that_is_allowed_one_has_one() -> None:
    broad = {
        source.path
        for source in sources((".py",), "src/")
        if findings(broad_excepts, [Source.sample(source.text, path="elsewhere.py")])
    }
    there = {place for place in ALLOWED if sources((".py",), place)}

    needless = {place for place in there if not any(path.startswith(place) for path in broad)}

    assert not needless, "these need no place in the list any more"


@pytest.mark.parametrize(
    "text",
    [
        "try: ...\nexcept Exception: ...",
        "try: ...\nexcept BaseException as error: log(error)",
        "try: ...\nexcept: ...",
        "try: ...\nexcept (OSError, Exception): ...",
        "from contextlib import suppress\nwith suppress(Exception): ...",
        "import contextlib\nwith contextlib.suppress(OSError, Exception): ...",
        "try: ...\nexcept Exception as error:\n    raise Other from error",
    ],
)
def test_a_broad_except_is_caught(text: str) -> None:
    assert findings(broad_excepts, [Source.sample(text)])


@pytest.mark.parametrize(
    "text",
    [
        "try: ...\nexcept OSError: ...",
        "try: ...\nexcept (OSError, ValueError): ...",
        "from contextlib import suppress\nwith suppress(OSError): ...",
        "try: ...\nexcept BaseException:\n    close()\n    raise",
    ],
)
def test_a_narrow_except_or_one_that_only_cleans_up_passes(text: str) -> None:
    assert not findings(broad_excepts, [Source.sample(text)])
