"""The shadow as a disk: made ready before a start, settled after a kill, and put in the root's place by a power cut.

A shadow is a folder beside the root. It holds what the root's files would hold after a power cut and, in `.powercut`,
the books of the shim (bitmaps of pages not yet synced, journals of syncs, counts), whose layout stands in `shadow.c`.

    env = environment(root, shadow)      # before every start of a process on this root, also after a plain kill
    ... start the process with env, let it work, kill it with SIGKILL ...
    cut = restart_on(shadow, root)       # the power cut: the root now holds only what was synced
    ... environment(root, shadow) again, start, compare ...
"""

import fcntl
import os
import shutil
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from procession.testing.powercut.build import build_shim

STATE = ".powercut"
PAGE = 4096

_MARK = 0x7368616477206F6B
_BODY = 8192
_HEAD = struct.Struct("<QQQQQ")  # mark, size, inode of the shadow file, runs, bytes
_NAME_AT = 64
_RUN = struct.Struct("<QQ")  # offset, length; then the bytes
_COUNTS = struct.Struct("<QQQQQ")  # loads, writes, syncs, pages, wholes
_BITMAP_BYTES = 131072 * 8
_DIRTY_AT = PAGE
_COPYING_AT = PAGE + _BITMAP_BYTES

Leak = Callable[[str, int], bool]


class PowercutError(Exception):
    """The simulation cannot be trusted here: the text says why."""


class PowercutBlind(PowercutError):
    """No process ever loaded the shim on this shadow: a run that saw nothing would prove nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the shim saw since the last power cut."""

    loads: int
    writes: int
    syncs: int
    pages: int
    wholes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerCut:
    """What one power cut did to the root, by relative name."""

    kept: tuple[str, ...]
    behind: tuple[str, ...]
    gone: tuple[str, ...]
    settled: int
    leaked: int
    counts: Counts

    @property
    def lost_bytes(self) -> bool:
        """Whether the cut took anything at all: one that takes nothing shows nothing."""
        return bool(self.behind or self.gone)


def environment(root: Path, shadow: Path) -> dict[str, str]:
    """Readies root and shadow for the next start, and answers what to add to that process's environment.

    A new shadow begins as a copy of what the root holds. An old one is settled first, and loses the names that the root
    no longer has: their removal had happened, and removals count as durable at once.
    """
    root, shadow = _folders(root, shadow)
    shim = build_shim()
    root.mkdir(parents=True, exist_ok=True)
    if not (shadow / STATE).exists():
        _copy_tree(root, shadow)
        (shadow / STATE).mkdir(mode=0o700)
    settle_shadow(shadow)
    _drop_removed(root, shadow)
    return {"LD_PRELOAD": str(shim), "SH_ROOT": str(root), "SH_SHADOW": str(shadow)}


def settle_shadow(shadow: Path) -> int:
    """Finishes the syncs whose process was killed while they were being applied; answers how many there were.

    May be called while processes run: each journal is taken under the lock that the shim holds for a sync.
    """
    settled = 0
    for journal in sorted((shadow / STATE).glob("*.journal")):
        with journal.open("r+b") as opened:
            fcntl.flock(opened, fcntl.LOCK_EX)
            settled += _finish(opened.fileno(), shadow)
    return settled


def counts_of(shadow: Path) -> Counts:
    try:
        read = (shadow / STATE / "counts").read_bytes()[: _COUNTS.size]
    except FileNotFoundError:
        read = b""
    loads, writes, syncs, pages, wholes = _COUNTS.unpack(read.ljust(_COUNTS.size, b"\0"))
    return Counts(loads=loads, writes=writes, syncs=syncs, pages=pages, wholes=wholes)


def restart_on(shadow: Path, root: Path, leak: Leak | None = None) -> PowerCut:
    """Cuts the power: the root becomes what the shadow holds, and the shadow stays behind as that disk.

    Real disks may also keep some of what no sync covered, in any order. `leak` decides it, for each page by file name
    and page number; without it nothing of that kind survives. SQLite's `-shm` files do not survive.

    Raises PowercutBlind when no process has loaded the shim, and PowercutError while one that did still lives.
    """
    root, shadow = _folders(root, shadow)
    counts = counts_of(shadow)
    if counts.loads == 0:
        raise PowercutBlind(f"No process has loaded the shim for {shadow}: was it started with environment()?")
    with _nobody_lives(shadow):
        settled = settle_shadow(shadow)
        _drop_removed(root, shadow)
        leaked = _leak(root, shadow, leak) if leak is not None else 0
        kept, behind, gone = _compare(root, shadow)
        _become(shadow, root)
        _forget(shadow)
    return PowerCut(kept=kept, behind=behind, gone=gone, settled=settled, leaked=leaked, counts=counts)


def _folders(root: Path, shadow: Path) -> tuple[Path, Path]:
    root, shadow = root.resolve(), shadow.resolve()
    if root == shadow or root in shadow.parents or shadow in root.parents:
        raise PowercutError(f"Root and shadow must lie apart, but one holds the other: {root} and {shadow}.")
    return root, shadow


