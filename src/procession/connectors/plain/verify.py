"""The HMAC header scheme: a digest of the raw body, in a header, under one of the endpoint's secrets.

signature_header    = "x-signature-256"
signature_prefix    = "sha256="
signature_encoding  = "hex"             # or "base64"
signature_algorithm = "sha256"          # or "sha512", "sha1" (for old sources that offer nothing better)
"""

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from procession.core.errors import Misconfigured
from procession.core.limits import SECRET_BYTES_MIN
from procession.ports.connector import Delivery
from procession.ports.directory import Setting

SCHEME_SETTINGS: Final = frozenset(
    {"signature_header", "signature_prefix", "signature_encoding", "signature_algorithm"}
)
_ALGORITHMS: Final = ("sha256", "sha512", "sha1")
_ENCODINGS: Final = ("hex", "base64")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheme:
    header: str
    prefix: str
    encoding: str
    algorithm: str


def read_scheme(settings: Mapping[str, Setting]) -> Scheme:
    """`Misconfigured`, if a setting is wrong."""
    scheme = Scheme(
        header=str(settings.get("signature_header", "x-signature-256")).lower(),
        prefix=str(settings.get("signature_prefix", "sha256=")),
        encoding=str(settings.get("signature_encoding", "hex")),
        algorithm=str(settings.get("signature_algorithm", "sha256")),
    )
    if scheme.algorithm not in _ALGORITHMS:
        raise Misconfigured(f"signature_algorithm = {scheme.algorithm!r}: it must be one of {', '.join(_ALGORITHMS)}")
    if scheme.encoding not in _ENCODINGS:
        raise Misconfigured(f"signature_encoding = {scheme.encoding!r}: it must be one of {', '.join(_ENCODINGS)}")
    return scheme


def verify_hmac(scheme: Scheme, secrets: Sequence[bytes], delivery: Delivery) -> str | None:
    """None: good under one of the secrets. The compared values are bytes of decoded digests, in constant time."""
    usable = [secret for secret in secrets if len(secret) >= SECRET_BYTES_MIN]
    if not usable:
        return "the endpoint has no usable signing secret"
    said = delivery.header(scheme.header)
    if said is None:
        return f"no single header {scheme.header}"
    digest = _decoded(scheme, said)
    if digest is None:
        return f"header {scheme.header} is not of the form {scheme.prefix}<{scheme.encoding}>"
    good = False
    for secret in usable:
        good |= hmac.compare_digest(hmac.digest(secret, delivery.body, scheme.algorithm), digest)
    return None if good else "the signature does not fit the body"


def _decoded(scheme: Scheme, said: str) -> bytes | None:
    if not said.startswith(scheme.prefix):
        return None
    text = said.removeprefix(scheme.prefix)
    try:
        if scheme.encoding == "hex":
            return bytes.fromhex(text) if text.isalnum() else None
        return base64.b64decode(text.encode("ascii"), validate=True)
    except (ValueError, binascii.Error):
        return None
