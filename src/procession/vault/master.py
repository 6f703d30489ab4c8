"""Master keys: from the environment, from a program that has them, or from a file that the embedded default makes.

Which one wraps what is new: PROCESSION_MASTER_KEY, else PROCESSION_MASTER_KEY_COMMAND, else the file. Whatever else of
these is there, and PROCESSION_MASTER_KEY_OLD, still unwraps: so one can be moved from each to each other by `procession
secret rotate --master`, and nothing is ever wrapped by a key that is on its way out.

The file has a key a line, the newest first. It is replaced as a whole: while a rotation runs it holds both keys, and
whatever stops the process, the file and the rows fit together.
"""

import base64
import binascii
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from procession.core.errors import BadRequest, Misconfigured
from procession.ports.chance import Chance
from procession.ports.vault import KeyWrap, Masters
from procession.vault.envelope import KEY_BYTES, NONCE_BYTES, is_sealed_by, open_box, seal

VARIABLE: Final = "PROCESSION_MASTER_KEY"
OLD: Final = "PROCESSION_MASTER_KEY_OLD"
_NOT_OURS: Final = (
    f"this master key is not ours to make: let {VARIABLE} hold the new one and {OLD} the one of now, start again, and "
    f"ask again; {OLD} is not needed after that"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterKey:
    """`ports.vault.KeyWrap` with the key in this process."""

    key: bytes = field(repr=False)
    origin: str
    """Where it came from."""
    chance: Chance = field(repr=False)

    def wrapped(self, box: bytes) -> bool:
        return is_sealed_by(self.key, box)

    async def wrap(self, key: bytes, place: tuple[str, ...]) -> bytes:
        return seal(self.key, self.chance.token(NONCE_BYTES), key, place)

    async def unwrap(self, box: bytes, place: tuple[str, ...]) -> bytes:
        return open_box(self.key, box, place)


class GivenMasters:
    """`ports.vault.Masters` that somebody else makes and takes away."""

    def __init__(self, *wraps: KeyWrap) -> None:
        assert wraps
        self.wraps = wraps

    @property
    def is_renewing(self) -> bool:
        return len(self.wraps) > 1

    def renew(self) -> None:
        raise BadRequest(_NOT_OURS)

    def retire(self) -> None:
        """They go when the process is started without them."""


class OwnMasters:
    """`ports.vault.Masters` that we make ourselves; `keep` writes them down before they are used."""

    def __init__(
        self,
        keys: Sequence[bytes],
        keep: Callable[[Sequence[bytes]], None],
        chance: Chance,
        *,
        origin: str,
        others: tuple[KeyWrap, ...] = (),
    ) -> None:
        self._keys = tuple(keys)
        self._keep = keep
        self._chance = chance
        self._origin = origin
        self._others = others

    @property
    def wraps(self) -> tuple[KeyWrap, ...]:
        own = [MasterKey(key=key, origin=self._origin, chance=self._chance) for key in self._keys]
        return (*own, *self._others)

    @property
    def is_renewing(self) -> bool:
        return len(self._keys) > 1

    def renew(self) -> None:
        self._change((self._chance.token(KEY_BYTES), *self._keys))

    def retire(self) -> None:
        if self.is_renewing:
            self._change(self._keys[:1])

    def _change(self, keys: tuple[bytes, ...]) -> None:
        self._keep(keys)
        self._keys = keys


def drawn_masters(chance: Chance) -> OwnMasters:
    """For a store that keeps nothing: what it seals does not outlive this process, so neither do they."""
    return OwnMasters((chance.token(KEY_BYTES),), lambda _: None, chance, origin="drawn for this process")


def masters_from(
    environment: Mapping[str, str], path: Path, chance: Chance, *, command: KeyWrap | None = None, create: bool
) -> Masters:
    """See the head of this file. With `create`, a new key in the file if there is none anywhere."""
    given = [_given(environment, VARIABLE, chance), command, _given(environment, OLD, chance)]
    newest, others = given[:2], tuple(wrap for wrap in given if wrap is not None)
    origin = f"file {path}"
    if any(newest):
        kept = _read(path) if path.exists() else ()
        return GivenMasters(*others, *(MasterKey(key=key, origin=origin, chance=chance) for key in kept))
    if not path.exists():
        if not create:
            raise Misconfigured(
                f"the master key is not there, but secrets are sealed under it: put it back into {path} (mode 0600) or "
                f"into {VARIABLE}. Nothing was changed"
            )
        _create(path, chance.token(KEY_BYTES))
    return OwnMasters(_read(path), lambda keys: _replace(path, keys), chance, origin=origin, others=others)


def _given(environment: Mapping[str, str], variable: str, chance: Chance) -> MasterKey | None:
    text = environment.get(variable)
    if not text:
        return None
    return MasterKey(key=_decoded(text, variable), origin=f"environment {variable}", chance=chance)


# --- the file ---


def _read(path: Path) -> tuple[bytes, ...]:
    if path.stat().st_mode & 0o077:
        raise Misconfigured(f"{path} can be read by others: chmod 600 {path}")
    lines = path.read_text("ascii", "replace").split() or [""]
    return tuple(_decoded(line, str(path)) for line in lines)


def _create(path: Path, key: bytes) -> None:
    """Durable before anything is sealed under it: a master key that a power cut takes away takes every secret along."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = _draft(path, (key,))
    try:
        os.link(draft, path)
    except FileExistsError:
        # Another process was quicker; its key is the one.
        pass
    finally:
        draft.unlink()
    _sync_folder(path)


def _replace(path: Path, keys: Sequence[bytes]) -> None:
    _draft(path, keys).replace(path)
    _sync_folder(path)


def _draft(path: Path, keys: Sequence[bytes]) -> Path:
    draft = path.with_name(f"{path.name}.{os.getpid()}.new")
    # Of an earlier process with our number, as the first of each container has it: it died while it wrote.
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(base64.b64encode(key) + b"\n" for key in keys)
        file.flush()
        os.fsync(file.fileno())
    return draft


def _sync_folder(path: Path) -> None:
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
