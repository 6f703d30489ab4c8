"""The examination behind `procession doctor`: what can be seen from outside, then what the store says of itself."""

import os
import shutil
import stat
from collections.abc import Iterator
from typing import Final

from procession.app.config import Config
from procession.app.control import engine_runs
from procession.app.health import Finding, Grade
from procession.core.errors import ProcessionError

_ROOM_MIN: Final = 512 * 1024 * 1024
"""Of a disk: less than this is used up within hours by a busy engine."""
_RESTORED: Final = (
    "a restored file cannot be told from the original: after putting a backup in place, run `procession restore`"
)


async def examine(config: Config) -> tuple[Finding, ...]:
    found = [*_outside(config)]
    try:
        found.extend(await _inside(config))
    except ProcessionError as error:
        found.append(Finding(about="store", grade=Grade.BAD, text=str(error)))
    if config.sqlite_folder is not None:
        found.append(Finding(about="restore", grade=Grade.GOOD, text=_RESTORED))
    return tuple(found)


async def _inside(config: Config) -> tuple[Finding, ...]:
    from procession.app.access import is_absent, open_desk

    if is_absent(config):
        text = f"there is none in {config.sqlite_folder} yet: `procession serve` makes it"
        return (Finding(about="store", grade=Grade.LOOK, text=text),)
    async with open_desk(config) as desk:
        return await desk.findings()


def _outside(config: Config) -> Iterator[Finding]:
    changed = sum(1 for _, value in config if value.origin != "default")
    yield Finding(about="settings", grade=Grade.GOOD, text=f"read; {changed} differ from their defaults")
    runs = engine_runs(config.folder)
    yield Finding(
        about="engine", grade=Grade.GOOD, text=f"runs on {config.folder}" if runs else "none runs on this folder"
    )
    yield from _folder(config)
    yield _master_key(config)


def _folder(config: Config) -> Iterator[Finding]:
    folder = config.folder
    if not folder.is_dir():
        return
    mode = stat.S_IMODE(folder.stat().st_mode)
    if mode & 0o077:
        yield Finding(about="folder", grade=Grade.LOOK, text=f"{folder} can be entered by others: chmod 700 {folder}")
    else:
        yield Finding(about="folder", grade=Grade.GOOD, text=f"{folder} is its owner's only")
    free = shutil.disk_usage(folder).free
    grade = Grade.GOOD if free >= _ROOM_MIN else Grade.LOOK
    yield Finding(about="disk", grade=grade, text=f"{free // 1024**2:,} MiB free")


def _master_key(config: Config) -> Finding:
    if os.environ.get("PROCESSION_MASTER_KEY"):
        return Finding(about="master key", grade=Grade.GOOD, text="from the environment")
    if os.environ.get("PROCESSION_MASTER_KEY_COMMAND"):
        return Finding(about="master key", grade=Grade.GOOD, text="with the program that the environment names")
    path = config.folder / "master.key"
    if not path.exists():
        return Finding(about="master key", grade=Grade.GOOD, text="none yet: made with the first secret")
    if stat.S_IMODE(path.stat().st_mode) & 0o077:
        return Finding(about="master key", grade=Grade.BAD, text=f"{path} can be read by others: chmod 600 {path}")
    text = f"{path}: keep a copy elsewhere, without it no secret opens"
    return Finding(about="master key", grade=Grade.GOOD, text=text)
