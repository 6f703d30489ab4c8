"""A master key that is never here: a program of the operator's wraps data keys, at a KMS or wherever the key is.

It is called as `COMMAND wrap` and `COMMAND unwrap`, gets one line of base64 on standard input, answers one on standard
output, and ends with 0. What it wraps is the data key with a digest of where the key belongs, so that what was wrapped
for one tenant does not unwrap for another, whatever the program's own encryption can bind. (ADR 7)
"""

import base64
import binascii
import hmac
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from procession.core.errors import Misconfigured
from procession.core.limits import OPEN_KEY_TTL, OPEN_KEYS_MAX
from procession.ports.clock import Clock
from procession.vault.envelope import KEY_BYTES, WrongKey, placed

COMMAND: Final = "PROCESSION_MASTER_KEY_COMMAND"
_VERSION: Final = b"\x02"
"""Of a box: another than that of the boxes that are sealed here."""
_TTL_S: Final = OPEN_KEY_TTL.total_seconds()

Run = Callable[[str, bytes], Awaitable[bytes]]
"""Run the program: its verb, and its standard input; answers its standard output. Raises Misconfigured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    key: bytes = field(repr=False)
    until: float


class CommandKey:
    """`ports.vault.KeyWrap`. What was unwrapped is kept for a while: a send must not wait for a program."""

    def __init__(self, run: Run, clock: Clock) -> None:
        self.origin = f"program {COMMAND}"
        self._run = run
        self._clock = clock
        self._kept: OrderedDict[bytes, _Kept] = OrderedDict()

    def wrapped(self, box: bytes) -> bool:
        return box[:1] == _VERSION

    async def wrap(self, key: bytes, place: tuple[str, ...]) -> bytes:
        wrapped = await self._ask("wrap", key + _digest(place))
        if key in wrapped:
            raise Misconfigured(f"{COMMAND} wrap answers the key itself: it does not wrap")
        return _VERSION + wrapped

    async def unwrap(self, box: bytes, place: tuple[str, ...]) -> bytes:
        name = sha256(placed((*place, box.hex()))).digest()
        kept = self._kept.get(name)
        if kept is not None and self._clock.monotonic() < kept.until:
            return kept.key
        plain = await self._ask("unwrap", box[1:])
        key, digest = plain[:KEY_BYTES], plain[KEY_BYTES:]
        if not hmac.compare_digest(digest, _digest(place)):
            raise WrongKey(f"{COMMAND} unwrap: this is no key of ours, or belongs to another tenant or version")
        self._keep(name, key)
        return key

    def _keep(self, name: bytes, key: bytes) -> None:
        self._kept[name] = _Kept(key=key, until=self._clock.monotonic() + _TTL_S)
        self._kept.move_to_end(name)
        while len(self._kept) > OPEN_KEYS_MAX:
            self._kept.popitem(last=False)

    async def _ask(self, verb: str, plain: bytes) -> bytes:
        said = await self._run(verb, base64.b64encode(plain) + b"\n")
        try:
            answer = base64.b64decode(said.strip(), validate=True)
        except (binascii.Error, ValueError):
            answer = b""
        if not answer:
            # Not what it said: that may be a key.
            raise Misconfigured(f"{COMMAND} {verb} did not answer one line of base64")
        return answer


def _digest(place: tuple[str, ...]) -> bytes:
    return sha256(b"procession data key" + placed(place)).digest()
