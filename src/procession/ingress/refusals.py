"""What the server answers by itself, before or instead of the application. The connection ends with each of them."""

from http import HTTPStatus


def _refusal(status: HTTPStatus, text: str, *fields: bytes) -> bytes:
    body = text.encode() + b"\n"
    lines = (
        b"HTTP/1.1 %d %s" % (status.value, status.phrase.encode()),
        b"content-type: text/plain; charset=utf-8",
        b"content-length: %d" % len(body),
        b"connection: close",
        *fields,
    )
    return b"\r\n".join(lines) + b"\r\n\r\n" + body


MALFORMED = _refusal(HTTPStatus.BAD_REQUEST, "not a well-formed HTTP/1.1 request")
HOST_WRONG = _refusal(HTTPStatus.BAD_REQUEST, "exactly one Host field is needed")
FRAMING_WRONG = _refusal(HTTPStatus.BAD_REQUEST, "the length of the body is not said clearly")
UPGRADE = _refusal(HTTPStatus.BAD_REQUEST, "only plain HTTP/1.1 is spoken here: no Upgrade, no CONNECT")
EXPECTATION = _refusal(HTTPStatus.EXPECTATION_FAILED, "only 100-continue can be expected")
TOO_SLOW = _refusal(HTTPStatus.REQUEST_TIMEOUT, "the request did not arrive in time")
HEAD_TOO_LARGE = _refusal(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the head of the request is too large")
BODY_TOO_LARGE = _refusal(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the body of the request is too large")
FAULT = _refusal(HTTPStatus.INTERNAL_SERVER_ERROR, "the server could not answer this")
OVERDUE = _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "no answer in time", b"retry-after: 5")
FULL = _refusal(HTTPStatus.SERVICE_UNAVAILABLE, "too much at once", b"retry-after: 5")
VERSION = _refusal(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED, "only HTTP/1.1 and HTTP/1.0 are spoken here")

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
