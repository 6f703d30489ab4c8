"""What ingress answers. After a good signature nothing is answered 4xx: what cannot be used is kept, with 200."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    status: int
    body: bytes = b""
    content_type: bytes = b"text/plain; charset=utf-8"
    retry_after: int | None = None
    """Seconds."""
    headers: tuple[tuple[bytes, bytes], ...] = ()


RETRY_AFTER_SECONDS: Final = 5
"""The store is back within seconds or it is an outage: either way the provider's own schedule goes on from there."""

KEPT: Final = HttpAnswer(status=200, body=b"ok\n")
NO_SUCH_PAGE: Final = HttpAnswer(status=404, body=b"nothing here\n")
NO_SUCH_ENDPOINT: Final = HttpAnswer(status=404, body=b"no such endpoint\n")
WRONG_METHOD: Final = HttpAnswer(status=405, body=b"only POST\n", headers=((b"allow", b"GET, POST"),))
TOO_LARGE: Final = HttpAnswer(status=413, body=b"the body is too large\n")
WRONG_TYPE: Final = HttpAnswer(status=415, body=b"only application/json, not encoded\n")
NOT_SIGNED: Final = HttpAnswer(status=401, body=b"the signature is missing or wrong\n")
AWAY: Final = HttpAnswer(status=503, body=b"not kept: try again\n", retry_after=RETRY_AFTER_SECONDS)
HEALTHY: Final = HttpAnswer(status=200, body=b"ok\n")
NOT_READY: Final = HttpAnswer(status=503, body=b"not ready\n", retry_after=1)
