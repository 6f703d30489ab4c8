"""The lock on a data folder: one engine at a time."""

import fcntl
import os
from pathlib import Path
from typing import IO

from procession.core.errors import Misconfigured


class FolderInUse(Misconfigured):
    """Another process has it: an engine, or for a moment a command."""


class FolderLock:
    """Held for as long as the process lives: the kernel frees it when the process dies, however it dies."""

    def __init__(self, folder: Path) -> None:
        file = (folder / "lock").open("a+", encoding="ascii")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(file)
            file.close()
            raise FolderInUse(
                f"another engine{holder} uses {folder}: a SQLite store belongs to one engine. Stop that one, choose "
                f"another folder, or use a Postgres store for several engines"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        self._file = file

    def release(self) -> None:
        """Idempotent. The file stays: removing it would let two engines lock two files of one name."""
        self._file.close()


def _holder(file: IO[str]) -> str:
    file.seek(0)
    pid = file.read().strip()
    return f" (process {pid})" if pid.isdigit() else ""
