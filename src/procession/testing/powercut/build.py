"""Builds the power-cut shim at need, with the compiler of the machine, into a cache folder."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).with_name("shadow.c")
COMPILERS = ("cc", "gcc", "clang")
FLAGS = ("-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-pthread")
COMPILER_SECONDS_MAX = 60.0


class PowercutUnavailable(Exception):
    """Power cuts cannot be simulated on this machine; the text says what to install or to change."""


@cache
def build_shim() -> Path:
    """The compiled shim; built once for each version of its source and compiler.

    Raises PowercutUnavailable, with what to do about it.
    """
    if not sys.platform.startswith("linux") or sys.maxsize < 2**32:
        raise PowercutUnavailable("Simulated power cuts need 64-bit Linux, because the shim is a preload library.")
    compiler = _compiler(os.environ)
    built = _cache_folder(os.environ) / f"shadow-{_fingerprint(compiler)}.so"
    if not built.exists():
        _compile(compiler, built)
    return built


def _compiler(environ: Mapping[str, str]) -> str:
    for name in (environ.get("CC", ""), *COMPILERS):
        found = shutil.which(name) if name else None
        if found:
            return found
    raise PowercutUnavailable(
        "Simulated power cuts need a C compiler, and none of cc, gcc, clang or $CC was found. "
        "Install one (Debian and Ubuntu: apt-get install gcc libc6-dev; Fedora: dnf install gcc; "
        "Alpine: apk add gcc musl-dev)."
    )


def _cache_folder(environ: Mapping[str, str]) -> Path:
    """A folder of this user's own: what is preloaded into other processes must not be another's to write."""
    base = environ.get("XDG_CACHE_HOME") or str(Path(environ.get("HOME") or "~").expanduser() / ".cache")
    folder = Path(base) / "procession" / "powercut"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        usable = os.access(folder, os.W_OK) and folder.stat().st_uid == os.geteuid()
    except OSError:
        usable = False
    if not usable:
        folder = Path(tempfile.mkdtemp(prefix="procession-powercut-"))
    if any(separator in str(folder) for separator in (" ", ":")):
        raise PowercutUnavailable(
            f"LD_PRELOAD cannot name a file in {str(folder)!r}, because its path holds a space or a colon. "
            "Set XDG_CACHE_HOME to a folder without them."
        )
    return folder


def _fingerprint(compiler: str) -> str:
    stat = Path(compiler).resolve().stat()
    parts = (SOURCE.read_bytes(), " ".join(FLAGS).encode(), f"{compiler} {stat.st_size} {stat.st_mtime_ns}".encode())
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]


def _compile(compiler: str, built: Path) -> None:
    """Beside its place first, then renamed: another process may build, or load, at the same moment."""
    handle, unfinished = tempfile.mkstemp(dir=built.parent, suffix=".so.part")
    os.close(handle)
    try:
        done = subprocess.run(  # noqa: S603  # the compiler that the operator's own PATH or CC names
            [compiler, *FLAGS, "-o", unfinished, str(SOURCE)],
            capture_output=True,
            text=True,
            timeout=COMPILER_SECONDS_MAX,
            check=False,
        )
        if done.returncode != 0:
            raise PowercutUnavailable(
                f"{compiler} could not build the power-cut shim. Often the C library's headers are missing "
                f"(Debian and Ubuntu: apt-get install libc6-dev). It said:\n{done.stderr.strip()}"
            )
        Path(unfinished).replace(built)
    except (OSError, subprocess.TimeoutExpired) as broken:
        raise PowercutUnavailable(f"{compiler} could not be run to build the power-cut shim: {broken}") from broken
    finally:
        Path(unfinished).unlink(missing_ok=True)
