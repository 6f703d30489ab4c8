from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from procession.ports.wire import Answered, NotSent, Unsent, WireRequest
from procession.runtime.wire.payload import write_payload
from procession.runtime.wire.target import Target, read_url


def asked(method: str = "POST", headers: tuple[tuple[str, str], ...] = (), body: bytes = b"") -> bytes | NotSent:
    url = "https://api.test/x?y"
    target = read_url(url)
    assert isinstance(target, Target)
    return write_payload(
        WireRequest(method=method, url=url, headers=headers, body=body, deadline=timedelta(seconds=1)), target
    )


def test_a_request_is_written_whole() -> None:
    assert asked(headers=(("A", "b: c\t"), ("a", "")), body=b"\r\n\x00") == (
        b"POST /x?y HTTP/1.1\r\nhost: api.test\r\naccept-encoding: identity\r\n"
        b"A: b: c\t\r\na: \r\ncontent-length: 3\r\n\r\n\r\n\x00"
    )


@pytest.mark.parametrize(("method", "has_length"), [("GET", False), ("DELETE", False), ("POST", True), ("PUT", True)])
def test_an_empty_body_has_a_length_where_a_body_is_expected(method: str, has_length: bool) -> None:
    payload = asked(method)

    assert isinstance(payload, bytes)
    assert (b"content-length: 0\r\n" in payload) is has_length


@pytest.mark.parametrize(
    "method", ["", "post", "CONNECT", "TRACE", "GET /evil HTTP/1.1\r\nx: y\r\n\r\nPOST", "GET\x00"]
)
def test_a_method_that_changes_what_follows_is_refused(method: str) -> None:
    assert asked(method) == NotSent(reason=Unsent.HEADERS_REFUSED, detail="method")


@pytest.mark.parametrize(
    "value", ["a\r\nb: c", "a\rb", "a\nb", "a\n", "a\x00", "a\x0b", "a\x7f", "ä", "a\u2028", "x" * 20_000]
)
def test_a_value_that_could_end_its_line_is_refused_and_not_quoted(value: str) -> None:
    assert asked(headers=(("x-token", value),)) == NotSent(reason=Unsent.HEADERS_REFUSED, detail="x-token")


@pytest.mark.parametrize("name", ["", "a b", "a:", "a\r\n", " a", "ä", "a\x00", "x" * 300])
def test_a_name_that_is_no_token_is_refused(name: str) -> None:
    assert asked(headers=((name, "b"),)) == NotSent(reason=Unsent.HEADERS_REFUSED, detail="a header's name")


@pytest.mark.parametrize(
    "name", ["Host", "CONTENT-LENGTH", "transfer-encoding", "Connection", "Accept-Encoding", "expect", "Upgrade", "TE"]
)
def test_the_headers_that_frame_the_exchange_are_the_wires_own(name: str) -> None:
    assert asked(headers=((name, "b"),)) == NotSent(reason=Unsent.HEADERS_REFUSED, detail=name)


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=12)), max_size=4))
def test_no_header_makes_more_lines_than_itself(headers: list[tuple[str, str]]) -> None:
    payload = asked("GET", tuple(headers))

    if isinstance(payload, bytes):
        assert payload.count(b"\r\n") == payload.count(b"\n") == payload.count(b"\r") == len(headers) + 4


def test_no_repr_shows_what_may_be_secret() -> None:
    shown = repr(
        WireRequest(
            method="POST",
            url="https://api.test/s3cret",
            headers=(("authorization", "s3cret"),),
            body=b"s3cret",
            deadline=timedelta(seconds=1),
        )
    ) + repr(Answered(status=200, headers=(("set-cookie", "s3cret"),), body=b"s3cret"))

    assert "s3cret" not in shown
