"""A setting, a command, an error or a metric that has no place in the reference fails."""

import ast
import importlib
import re
from collections.abc import Iterable, Iterator
from typing import Final

import click

from tests.tidy.sources import Source, sources

_SETTING: Final = re.compile(r"PROCESSION_[A-Z][A-Z0-9_]*[A-Z0-9]")
# Roots of the tree: nobody meets them, only what grows from them.
ABSTRACT: Final = frozenset({"ProcessionError", "StoreError", "TurnError"})


def settings(source: Source) -> Iterator[str]:
    """Give each environment variable of ours that the source reads."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and _SETTING.fullmatch(node.value):
            yield node.value


def errors(source: Source) -> Iterator[str]:
    yield from (node.name for node in source.tree.body if isinstance(node, ast.ClassDef) and node.name not in ABSTRACT)


def metrics(source: Source) -> Iterator[str]:
    """Give each name that is counted: the first argument of telemetry.count."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="count", value=counter), args=[ast.Constant(value=str() as name), *_]
            ):
                if ast.unparse(counter).endswith("telemetry"):
                    yield name
            case _:
                pass


def commands(command: click.Command, path: str = "procession") -> Iterator[str]:
    """Give each command with its path; a group that only holds others is none."""
    if command.hidden:
        return
    if not isinstance(command, click.Group):
        yield path
        return
    if command.invoke_without_command and path != "procession":
        yield path
    for name, child in command.commands.items():
        yield from commands(child, f"{path} {name}")


def undocumented(names: Iterable[str], reference: Iterable[Source]) -> set[str]:
    """List what no page of the reference names in code; behind a name may stand its arguments."""
    named = {span for page in reference for span in re.findall(r"`([^`]+)`", page.text)}
    fenced = {line.strip() for page in reference for line in page.lines}
    there = named | fenced
    return {name for name in names if not any(span == name or span.startswith(f"{name} ") for span in there)}


def _reference() -> tuple[Source, ...]:
    return sources((".md",), "docs/reference/")


def _all(found_in: Iterable[Iterator[str]]) -> set[str]:
    return {name for names in found_in for name in names}


def test_every_setting_is_documented() -> None:
    assert not undocumented(_all(map(settings, sources((".py",), "src/"))), _reference())


def test_every_error_is_documented() -> None:
    assert not undocumented(_all(map(errors, sources((".py",), "src/procession/core/errors.py"))), _reference())


def test_every_metric_is_documented() -> None:
    assert not undocumented(_all(map(metrics, sources((".py",), "src/"))), _reference())


def test_every_command_is_documented() -> None:
    main = getattr(importlib.import_module("procession.cli"), "main", None)

    assert not undocumented(commands(main) if isinstance(main, click.Command) else (), _reference())


def test_what_no_page_names_is_caught() -> None:
    page = Source.sample("`Known` and `procession lane show ID`\n", "docs/reference/sample.md")

    assert undocumented(["Known", "procession lane show", "Unknown", "procession lanes"], [page]) == {
        "Unknown",
        "procession lanes",
    }


def test_settings_errors_and_metrics_are_found_in_source() -> None:
    text = "class Late(Exception): ...\na = 'PROCESSION_STORE'\nself._telemetry.count('accepted', 2)\n'x'.count('y')"

    assert set(settings(Source.sample(text))) == {"PROCESSION_STORE"}
    assert set(errors(Source.sample(text))) == {"Late"}
    assert set(metrics(Source.sample(text))) == {"accepted"}


def test_commands_are_found_with_their_path() -> None:
    main = click.Group("main", commands=[click.Group("lane", commands=[click.Command("show")]), click.Command("serve")])
    main.add_command(click.Command("secret", hidden=True))

    assert set(commands(main)) == {"procession lane show", "procession serve"}
