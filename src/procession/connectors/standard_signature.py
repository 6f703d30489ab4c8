"""Standard Webhooks signatures: `v1,<base64 of HMAC-SHA256(secret, id.timestamp.body)>`.

Made for what we send, checked for what we get.
"""

import base64
import binascii
import hmac
from typing import Final

from procession.core.limits import SECRET_BYTES_MIN

_PREFIX: Final = b"whsec_"


def key_of(secret: bytes) -> bytes | None:
    """The key that a secret stands for: `whsec_<base64>` as it is shown by providers, or the bytes themselves.

    None: too short to be used.
    """
    key = secret
    if secret.startswith(_PREFIX):
        try:
            key = base64.b64decode(secret.removeprefix(_PREFIX), validate=True)
        except binascii.Error:
            return None
    return key if len(key) >= SECRET_BYTES_MIN else None


def signature(key: bytes, own_id: str, timestamp: str, body: bytes) -> bytes:
    signed = b"%s.%s.%s" % (own_id.encode("latin-1"), timestamp.encode("latin-1"), body)
    return hmac.digest(key, signed, "sha256")


def signature_header(key: bytes, own_id: str, timestamp: str, body: bytes) -> str:
    return "v1," + base64.b64encode(signature(key, own_id, timestamp, body)).decode("ascii")
