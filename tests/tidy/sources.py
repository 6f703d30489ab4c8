"""The repository as the rules see it: its files, their syntax trees, and what a rule finds in them."""

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Final, Self

import pytest

ROOT: Final = Path(__file__).resolve().parents[2]

_NOT_OURS: Final = frozenset({".git", ".venv", "__pycache__", "build", "dist", "node_modules", "procession-data"})
_CACHE: Final = re.compile(r"\.\w+_cache|\.hypothesis|.*\.egg-info")
_BINARY: Final = frozenset({".png", ".gif", ".ico", ".svg", ".woff2", ".so", ".pyc", ".db"})


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file: its path from the root of the repository, with slashes, and its text."""

    path: str
    text: str

    @classmethod
    def sample(cls, text: str, path: str = "src/procession/core/sample.py") -> Self:
        """Make a file that does not exist, to show a rule what it has to catch."""
        return cls(path=path, text=text)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    def within(self, *prefixes: str) -> bool:
        """Say whether the file is one of these, or lies in one of these folders (which end with a slash)."""
        return any(
            self.path == prefix or (prefix.endswith("/") and self.path.startswith(prefix)) for prefix in prefixes
        )


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A place that breaks a rule, and why it matters."""

    path: str
    line: int
    why: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.why}"


Rule = Callable[[Source], Iterable[Finding]]


@cache
def sources(suffixes: tuple[str, ...] = (".py",), *prefixes: str) -> tuple[Source, ...]:
    """Read the repository's files with these endings below these folders (all folders, if none is named)."""
    found = (
        Source(path=path.relative_to(ROOT).as_posix(), text=path.read_text("utf-8", "replace"))
        for path in _files(suffixes)
    )
    return tuple(source for source in found if not prefixes or source.within(*prefixes))


def findings(rule: Rule, among: Iterable[Source]) -> list[str]:
    """Apply a rule to files, and list what breaks it."""
    return [str(finding) for source in among for finding in rule(source)]


def hold(rule: Rule, among: Iterable[Source]) -> None:
    """Fail the test with one line for each place that breaks the rule."""
    if found := findings(rule, among):
        pytest.fail("\n".join(found), pytrace=False)


def _files(suffixes: tuple[str, ...]) -> Iterator[Path]:
    return (path for path in _all_files() if not suffixes or path.name.endswith(suffixes))


@cache
def _all_files() -> tuple[Path, ...]:
    return tuple(sorted(_below(ROOT)))


def _below(folder: Path) -> Iterator[Path]:
    for entry in folder.iterdir():
        if entry.is_symlink() or entry.name in _NOT_OURS or _CACHE.fullmatch(entry.name):
            continue
        if entry.is_dir():
            yield from _below(entry)
        elif entry.suffix not in _BINARY:
            yield entry
