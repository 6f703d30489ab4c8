"""Await sites: where a process can die.

A coroutine is only ever interrupted where it awaits, so a crash is told by the await at which it struck. This module
knows both sides of that sentence. Statically, it lists every `await`, `async with`, `async for` and asynchronous
comprehension of some packages by reading their source. At run time, it walks down what a suspended coroutine waits for
and says at which of these it stands.

A site is a line of a file. The two sides meet there by position: the compiler keeps, for each instruction, the piece of
source that it was made from, and a suspended frame knows its instruction. An `async with` suspends when it is entered
and when it is left; both are one site, as are two awaits on one line. Not counted is the `async with` of asyncio's
timeouts, which never suspends.
"""

import ast
import gc
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from types import AsyncGeneratorType, CodeType, CoroutineType, FrameType, GeneratorType
from typing import NamedTuple

Place = tuple[int, int]
"""Line and column at which a piece of source begins."""

# They are entered and left by `async with` and never suspend: nobody can die there.
_NEVER_SUSPENDING = frozenset({"asyncio.timeout", "asyncio.timeout_at"})
# Wrappers that the interpreter puts between a frame and what it awaits, and that do not tell what they wrap.
_VEILS = frozenset({"async_generator_asend", "async_generator_athrow", "anext_awaitable", "coroutine_wrapper"})


class Site(NamedTuple):
    file: str
    line: int
    function: str

    @property
    def shown(self) -> str:
        return f"{self.file}:{self.line} {self.function}"


class AwaitSites:
    """All await sites of some packages, and the way from a suspended coroutine to them."""

    def __init__(self, sources: Iterable[Path]) -> None:
        self._files: dict[str, dict[Place, Site]] = {str(source): _read(source) for source in sources}
        self.all: tuple[Site, ...] = tuple(sorted({site for found in self._files.values() for site in found.values()}))
        # By identity, because hashing a code object reads all of it. The code is kept, so that its identity is its own.
        self._codes: dict[int, tuple[CodeType, dict[int, Site] | None]] = {}

    @classmethod
    def of(cls, *packages: Path, without: Collection[str] = ()) -> "AwaitSites":
        """The sites of these files and folders. Folders named in `without` are left out, wherever they are."""
        return cls(_sources(packages, frozenset(without)))

    def deepest(self, suspended: object) -> Site | None:
        """The innermost of our awaits that this coroutine is suspended at; None when it stands in foreign code only."""
        found: Site | None = None
        for frame in _frames(suspended, self._is_ours):
            found = self._site(frame)
        return found

    def chain(self, suspended: object) -> tuple[Site, ...]:
        """All of our awaits that this coroutine is suspended at, outermost first."""
        return tuple(self._site(frame) for frame in _frames(suspended, self._is_ours))

    def _is_ours(self, code: CodeType) -> bool:
        known = self._codes.get(id(code))
        if known is None:
            known = self._codes[id(code)] = (code, {} if code.co_filename in self._files else None)
        return known[1] is not None

    def _site(self, frame: FrameType) -> Site:
        code = frame.f_code
        sites = self._codes[id(code)][1]
        assert sites is not None
        site = sites.get(frame.f_lasti)
        if site is None:
            site = sites[frame.f_lasti] = _locate(self._files[code.co_filename], frame)
        return site


def standing(suspended: object) -> str:
    """Where a coroutine stands, for a person: the innermost frame of all, ours or not."""
    place = "its beginning or its end"
    for frame in _frames(suspended, lambda _: True):
        place = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_qualname}"
    return place


def _frames(suspended: object, wanted: Callable[[CodeType], bool]) -> Iterator[FrameType]:
    """The wanted frames from a coroutine down to what it waits for, as far as Python shows it."""
    while suspended is not None:
        frame: FrameType | None
        if isinstance(suspended, CoroutineType):
            frame = suspended.cr_frame if wanted(suspended.cr_code) else None
            suspended = suspended.cr_await
        elif isinstance(suspended, AsyncGeneratorType):
            frame = suspended.ag_frame if wanted(suspended.ag_code) else None
            suspended = suspended.ag_await
        elif isinstance(suspended, GeneratorType):
            frame = suspended.gi_frame if wanted(suspended.gi_code) else None
            suspended = suspended.gi_yieldfrom
        elif type(suspended).__name__ in _VEILS:
            frame = None
            suspended = _unveiled(suspended)
        else:
            return
        if frame is not None:
            yield frame


def _unveiled(veil: object) -> object:
    """What such a wrapper wraps. Python does not show it, but the collector has to know."""
    for inside in gc.get_referents(veil):
        if isinstance(inside, CoroutineType | AsyncGeneratorType | GeneratorType) or type(inside).__name__ in _VEILS:
            return inside
    return None


def _locate(sites: dict[Place, Site], frame: FrameType) -> Site:
    place = _place(frame.f_code, frame.f_lasti)
    if place in sites:
        return sites[place]
    # A compiler that notes another piece of the statement than we foresaw: the line still tells.
    for (line, _), site in sites.items():
        if frame.f_lineno in (line, site.line):
            return site
    return Site(_shown(Path(frame.f_code.co_filename)), frame.f_lineno, frame.f_code.co_qualname)


def _place(code: CodeType, instruction: int) -> Place:
    for offset, (line, _, column, _) in enumerate(code.co_positions()):
        if 2 * offset == instruction:
            return (line or 0, column or 0)
    return (0, 0)


def _sources(packages: Iterable[Path], without: frozenset[str]) -> Iterator[Path]:
    for package in packages:
        if package.is_dir():
            for source in sorted(package.rglob("*.py")):
                if without.isdisjoint(source.relative_to(package).parts[:-1]):
                    yield source
        else:
            yield package


def _read(source: Path) -> dict[Place, Site]:
    found: dict[Place, Site] = {}
    _collect(ast.parse(source.read_bytes(), str(source)), _shown(source), (), found)
    return found


def _shown(source: Path) -> str:
    """The path below the folder that holds the package, so that reports are the same on every machine."""
    root = source.parent
    while (root / "__init__.py").exists():
        root = root.parent
    return source.relative_to(root).as_posix()


def _collect(node: ast.AST, file: str, names: tuple[str, ...], found: dict[Place, Site]) -> None:
    """Note each piece of source below `node` that suspends, under the name of the function that it stands in."""
    match node:
        case ast.ClassDef():
            names = (*names, node.name)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            names = (*names, node.name, "<locals>")
        case ast.expr() | ast.stmt():
            site = Site(file, node.lineno, ".".join(names).removesuffix(".<locals>") or "<module>")
            for piece in _suspending(node):
                # The outer piece comes first and keeps the place, where an `async with` begins with an await.
                found.setdefault((piece.lineno, piece.col_offset), site)
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        _collect(child, file, names, found)


def _suspending(node: ast.AST) -> list[ast.expr | ast.stmt]:
    """The pieces of this one statement or expression that the compiler may name as the place of a suspension."""
    match node:
        case ast.Await():
            return [node]
        case ast.AsyncWith(items=items):
            entered = [item.context_expr for item in items]
            return [] if all(_never_suspends(each) for each in entered) else [node, *entered]
        case ast.AsyncFor(iter=over, target=target):
            return [node, over, target]
        case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
            waits = [part for part in node.generators if part.is_async]
            return [node, *(piece for part in waits for piece in (part.iter, part.target))] if waits else []
        case _:
            return []


def _never_suspends(entered: ast.expr) -> bool:
    return isinstance(entered, ast.Call) and ast.unparse(entered.func) in _NEVER_SUSPENDING
