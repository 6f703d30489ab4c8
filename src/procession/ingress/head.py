"""The head of a request: what of it is refused, and what the application is told of it. Pure.

The parser is strict about the grammar (no bare line feed, no folded field, no space before a colon, no length said
twice or beside chunks). What matters for framing is looked at here once more, so that a laxer parser cannot open a
door for smuggling.
"""

from typing import Final
from urllib.parse import unquote

import httptools

from procession.ingress import refusals
from procession.ingress.asgi_types import Headers
from procession.ingress.http_limits import HttpLimits

VERSIONS: Final = ("1.1", "1.0")
ONCE: Final = frozenset({b"host", b"content-length", b"transfer-encoding", b"expect"})
FIELD_OVERHEAD: Final = 4
"""The colon, the space and the line end of each field count as bytes of the head."""


def refusal_of(version: str, target: bytes, headers: Headers, limits: HttpLimits) -> bytes | None:
    """Why this head is not served, as the answer to it; None: it is served."""
    if version not in VERSIONS:
        return refusals.VERSION
    head_bytes = len(target)
    seen: dict[bytes, bytes] = {}
    for name, value in headers:
        head_bytes += len(name) + len(value) + FIELD_OVERHEAD
        if name in ONCE:
            if name in seen:
                return refusals.HOST_WRONG if name == b"host" else refusals.FRAMING_WRONG
            seen[name] = value
    if head_bytes > limits.head_bytes_max:
        return refusals.HEAD_TOO_LARGE
    if b"host" not in seen and version == "1.1":
        return refusals.HOST_WRONG
    if b"expect" in seen and seen[b"expect"].lower() != b"100-continue":
        return refusals.EXPECTATION
    return _framing_refusal(version, seen, limits)


def _framing_refusal(version: str, seen: dict[bytes, bytes], limits: HttpLimits) -> bytes | None:
    length = seen.get(b"content-length")
    coding = seen.get(b"transfer-encoding")
    if coding is not None and (length is not None or version != "1.1" or coding.lower() != b"chunked"):
        return refusals.FRAMING_WRONG
    if length is None:
        return None
    if not length.isdigit():
        return refusals.FRAMING_WRONG
    return refusals.BODY_TOO_LARGE if int(length) > limits.body_bytes_max else None


def place_of(target: bytes) -> tuple[str, bytes, bytes] | None:
    """Path, raw path and query of a request's target; None: it is none that is served."""
    if target[:1] == b"/":
        raw_path, _, query = target.partition(b"?")
    elif target == b"*":
        raw_path, query = target, b""
    else:
        try:
            url = httptools.parse_url(target)
        except httptools.HttpParserInvalidURLError:
            return None
        raw_path, query = url.path or b"/", url.query or b""
    if b"#" in target or not target.isascii():
        return None
    path = raw_path.decode("ascii")
    return unquote(path) if "%" in path else path, raw_path, query
