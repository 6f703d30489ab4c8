"""SQL stands in files, one an operation, with a head comment; no string of it is built."""

import ast
import re
from collections.abc import Iterator
from typing import Final

import pytest

from tests.tidy.sources import Finding, Source, findings, hold, sources

# Where no statement could take a parameter, or the text is not a statement of ours; each with its reason.
MAY_BUILD: Final[dict[str, str]] = {}

_STATEMENT: Final = re.compile(
    r"\s*(SELECT\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|WITH\s+\w+(\s*\([^)]*\))?\s+AS\s"
    r"|(CREATE|DROP|ALTER)\s+(TABLE|(UNIQUE\s+)?INDEX|TRIGGER|VIEW)\s|REPLACE\s+INTO\s|PRAGMA\s|ATTACH\s|VACUUM\b)",
    re.IGNORECASE,
)
_FRAGMENT: Final = re.compile(r"\s(FROM|INTO|WHERE|SET|VALUES|ORDER BY|GROUP BY|LIMIT|RETURNING)\s", re.IGNORECASE)

# These read a store from outside, to measure or to judge it: no operation of an engine, and no file of the store's own.
FROM_OUTSIDE: Final = ("src/procession/testing/",)

HEAD_CHARACTERS_MIN: Final = 60


def built_statements(source: Source) -> Iterator[Finding]:
    if source.path in MAY_BUILD:
        return
    for node in ast.walk(source.tree):
        if (text := _built(node)) is not None and _is_statement(text, ast.unparse(node)):
            yield Finding(path=source.path, line=_line(node), why="a built SQL string: pass parameters to a .sql file")


def _is_statement(beginning: str, whole: str) -> bool:
    """Tell SQL from prose: what opens like a statement, in capitals or with a further word of SQL behind."""
    found = _STATEMENT.match(beginning)
    return found is not None and (found[0].isupper() or _FRAGMENT.search(whole) is not None)


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 1)


def _built(node: ast.AST) -> str | None:
    """Give the constant beginning of a string that is put together, whichever of the four ways it is done."""
    match node:
        case ast.JoinedStr(values=[first, *_]) if any(isinstance(value, ast.FormattedValue) for value in node.values):
            return _constant(first)
        case ast.BinOp(left=left, op=ast.Mod() | ast.Add()):
            return _constant(left)
        case ast.Call(func=ast.Attribute(value=value, attr="format" | "replace" | "join")):
            return _constant(value)
        case _:
            return None


def _constant(node: ast.expr) -> str | None:
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.JoinedStr(values=[first, *_]):
            return _constant(first)
        case ast.BinOp(left=left):
            return _constant(left)
        case _:
            return None


def statements_outside_files(source: Source) -> Iterator[Finding]:
    if source.within(*FROM_OUTSIDE):
        return
    """A statement over our tables belongs into a file; what only steers the connection (BEGIN, PRAGMA) may stay."""
    if source.path in MAY_BUILD:
        return
    for node in ast.walk(source.tree):
        match node:
            case ast.Constant(value=str() as text) if _STATEMENT.match(text) and _FRAGMENT.search(text):
                yield Finding(path=source.path, line=node.lineno, why="SQL inside Python: one .sql file an operation")
            case _:
                pass


def bare_files(source: Source) -> Iterator[Finding]:
    head = []
    for line in source.lines:
        if not line.startswith("--"):
            break
        head.append(line.lstrip("- "))
    if len(" ".join(head)) < HEAD_CHARACTERS_MIN:
        yield Finding(
            path=source.path,
            line=1,
            why="no head comment: say what it ensures, which index serves it, which locks it takes",
        )


def test_no_sql_string_is_built() -> None:
    hold(built_statements, sources((".py",), "src/"))


def test_sql_stands_in_files() -> None:
    hold(statements_outside_files, sources((".py",), "src/"))


def test_every_sql_and_lua_file_opens_with_what_it_ensures() -> None:
    hold(bare_files, sources((".sql", ".lua"), "src/"))


def test_every_place_that_may_build_sql_is_there() -> None:
    assert set(MAY_BUILD) <= {source.path for source in sources((".py",), "src/")}


@pytest.mark.parametrize(
    "text",
    [
        'f"SELECT * FROM {table}"',
        'f"  select a from lanes where id = {lane!r}"',
        '"DELETE FROM lanes WHERE id = %s" % lane',
        '"INSERT INTO events VALUES ({})".format(event)',
        '"UPDATE lanes SET epoch = " + epoch',
        '"SELECT a " + "FROM lanes " + where',
        '"""SELECT a FROM lanes""".replace("lanes", table)',
        'f"PRAGMA user_version = {number}"',
    ],
)
def test_a_built_statement_is_caught(text: str) -> None:
    assert findings(built_statements, [Source.sample(text)])


@pytest.mark.parametrize(
    "text",
    [
        'f"select {what} to go on"',
        '"update: %s" % name',
        'f"{name} FROM {place}"',
        '"with " + company',
        '"PRAGMA journal_mode"',
    ],
)
def test_prose_and_constant_statements_are_not_taken_for_built_sql(text: str) -> None:
    assert not findings(built_statements, [Source.sample(text)])


def test_a_statement_inside_python_is_caught() -> None:
    assert findings(statements_outside_files, [Source.sample('sql = "SELECT a FROM lanes"')])


def test_steering_the_connection_may_stay_in_python() -> None:
    assert not findings(statements_outside_files, [Source.sample('a = "BEGIN IMMEDIATE"\nb = "PRAGMA synchronous"')])


def test_a_file_without_a_head_comment_is_caught() -> None:
    assert findings(bare_files, [Source.sample("SELECT 1;", "src/procession/storage/sqlite/one.sql")])
    assert findings(bare_files, [Source.sample("-- settle\nSELECT 1;", "src/procession/storage/sqlite/one.sql")])


def test_a_file_with_a_head_comment_passes() -> None:
    head = "-- Ensures that one comes back. Served by no index, since it reads no table;\n-- takes no lock.\nSELECT 1;"

    assert not findings(bare_files, [Source.sample(head, "src/procession/storage/sqlite/one.sql")])