@contextmanager
def _nobody_lives(shadow: Path) -> Iterator[None]:
    """Each process with the shim holds a shared lock for its life; the cut needs it alone."""
    with (shadow / STATE / "alive").open("r+b") as alive:
        try:
            fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PowercutError(
                f"A process still writes to the root of {shadow}: kill it and wait for it first."
            ) from None
        yield


def _finish(journal: int, shadow: Path) -> bool:
    head = os.pread(journal, _HEAD.size, 0).ljust(_HEAD.size, b"\0")
    mark, size, inode, runs, _ = _HEAD.unpack(head)
    if mark != _MARK:
        return False
    name = os.fsdecode(os.pread(journal, PAGE, _NAME_AT).partition(b"\0")[0])
    target = _find_inode(shadow, name, inode)
    if target is not None:  # otherwise the file was removed or replaced meanwhile, and nobody can ask for its bytes
        _apply(journal, target, runs=runs, size=size)
    os.pwrite(journal, bytes(8), 0)
    return True


def _find_inode(shadow: Path, name: str, inode: int) -> Path | None:
    """By its name, or wherever a rename between the sync and the kill has put it."""
    for path in (shadow / name, *_files(shadow)):
        if path.exists() and path.stat().st_ino == inode:
            return path
    return None


def _apply(journal: int, target: Path, *, runs: int, size: int) -> None:
    at = _BODY
    with target.open("r+b") as opened:
        for _ in range(runs):
            offset, length = _RUN.unpack(os.pread(journal, _RUN.size, at))
            at += _RUN.size
            opened.seek(offset)
            opened.write(os.pread(journal, length, at))
            at += length
        opened.truncate(size)


def _drop_removed(root: Path, shadow: Path) -> None:
    for path in list(_files(shadow)):
        if not os.path.lexists(root / path.relative_to(shadow)):
            path.unlink()


def _leak(root: Path, shadow: Path, leak: Leak) -> int:
    """Only into files that the disk knows already: a file that was never synced stays gone."""
    leaked = 0
    for target in list(_files(shadow)):
        name = str(target.relative_to(shadow))
        source = root / name
        pages = [page for page in _unsynced_pages(source, shadow) if leak(name, page)]
        with source.open("rb") as read, target.open("r+b") as written:
            for page in pages:
                read.seek(page * PAGE)
                written.seek(page * PAGE)
                written.write(read.read(PAGE))
        leaked += len(pages)
    return leaked


def _unsynced_pages(source: Path, shadow: Path) -> list[int]:
    stat = source.stat()
    bitmap = shadow / STATE / f"{stat.st_dev:x}-{stat.st_ino:x}.dirty"
    if not bitmap.exists():
        return []
    pages = -(-stat.st_size // PAGE)
    size = -(-pages // 8)
    with bitmap.open("rb") as opened:
        descriptor = opened.fileno()
        dirty = os.pread(descriptor, size, _DIRTY_AT)
        copying = os.pread(descriptor, size, _COPYING_AT)
    return [page for page in range(pages) if (dirty[page // 8] | copying[page // 8]) >> (page % 8) & 1]


def _compare(root: Path, shadow: Path) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    kept, behind, gone = [], [], []
    for path in sorted(_files(root)):
        name = str(path.relative_to(root))
        twin = shadow / name
        if not twin.is_file():
            gone.append(name)
        elif _same_bytes(path, twin):
            kept.append(name)
        else:
            behind.append(name)
    return tuple(kept), tuple(behind), tuple(gone)


def _same_bytes(one: Path, other: Path) -> bool:
    if one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as first, other.open("rb") as second:
        while chunk := first.read(1 << 20):
            if chunk != second.read(1 << 20):
                return False
    return True


def _become(shadow: Path, root: Path) -> None:
    """Built beside the root and then renamed, so that a half-made disk is never taken for a whole one."""
    fresh = root.with_name(root.name + ".powercut")
    if fresh.exists():
        shutil.rmtree(fresh)
    _copy_tree(shadow, fresh)
    shutil.copymode(root, fresh)
    shutil.rmtree(root)
    fresh.rename(root)


def _forget(shadow: Path) -> None:
    """The new root's files are other inodes: what was noted about the old ones must not meet them."""
    for path in (shadow / STATE).iterdir():
        if path.name != "alive":
            path.unlink()


def _copy_tree(source: Path, target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    for folder in _folders_below(source):
        (target / folder.relative_to(source)).mkdir(exist_ok=True)
        shutil.copymode(folder, target / folder.relative_to(source))
    for path in _files(source):
        shutil.copy2(path, target / path.relative_to(source), follow_symlinks=False)


def _folders_below(base: Path) -> Iterator[Path]:
    for folder, names, _ in os.walk(base):
        names[:] = [name for name in names if Path(folder, name) != base / STATE]
        yield from (Path(folder, name) for name in names)


def _files(base: Path) -> Iterator[Path]:
    """Regular files only: sockets and pipes do not outlive their processes, and who opens first rebuilds `-shm`."""
    for folder in (base, *_folders_below(base)):
        for entry in os.scandir(folder):
            if entry.is_file(follow_symlinks=False) and not entry.name.endswith("-shm"):
                yield Path(entry.path)
