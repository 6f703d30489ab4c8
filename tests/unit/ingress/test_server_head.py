"""The head of a request, checked once more behind the parser: a laxer parser must not open a house."""

import pytest

from procession.ingress import refusals
from procession.ingress.asgi_types import Headers
from procession.ingress.head import place_of, refusal_of
from procession.ingress.http_limits import HttpLimits

LIMITS = HttpLimits(head_bytes_max=100, body_bytes_max=50)
HOST = (b"host", b"h")


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([HOST], None),
        ([HOST, (b"content-length", b"50")], None),
        ([HOST, (b"transfer-encoding", b"Chunked")], None),
        ([HOST, (b"expect", b"100-Continue")], None),
        ([HOST, (b"x-twice", b"1"), (b"x-twice", b"2")], None),
        ([], refusals.HOST_WRONG),
        ([HOST, HOST], refusals.HOST_WRONG),
        ([HOST, (b"content-length", b"51")], refusals.BODY_TOO_LARGE),
        ([HOST, (b"content-length", b"9" * 30)], refusals.BODY_TOO_LARGE),
        ([HOST, (b"content-length", b"1"), (b"content-length", b"1")], refusals.FRAMING_WRONG),
        ([HOST, (b"content-length", b"-1")], refusals.FRAMING_WRONG),
        ([HOST, (b"content-length", b"1 ")], refusals.FRAMING_WRONG),
        ([HOST, (b"content-length", "²".encode())], refusals.FRAMING_WRONG),
        ([HOST, (b"content-length", b"1"), (b"transfer-encoding", b"chunked")], refusals.FRAMING_WRONG),
        ([HOST, (b"transfer-encoding", b"gzip, chunked")], refusals.FRAMING_WRONG),
        ([HOST, (b"transfer-encoding", b"chunked"), (b"transfer-encoding", b"chunked")], refusals.FRAMING_WRONG),
        ([HOST, (b"expect", b"more")], refusals.EXPECTATION),
        ([HOST, (b"x", b"a" * 85)], None),
        ([HOST, (b"x", b"a" * 86)], refusals.HEAD_TOO_LARGE),
    ],
)
def test_a_head_is_served_or_refused(fields: Headers, expected: bytes | None) -> None:
    assert refusal_of("1.1", b"/", fields, LIMITS) == expected


@pytest.mark.parametrize(
    ("version", "fields", "expected"),
    [
        ("1.0", [], None),
        ("1.0", [(b"transfer-encoding", b"chunked")], refusals.FRAMING_WRONG),
        ("0.9", [HOST], refusals.VERSION),
        ("2.0", [HOST], refusals.VERSION),
    ],
)
def test_versions_differ_in_what_they_need(version: str, fields: Headers, expected: bytes | None) -> None:
    assert refusal_of(version, b"/", fields, LIMITS) == expected


@pytest.mark.parametrize(
    ("target", "place"),
    [
        (b"/", ("/", b"/", b"")),
        (b"/hooks/acme?mode=a&b", ("/hooks/acme", b"/hooks/acme", b"mode=a&b")),
        (b"/a%2Fb%20c?d%20e", ("/a/b c", b"/a%2Fb%20c", b"d%20e")),
        (b"/a?b?c", ("/a", b"/a", b"b?c")),
        (b"//evil/path", ("//evil/path", b"//evil/path", b"")),
        (b"/%ff", ("/\N{REPLACEMENT CHARACTER}", b"/%ff", b"")),
        (b"*", ("*", b"*", b"")),
        (b"http://h:80/a?b", ("/a", b"/a", b"b")),
        (b"http://h", ("/", b"/", b"")),
        (b"/a#b", None),
        (b"nowhere", None),
        (b"", None),
        ("/é".encode(), None),
    ],
)
def test_a_target_names_a_place(target: bytes, place: tuple[str, bytes, bytes] | None) -> None:
    assert place_of(target) == place
