"""A peer that takes its time is cut, whatever it is slow with, and nobody else notices."""

from collections.abc import Iterator

import pytest

from procession.ingress.http_limits import HttpLimits
from tests.integration.served import LOOPS, SOON, SWEEP, Served, get, good_traffic, post, served

MANY_BYTES = b"a" * 100_000
HEAD = b"POST /any HTTP/1.1\r\nHost: h\r\nX-Long: "


@pytest.fixture(params=LOOPS)
def loop(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def hasty_head(loop: str) -> Iterator[Served]:
    with served(HttpLimits(head_ttl=SOON, sweep_every=SWEEP), loop=loop) as server, good_traffic(server):
        yield server


@pytest.fixture
def hasty_body(loop: str) -> Iterator[Served]:
    with served(HttpLimits(body_ttl=SOON, sweep_every=SWEEP), loop=loop) as server, good_traffic(server):
        yield server


@pytest.fixture
def hasty_request(loop: str) -> Iterator[Served]:
    with served(HttpLimits(request_ttl=SOON, sweep_every=SWEEP), loop=loop) as server, good_traffic(server):
        yield server


@pytest.fixture
def hasty_idle(loop: str) -> Iterator[Served]:
    with served(HttpLimits(idle_ttl=SOON, sweep_every=SWEEP), loop=loop) as server:
        yield server


def test_a_silent_connection_is_closed_without_a_word(hasty_head: Served) -> None:
    with hasty_head.peer() as peer:
        assert peer.rest() == b""


def test_a_peer_that_sends_only_line_ends_is_closed(hasty_head: Served) -> None:
    with hasty_head.peer() as peer:
        sent = peer.drip(b"\r\n" * 10_000)

        assert 3 < sent < 20_000
        assert peer.rest() == b""


def test_a_half_head_is_answered_408_and_cut(hasty_head: Served) -> None:
    with hasty_head.peer() as peer:
        peer.send(HEAD)

        assert peer.answer().status == 408
        assert peer.rest() == b""


def test_a_dripping_head_is_cut_although_bytes_keep_coming(hasty_head: Served) -> None:
    with hasty_head.peer() as peer:
        sent = peer.drip(HEAD + MANY_BYTES)

        assert 3 < sent < len(MANY_BYTES)
        assert peer.answer().status == 408


def test_a_half_head_after_a_good_request_is_cut_too(hasty_head: Served) -> None:
    with hasty_head.peer() as peer:
        assert peer.send(post(b"one")).answer().status == 200

        peer.send(HEAD)

        assert peer.answer().status == 408
        assert peer.rest() == b""


def test_a_half_body_is_answered_408_and_never_reaches_the_application(hasty_body: Served) -> None:
    with hasty_body.peer() as peer:
        peer.send(post(b"0123456789", path="/half-body")[:-5])

        assert peer.answer().status == 408
        assert peer.rest() == b""
    assert not [path for path, _ in hasty_body.app.calls if path == "/half-body"]


def test_a_dripping_body_is_cut_although_bytes_keep_coming(hasty_body: Served) -> None:
    with hasty_body.peer() as peer:
        head = post(MANY_BYTES).removesuffix(MANY_BYTES)
        sent = peer.send(head).drip(MANY_BYTES)

        assert 3 < sent < len(MANY_BYTES)
        assert peer.answer().status == 408


def test_an_endless_chunked_body_is_cut(hasty_body: Served) -> None:
    with hasty_body.peer() as peer:
        peer.send(b"POST /any HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        peer.drip(b"1\r\na\r\n" * 10_000)

        assert peer.answer().status == 408


def test_the_whole_request_has_a_deadline_of_its_own(hasty_request: Served) -> None:
    with hasty_request.peer() as peer:
        peer.send(post(b"0123456789")[:-5])

        assert peer.answer().status == 408


def test_an_application_that_takes_too_long_is_cancelled_and_the_peer_told(hasty_request: Served) -> None:
    with hasty_request.peer() as peer:
        peer.send(get("/hold"))

        told = peer.answer()
        assert told.status == 503
        assert told.fields["retry-after"] == "5"
        assert peer.rest() == b""
    assert hasty_request.app.was_cancelled.wait(20)


def test_a_slow_reader_of_a_long_answer_is_cut_and_the_application_with_it(hasty_request: Served) -> None:
    with hasty_request.peer(receive_buffer=4096) as peer:
        peer.send(get("/flood"))

        assert hasty_request.app.was_cancelled.wait(20)
        hasty_request.wait_for_connections(1)  # the good one's
        assert peer.is_reset()


def test_what_a_slow_reader_does_not_read_is_bounded(hasty_request: Served) -> None:
    with hasty_request.peer(receive_buffer=4096) as peer:
        peer.send(get("/flood"))

        assert hasty_request.app.was_cancelled.wait(20)
        # The kernel's buffers hold some megabytes; without a bound it would be all that memory has.
        assert hasty_request.app.written < 16_000_000


def test_a_slow_reader_of_an_answer_that_is_written_already_is_cut(hasty_request: Served) -> None:
    with hasty_request.peer(receive_buffer=4096) as peer:
        peer.send(get("/blob/30000000"))

        hasty_request.wait_for_connections(1)


def test_an_idle_connection_is_closed(hasty_idle: Served) -> None:
    with hasty_idle.peer() as peer:
        assert peer.send(post(b"one")).answer().status == 200

        assert peer.rest() == b""


def test_a_peer_that_neither_reads_nor_closes_after_the_last_answer_is_reset(loop: str) -> None:
    limits = HttpLimits(linger_ttl=SOON, sweep_every=SWEEP)
    with served(limits, loop=loop) as server, good_traffic(server), server.peer() as peer:
        peer.send(b"nonsense\r\n\r\n")

        server.wait_for_connections(1)
        assert peer.rest().startswith(b"HTTP/1.1 400")


def test_a_hundred_peers_that_are_slow_in_every_way_disturb_nobody(loop: str) -> None:
    limits = HttpLimits(head_ttl=SOON, body_ttl=SOON, linger_ttl=SOON, sweep_every=SWEEP)
    half_chunk = b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n"
    ways = [b"", HEAD, post(b"0123456789")[:-5], half_chunk]
    with served(limits, loop=loop) as server, good_traffic(server):
        peers = [server.peer().send(ways[number % len(ways)]) for number in range(100)]
        try:
            assert server.answers_well()

            server.wait_for_connections(1)
        finally:
            for peer in peers:
                peer.socket.close()
