"""Planted bugs: known ways to break the engine, each a small change of the shipped code, which the simulation has to
find.

A bug is a piece of a source file and what stands there instead. It is planted when the module is imported, in a process
of its own; nothing on the disk is changed. If the piece is not there any more, the planting fails: the catalogue
follows the code.
"""

import importlib.machinery
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Final

import procession
from procession.core.errors import BadRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class Plant:
    name: str
    what: str
    file: str
    """Below the package."""
    old: str
    new: str
    store: str = ""
    """The kind of store whose worlds it is looked for in; "": of any."""
    world: str = "standard"
    """The kind of world that finds it."""


def catalogue() -> tuple[Plant, ...]:
    from procession.testing.simulation.plants_of_stages import PLANTS as OF_STAGES
    from procession.testing.simulation.plants_of_stores import PLANTS as OF_STORES
    from procession.testing.simulation.plants_of_whatsapp import PLANTS as OF_WHATSAPP

    return (*OF_STAGES, *OF_STORES, *OF_WHATSAPP)


def named(name: str) -> Plant:
    for each in catalogue():
        if each.name == name:
            return each
    raise BadRequest(f"no planted bug is called {name!r}: `procession selftest planted --list` names them")


def plant(name: str) -> str | None:
    """Plant it, before what it changes is imported. Answers the kind of store to look for it with."""
    chosen = named(name)
    changed, source = changed_source(chosen)
    assert changed not in sys.modules, f"{changed} was imported before it could be changed"
    sys.meta_path.insert(0, _Planter(changed, source))
    return chosen.store or None


def changed_source(chosen: Plant) -> tuple[str, str]:
    """The module that is changed, and its whole source with the bug in it."""
    house = Path(procession.__file__).parent
    text = (house / chosen.file).read_text(encoding="utf-8")
    count = text.count(chosen.old)
    assert count == 1, f"{chosen.name}: {chosen.file} holds the piece {count} times"
    if not chosen.file.endswith(".sql"):
        module = chosen.file.removesuffix(".py").replace("/", ".")
        return f"procession.{module}", text.replace(chosen.old, chosen.new)
    # Statements are read from their files by one function: it is that function that reads them wrongly.
    reader = house / "storage" / "sqlite" / "statements.py"
    reading = reader.read_text(encoding="utf-8")
    assert reading.count(_READ) == 1, "statements.py reads its files in another way"
    group = Path(chosen.file).stem
    wrong = f"    if group == {group!r}:\n        text = text.replace({chosen.old!r}, {chosen.new!r})\n{_READ}"
    return "procession.storage.sqlite.statements", reading.replace(_READ, wrong)


_READ: Final = "    _, *parts = _NAME.split(text)\n"


class _Planter(MetaPathFinder):
    """Finds one module, and hands out a loader that compiles other text."""

    def __init__(self, module: str, source: str) -> None:
        self._module = module
        self._source = source

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._module:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _Loader(fullname, spec.origin, self._source)
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, module: str, path: str, source: str) -> None:
        super().__init__(module, path)
        self._source = source

    def get_code(self, fullname: str) -> CodeType | None:
        del fullname
        code: CodeType = compile(self._source, self.path, "exec", dont_inherit=True)
        return code
