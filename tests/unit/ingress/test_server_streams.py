"""Whatever the network does to a stream, and whatever stands in it: the same requests, or one refusal, nothing kept."""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from procession.ingress import refusals
from procession.ingress.asgi_types import Scope
from procession.ingress.house import House
from procession.ingress.http_limits import HttpLimits
from procession.ingress.request_reader import Reading, RequestReader

LIMITS: Final = HttpLimits(head_bytes_max=300, head_fields_max=8, body_bytes_max=200, body_small_bytes=20)
PLAIN: Final = b"POST /plain?q HTTP/1.1\r\nHost: h\r\nContent-Length: 60\r\nX-Empty:\r\n\r\n" + b"a" * 60
CHUNKED: Final = (
    b"POST /chunked HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"1e;note\r\n" + b"b" * 30 + b"\r\n2\r\ncd\r\n0\r\nX-Trailer: t\r\n\r\n"
)
BARE: Final = b"GET /bare HTTP/1.1\r\nHost: h\r\n\r\n"
LAST: Final = b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
WRONG: Final = b"GET /wrong HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n"
KINDS: Final = (PLAIN, CHUNKED, BARE, LAST, WRONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Listener:
    house: House[str] = field(default_factory=lambda: House(LIMITS, lambda: None))
    heard: list[tuple[str, bytes]] = field(default_factory=list)

    def head_begun(self) -> None:
        pass

    def head_read(self) -> None:
        pass

    def request_read(self, scope: Scope, body: bytes | bytearray, *, room: int, closes: bool) -> bytes | None:
        self.house.give_back(room)
        self.heard.append((str(scope["path"]), bytes(body)))
        return None

    def refused(self, refusal: bytes) -> None:
        self.heard.append(("refused", refusal[9:12]))

    @property
    def refused_at_most_last(self) -> bool:
        return "refused" not in [path for path, _ in self.heard[:-1]]

    @property
    def holds_nothing(self) -> bool:
        """All of the shared room can be had, and not a byte more."""
        whole = LIMITS.bodies_bytes_max
        return self.house.take_room(whole) and not self.house.take_room(1)


def read(pieces: list[bytes]) -> Listener:
    listener = Listener()
    reader = RequestReader(listener, listener.house, LIMITS)
    for piece in pieces:
        if reader.reading is not Reading.DEAF:
            reader.feed(piece)
    reader.let_go()
    return listener


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    marks = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(marks) if start < end]


def test_a_stream_in_one_piece_is_read() -> None:
    heard = read([PLAIN + CHUNKED + BARE + LAST + BARE]).heard

    assert heard == [("/plain", b"a" * 60), ("/chunked", b"b" * 30 + b"cd"), ("/bare", b""), ("/last", b"")]


def test_requests_before_it_in_the_same_piece_do_not_count_as_bytes_of_a_head() -> None:
    many = LIMITS.head_bytes_max // len(BARE) + 1

    assert read([BARE * many + BARE[:-1], BARE[-1:]]).heard == [("/bare", b"")] * (many + 1)


@given(st.lists(st.sampled_from(KINDS), min_size=1, max_size=5), st.lists(st.integers(0, 10_000), max_size=30))
def test_where_a_stream_is_cut_changes_nothing(kinds: list[bytes], places: list[int]) -> None:
    stream = b"".join(kinds)

    whole, parts = read([stream]), read(cut(stream, places))

    assert parts.heard == whole.heard
    assert parts.holds_nothing


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_may_come_byte_by_byte(kind: bytes) -> None:
    stream = PLAIN + kind + BARE

    assert read([bytes([byte]) for byte in stream]).heard == read([stream]).heard


@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=3),
    st.lists(st.tuples(st.integers(0, 10_000), st.binary(max_size=4)), min_size=1, max_size=4),
    st.lists(st.integers(0, 10_000), max_size=8),
)
@example([CHUNKED], [(70, b"ffffffff")], [])
def test_bent_bytes_end_in_requests_and_at_most_one_refusal(
    kinds: list[bytes], bends: list[tuple[int, bytes]], places: list[int]
) -> None:
    stream = bytearray(b"".join(kinds))
    for place, bytes_ in bends:
        start = place % len(stream)
        stream[start : start + len(bytes_)] = bytes_

    listener = read(cut(bytes(stream), places))

    assert listener.refused_at_most_last
    assert all(len(body) <= LIMITS.body_bytes_max for _, body in listener.heard)
    assert listener.holds_nothing


@given(st.lists(st.binary(max_size=80), max_size=20))
def test_noise_is_refused_or_waited_for(pieces: list[bytes]) -> None:
    listener = read(pieces)

    assert listener.refused_at_most_last
    assert listener.holds_nothing


@pytest.mark.parametrize("name", [name for name in vars(refusals) if name.isupper() and name != "CONTINUE"])
def test_every_refusal_is_one_whole_last_answer(name: str) -> None:
    value: bytes = getattr(refusals, name)
    head, _, body = value.partition(b"\r\n\r\n")

    assert head.startswith(b"HTTP/1.1 ")
    assert b"\r\ncontent-length: %d\r\n" % len(body) in head
    assert b"\r\nconnection: close" in head
