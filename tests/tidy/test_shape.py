"""One noun a file, small functions, frozen values, and nothing that a reader cannot check in place."""

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.tidy.names import modules, uses
from tests.tidy.sources import Finding, Source, findings, hold, sources

LINES_MAX: Final = 400
TEST_LINES_MAX: Final = 600
FUNCTION_LINES_MAX: Final = 60

# Where no line says what the types do not: the pure part, the contracts, and the stages.
WITHOUT_ANY: Final = tuple(
    f"src/procession/{package}/" for package in ("core", "ports", "ingress", "lanes", "outbox", "upkeep")
)

# Tables of the in-memory reference: rows that its transactions change, and copy first.
MUTABLE: Final = ("src/procession/storage/memory/", "src/procession/testing/")

# A simulated loop is what others stand on: it makes the tasks itself.
LOOPS: Final = ("src/procession/testing/simulation/",)

# Heavy at start, and needed only by who looks at a terminal.
LAZY: Final = ("rich",)

_IGNORE: Final = re.compile(
    r"#\s*(type|pyright):\s*ignore(?P<code>\[[\w, -]+\])?(?P<reason>\s*#\s*\w.{3,}|\s+\w.{3,})?"
)


def long_files(source: Source) -> Iterator[Finding]:
    longest = TEST_LINES_MAX if source.within("tests/") else LINES_MAX
    if len(source.lines) > longest:
        yield Finding(path=source.path, line=longest, why=f"{len(source.lines)} lines: more than one noun lives here")


def long_functions(source: Source) -> Iterator[Finding]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and (length := _length(node)) > FUNCTION_LINES_MAX:
            yield Finding(path=source.path, line=node.lineno, why=f"{node.name} has {length} lines: name its steps")


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count from the first statement on: a contract in a docstring may be as long as it must."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return (node.end_lineno or node.lineno) - body[0].lineno + 1 if body else 0


def loose_dataclasses(source: Source) -> Iterator[Finding]:
    for node in ast.walk(source.tree):
        if not isinstance(node, ast.ClassDef):
            continue
        for decorator in node.decorator_list:
            missing = [word for word in _missing(decorator) if word != "frozen" or not source.within(*MUTABLE)]
            if missing:
                why = f"{node.name}: a dataclass is frozen, slotted and keyword-only; missing {', '.join(missing)}"
                yield Finding(path=source.path, line=node.lineno, why=why)


def _missing(decorator: ast.expr) -> list[str]:
    match decorator:
        case ast.Name(id="dataclass") | ast.Attribute(attr="dataclass"):
            given: set[str | None] = set()
        case ast.Call(func=ast.Name(id="dataclass") | ast.Attribute(attr="dataclass"), keywords=keywords):
            given = {word.arg for word in keywords if isinstance(word.value, ast.Constant) and word.value.value is True}
        case _:
            return []
    return [word for word in ("frozen", "slots", "kw_only") if word not in given]


def uses_of_any(source: Source) -> Iterator[Finding]:
    for node, dotted in uses(source.tree):
        if dotted in ("typing.Any", "typing_extensions.Any"):
            yield Finding(path=source.path, line=node.lineno, why="Any: say what it is, or object")


def ignores_without_reason(source: Source) -> Iterator[Finding]:
    for number, line in enumerate(source.lines, 1):
        found = _IGNORE.search(line)
        if found and not (found["code"] and found["reason"]):
            yield Finding(path=source.path, line=number, why="an ignore has a code, and behind a further # its reason")


def bare_create_task(source: Source) -> Iterator[Finding]:
    if source.within(*LOOPS):
        return
    for node, dotted in uses(source.tree):
        if dotted in ("asyncio.create_task", "asyncio.ensure_future"):
            yield Finding(path=source.path, line=node.lineno, why=f"{dotted}: a TaskGroup knows who waits for it")
    for place in ast.walk(source.tree):
        if isinstance(place, ast.Attribute) and place.attr == "create_task" and "loop" in ast.unparse(place.value):
            why = "loop.create_task: a TaskGroup knows who waits for it"
            yield Finding(path=source.path, line=place.lineno, why=why)


