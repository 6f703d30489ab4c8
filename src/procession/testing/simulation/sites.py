"""Await sites: where a process can die.

A coroutine is only ever interrupted where it awaits, so a crash is told by the await at which it struck. This module knows
both sides of that sentence. Statically, it lists every `await`, `async with`, `async for` and asynchronous comprehension of
some packages by reading their source. At run time, it walks down what a suspended coroutine waits for and says at which of
these it stands.

A site is a line of a file. The two sides meet there by position: the compiler keeps, for each instruction, the piece of source
that it was made from, and a suspended frame knows its instruction. An `async with` suspends when it is entered and when it is
left; both are one site, as are two awaits on one line.
"""

import ast
import gc
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import NamedTuple

Positions = dict[tuple[int, int], "Site"]
"""Where in a file (line, column) a piece of source begins that suspends, and the site that it belongs to."""

# Wrappers that asyncio and the interpreter put between a frame and what it awaits, and that do not tell what they wrap.
_VEILS = frozenset({"async_generator_asend", "async_generator_athrow", "anext_awaitable", "coroutine_wrapper"})
_FRAMES = (CoroutineType, AsyncGeneratorType, GeneratorType)


class Site(NamedTuple):
    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} {self.function}"


class AwaitSites:
    """All await sites of some packages, and the way from a suspended coroutine to them."""

    def __init__(self, sources: Iterable[Path]) -> None:
        self._files: dict[str, Positions] = {}
        for source in sources:
            self._files[str(source)] = _positions(source)
        self.all: tuple[Site, ...] = tuple(sorted({site for found in self._files.values() for site in found.values()}))
        # By identity, because hashing a code object reads all of it. The code is kept, so that its identity stays its own.
        self._codes: dict[int, tuple[CodeType, dict[int, Site] | None]] = {}

    @classmethod
    def of(cls, *packages: Path, without: Collection[str] = ()) -> "AwaitSites":
        """The sites of these files and folders. Folders named in `without` are left out, wherever they are."""
        return cls(_sources(packages, frozenset(without)))

    def deepest(self, suspended: object) -> Site | None:
        """The innermost of our awaits that this coroutine is suspended at; None when it stands in foreign code only."""
        found: Site | None = None
        for code, frame in _frames(suspended, self._is_ours):
            found = self._site(code, frame)
        return found

    def chain(self, suspended: object) -> tuple[Site, ...]:
        """All of our awaits that this coroutine is suspended at, outermost first."""
        return tuple(self._site(code, frame) for code, frame in _frames(suspended, self._is_ours))

    def _is_ours(self, code: CodeType) -> bool:
        known = self._codes.get(id(code))
        if known is None:
            known = (code, {} if code.co_filename in self._files else None)
            self._codes[id(code)] = known
        return known[1] is not None

    def _site(self, code: CodeType, frame: FrameType) -> Site:
        sites = self._codes[id(code)][1]
        assert sites is not None
        site = sites.get(frame.f_lasti)
        if site is None:
            site = sites[frame.f_lasti] = _locate(self._files[code.co_filename], code, frame)
        return site


def standing(suspended: object) -> str:
    """Where a coroutine stands, for a person: the innermost frame of all, ours or not."""
    place = "at its beginning or end"
    for code, frame in _frames(suspended, lambda _: True):
        place = f"{code.co_filename}:{frame.f_lineno} {code.co_qualname}"
    return place


def _frames(suspended: object, wanted: Callable[[CodeType], bool]) -> Iterator[tuple[CodeType, FrameType]]:
    """The chain of frames from a coroutine down to what it waits for, as far as Python shows it."""
    while suspended is not None:
        kind = type(suspended)
        frame: FrameType | None
        if isinstance(suspended, CoroutineType):
            frame = suspended.cr_frame if wanted(suspended.cr_code) else None
            below = suspended.cr_await
        elif isinstance(suspended, AsyncGeneratorType):
            frame = suspended.ag_frame if wanted(suspended.ag_code) else None
            below = suspended.ag_await
        elif isinstance(suspended, GeneratorType):
            frame = suspended.gi_frame if wanted(suspended.gi_code) else None
            below = suspended.gi_yieldfrom
        elif kind.__name__ in _VEILS:
            suspended = _unveiled(suspended)
            continue
        else:
            return
        if frame is not None:
            yield frame.f_code, frame
        suspended = below


def _unveiled(veil: object) -> object:
    """What such a wrapper wraps. Python does not show it, but the collector has to know."""
    for inside in gc.get_referents(veil):
        if isinstance(inside, _FRAMES) or type(inside).__name__ in _VEILS:
            return inside
    return None


def _locate(positions: Positions, code: CodeType, frame: FrameType) -> Site:
    start = _start_of(code, frame.f_lasti)
    if start is not None and start in positions:
        return positions[start]
    # A compiler that notes another piece of the statement than we foresaw: the line still tells.
    for (line, _), site in positions.items():
        if frame.f_lineno in (line, site.line):
            return site
    return Site(_shown(Path(code.co_filename)), frame.f_lineno, code.co_qualname)


def _start_of(code: CodeType, instruction: int) -> tuple[int, int] | None:
    for offset, (line, _, column, _) in enumerate(code.co_positions()):
        if 2 * offset == instruction:
            return None if line is None or column is None else (line, column)
    return None


def _sources(packages: Iterable[Path], without: frozenset[str]) -> Iterator[Path]:
    for package in packages:
        for source in sorted(package.rglob("*.py")) if package.is_dir() else [package]:
            inside = source.relative_to(package) if package.is_dir() else Path(source.name)
            if without.isdisjoint(inside.parts[:-1]):
                yield source


def _positions(source: Path) -> Positions:
    reader = _Reader(_shown(source))
    reader.visit(ast.parse(source.read_bytes(), str(source)))
    return reader.found


def _shown(source: Path) -> str:
    """The path below the folder that holds the package, so that reports are the same on every machine."""
    root = source.parent
    while (root / "__init__.py").exists():
        root = root.parent
    return source.relative_to(root).as_posix()


class _Reader(ast.NodeVisitor):
    """Collects what suspends, under the name of the function that it stands in."""

    def __init__(self, file: str) -> None:
        self.found: Positions = {}
        self._file = file
        self._names: list[str] = []

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._within(node, node.name)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._within(node, node.name, "<locals>")

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._within(node, node.name, "<locals>")

    def visit_Await(self, node: ast.Await) -> None:
        self._add(node.lineno, node)
        self.generic_visit(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> None:
        self._add(node.lineno, node, *(item.context_expr for item in node.items))
        self.generic_visit(node)

    def visit_AsyncFor(self, node: ast.AsyncFor) -> None:
        self._add(node.lineno, node, node.iter, node.target)
        self.generic_visit(node)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node)

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node)

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp) -> None:
        for part in node.generators:
            if part.is_async:
                self._add(node.lineno, node, part.iter, part.target)
        self.generic_visit(node)

    def _within(self, node: ast.AST, *names: str) -> None:
        self._names.extend(names)
        self.generic_visit(node)
        del self._names[-len(names) :]

    def _add(self, line: int, *pieces: ast.expr | ast.stmt) -> None:
        names = self._names[:-1] if self._names[-1:] == ["<locals>"] else self._names
        site = Site(self._file, line, ".".join(names) or "<module>")
        for piece in pieces:
            # The outermost piece is visited first and keeps the place: an await that begins an `async with` item is apart.
            self.found.setdefault((piece.lineno, piece.col_offset), site)
