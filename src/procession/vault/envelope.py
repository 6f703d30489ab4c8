"""A box: bytes sealed under a key and bound to where they belong.

    1 byte version | 8 bytes key check | 12 bytes nonce | AES-256-GCM ciphertext and tag

GCM alone does not commit to its key: a box can be made that opens under two. The key check, a short MAC of the key, is
part of the bound data, names the right key before anything is decrypted, and gives a clear error when the master key
is wrong.
"""

import hmac
from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from procession.core.errors import Misconfigured

KEY_BYTES: Final = 32
NONCE_BYTES: Final = 12
_VERSION: Final = b"\x01"
_CHECK_BYTES: Final = 8


class WrongKey(Misconfigured):
    """The box was sealed under another key, or belongs elsewhere, or was changed."""


def seal(key: bytes, nonce: bytes, plain: bytes, place: tuple[str, ...]) -> bytes:
    """`nonce` must never be used twice under the key: it is drawn at random, and a key seals few boxes (SEALS_MAX)."""
    assert len(key) == KEY_BYTES
    assert len(nonce) == NONCE_BYTES
    head = _VERSION + key_check(key)
    return head + nonce + AESGCM(key).encrypt(nonce, plain, _bound(head, place))


def open_box(key: bytes, box: bytes, place: tuple[str, ...]) -> bytes:
    head, nonce = box[: 1 + _CHECK_BYTES], box[1 + _CHECK_BYTES : 1 + _CHECK_BYTES + NONCE_BYTES]
    if head[:1] != _VERSION or len(nonce) < NONCE_BYTES:
        raise WrongKey("this was not sealed by a vault of this version")
    if not hmac.compare_digest(head[1:], key_check(key)):
        raise WrongKey("this was sealed under another key")
    try:
        return AESGCM(key).decrypt(nonce, box[1 + _CHECK_BYTES + NONCE_BYTES :], _bound(head, place))
    except InvalidTag:
        raise WrongKey("this was changed, or belongs to another tenant, name or version") from None


def is_sealed_by(key: bytes, box: bytes) -> bool:
    """Told by the box's head: nothing is opened."""
    return box[:1] == _VERSION and hmac.compare_digest(box[1 : 1 + _CHECK_BYTES], key_check(key))


def key_check(key: bytes) -> bytes:
    return hmac.digest(key, b"procession key check", "sha256")[:_CHECK_BYTES]


def fingerprint(key: bytes, plain: bytes) -> str:
    """Tells two secrets of a tenant apart and reveals neither: it is keyed, so that it cannot be guessed at."""
    return hmac.digest(key, b"procession fingerprint" + sha256(plain).digest(), "sha256").hex()[:12]


def _bound(head: bytes, place: tuple[str, ...]) -> bytes:
    return head + placed(place)


def placed(place: tuple[str, ...]) -> bytes:
    """A place as bytes: no two places have the same."""
    return b"".join(b"%d:%s" % (len(part.encode()), part.encode()) for part in place)
