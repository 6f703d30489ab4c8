"""The master key: from the environment, or from a file that the embedded default makes on its first run."""

import base64
import binascii
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from procession.core.errors import Misconfigured
from procession.ports.chance import Chance
from procession.vault.envelope import KEY_BYTES

VARIABLE: Final = "PROCESSION_MASTER_KEY"


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterKey:
    key: bytes = field(repr=False)
    origin: str
    """Where it came from, for `procession config`."""


def master_key_from(environment: Mapping[str, str], path: Path, chance: Chance, *, create: bool) -> MasterKey:
    """The environment's, or the file's; with `create`, a new one in the file if there is neither."""
    if environment.get(VARIABLE):
        return MasterKey(key=_decoded(environment[VARIABLE], VARIABLE), origin=f"environment {VARIABLE}")
    if path.exists():
        return MasterKey(key=_read(path), origin=f"file {path}")
    if not create:
        raise Misconfigured(f"no master key: set {VARIABLE}, or put it into {path} (mode 0600)")
    _create(path, chance.token(KEY_BYTES))
    return MasterKey(key=_read(path), origin=f"file {path}")


def _read(path: Path) -> bytes:
    if path.stat().st_mode & 0o077:
        raise Misconfigured(f"{path} can be read by others: chmod 600 {path}")
    return _decoded(path.read_text("ascii").strip(), str(path))


def _create(path: Path, key: bytes) -> None:
    """Durable before anything is sealed under it: a master key that a power cut takes away takes every secret along."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(base64.b64encode(key) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        # Another process was quicker; its key is the one.
        pass
    finally:
        draft.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _decoded(text: str, origin: str) -> bytes:
    try:
        key = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise Misconfigured(f"{origin} must be {KEY_BYTES} random bytes in base64: `openssl rand -base64 {KEY_BYTES}`")
    return key
