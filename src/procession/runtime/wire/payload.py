"""A request's bytes, complete before the first of them is written."""

import re
from typing import Final

from procession.ports.wire import NotSent, Unsent, WireRequest
from procession.runtime.wire.target import Target

METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
"""Not CONNECT and TRACE: they change what the bytes after them mean."""
_BODILESS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS"})

_OURS: Final = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-length",
        "expect",
        "host",
        "http2-settings",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
"""They frame the exchange: a second spelling of one of them is how requests are smuggled."""

_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}", re.ASCII)
_VALUE: Final = re.compile(r"[\t\x20-\x7e]{0,16384}", re.ASCII)
_LINES_MAX: Final = 128


def write_payload(request: WireRequest, target: Target) -> bytes | NotSent:
    """The whole request, or why it cannot stand on the wire."""
    if request.method not in METHODS:
        return _refused("method")
    if len(request.headers) > _LINES_MAX:
        return _refused("too many headers")
    lines = [f"{request.method} {target.path} HTTP/1.1\r\nhost: {target.authority}\r\naccept-encoding: identity"]
    for name, value in request.headers:
        if not _NAME.fullmatch(name):
            return _refused("a header's name")
        if name.lower() in _OURS or not _VALUE.fullmatch(value):
            return _refused(name)
        lines.append(f"{name}: {value}")
    if request.body or request.method not in _BODILESS:
        lines.append(f"content-length: {len(request.body)}")
    lines.append("\r\n")
    return "\r\n".join(lines).encode("ascii") + request.body


def _refused(detail: str) -> NotSent:
    return NotSent(reason=Unsent.HEADERS_REFUSED, detail=detail)