def eager_imports(source: Source) -> Iterator[Finding]:
    for statement in source.tree.body:
        for line, module in modules(ast.Module(body=[statement], type_ignores=[])) if _is_import(statement) else ():
            if module.partition(".")[0] in LAZY:
                why = f"{module}: imported where it is used, it costs others nothing"
                yield Finding(path=source.path, line=line, why=why)


def _is_import(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Import | ast.ImportFrom)


def test_no_file_grows_beyond_one_noun() -> None:
    hold(long_files, sources((".py", ".sql", ".lua"), "src/", "tests/"))


def test_no_function_grows_beyond_a_screen() -> None:
    hold(long_functions, sources((".py",), "src/"))


def test_dataclasses_are_frozen_slotted_and_keyword_only() -> None:
    hold(loose_dataclasses, sources((".py",), "src/"))


def test_core_ports_and_stages_know_no_any() -> None:
    hold(uses_of_any, sources((".py",), *WITHOUT_ANY))


def test_every_ignore_has_a_code_and_a_reason() -> None:
    hold(ignores_without_reason, sources((".py",), "src/", "tests/"))


def test_nothing_is_started_that_nobody_waits_for() -> None:
    hold(bare_create_task, sources((".py",), "src/"))


def test_what_only_a_terminal_needs_is_imported_where_it_is_used() -> None:
    hold(eager_imports, sources((".py",), "src/"))


def test_a_long_file_is_caught() -> None:
    assert findings(long_files, [Source.sample("\n" * (LINES_MAX + 1))])
    assert not findings(long_files, [Source.sample("\n" * LINES_MAX)])


def test_a_long_function_is_caught_but_its_docstring_does_not_count() -> None:
    statements = "    pass\n" * (FUNCTION_LINES_MAX + 1)
    contract = 'def f():\n    """' + "\n" * 99 + '    """\n    ...\n'

    assert findings(long_functions, [Source.sample(f"def f():\n{statements}")])
    assert not findings(long_functions, [Source.sample(contract)])


@pytest.mark.parametrize(
    "decorator",
    ["dataclass", "dataclass()", "dataclass(frozen=True)", "dataclasses.dataclass(frozen=True, slots=True)"],
)
def test_a_loose_dataclass_is_caught(decorator: str) -> None:
    assert findings(loose_dataclasses, [Source.sample(f"@{decorator}\nclass Lane: ...")])


def test_a_tight_dataclass_passes() -> None:
    text = "@dataclass(frozen=True, slots=True, kw_only=True)\nclass Lane: ..."

    assert not findings(loose_dataclasses, [Source.sample(text)])


@pytest.mark.parametrize(
    "text", ["from typing import Any\na: Any", "import typing as t\ndef f(a: dict[str, t.Any]): ..."]
)
def test_any_is_caught(text: str) -> None:
    assert findings(uses_of_any, [Source.sample(text)])


@pytest.mark.parametrize(
    "tail", ["type: ignore", "type: ignore[misc]", "pyright: ignore", "type: ignore  # it does not work"]
)
def test_an_ignore_without_code_or_reason_is_caught(tail: str) -> None:
    assert findings(ignores_without_reason, [Source.sample(f"a = 1  # {tail}")])


def test_an_ignore_with_code_and_reason_passes() -> None:
    tail = "type: " + "ignore[arg-type]  # the stub of the library lacks None"

    assert not findings(ignores_without_reason, [Source.sample(f"a = 1  # {tail}")])


@pytest.mark.parametrize(
    "text",
    [
        "import asyncio\nasyncio.create_task(f())",
        "from asyncio import ensure_future\nensure_future(f())",
        "import asyncio\nasyncio.get_running_loop().create_task(f())",
        "self._loop.create_task(f())",
    ],
)
def test_a_bare_create_task_is_caught(text: str) -> None:
    assert findings(bare_create_task, [Source.sample(text)])


def test_a_task_of_a_group_passes() -> None:
    assert not findings(bare_create_task, [Source.sample("async def f(group):\n    group.create_task(g())")])


def test_an_eager_import_is_caught_and_a_lazy_one_passes() -> None:
    assert findings(eager_imports, [Source.sample("from rich.table import Table")])
    assert not findings(eager_imports, [Source.sample("def f():\n    from rich.table import Table")])
