"""What the application answers reaches the peer as one answer; a fault of it costs that peer at most its connection."""

import logging
from collections.abc import Iterator

import pytest

from tests.integration.served import LOOPS, Served, get, good_traffic, post, served


@pytest.fixture(params=LOOPS)
def server(request: pytest.FixtureRequest) -> Iterator[Served]:
    with served(loop=str(request.param)) as server:
        yield server


FAULTS = ("/fail", "/silent", "/short", "/long", "/split", "/status/99", "/status/100", "/status/x")


@pytest.mark.parametrize("path", FAULTS)
def test_a_fault_before_the_first_byte_is_answered_500_and_logged_once(
    server: Served, path: str, caplog: pytest.LogCaptureFixture
) -> None:
    with server.peer() as peer, good_traffic(server), caplog.at_level(logging.ERROR, "procession.ingress"):
        told = peer.send(get(path) + post(b"behind")).answer()

        assert told.status == 500
        assert b"purpose" not in told.body
        assert peer.rest() == b""
    assert len(caplog.records) == 1


def test_a_fault_in_the_middle_breaks_the_answer_off(server: Served) -> None:
    with server.peer() as peer, good_traffic(server):
        begun = peer.send(get("/half") + post(b"behind")).rest()

        assert begun in (b"", b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n12345")


def test_half_an_answer_without_a_length_does_not_look_whole(server: Served) -> None:
    with server.peer() as peer:
        peer.send(b"GET /half/open HTTP/1.0\r\n\r\n")

        assert peer.is_reset()


def test_a_stream_ends_with_its_reader(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    with good_traffic(server):
        with server.peer(receive_buffer=4096) as peer:
            peer.send(get("/flood"))
            assert server.app.is_held.wait(20)
            peer.reset_at_end()

        assert server.app.saw_disconnect.wait(20)
        server.wait_for_connections(1)
    assert not caplog.records


def test_an_answer_in_parts_is_chunked(server: Served) -> None:
    with server.peer() as peer:
        told = peer.send(get("/chunks") + post(b"behind")).answer()

        assert told.fields["transfer-encoding"] == "chunked"
        assert told.body == b"onetwo"
        assert peer.answer().body == b"POST /any behind"


def test_an_answer_in_parts_to_an_old_client_ends_with_the_connection(server: Served) -> None:
    with server.peer() as peer:
        head, _, body = peer.send(b"GET /chunks HTTP/1.0\r\n\r\n").rest().partition(b"\r\n\r\n")

        assert b"chunked" not in head
        assert b"connection: close" in head
        assert body == b"onetwo"


@pytest.mark.parametrize("path", ["/any", "/chunks", "/blob/1000"])
def test_a_head_is_answered_without_a_body(server: Served, path: str) -> None:
    with server.peer() as peer:
        peer.send(f"HEAD {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode() + post(b"behind"))

        assert peer.answer(to_head=True).status == 200
        assert peer.answer().body == b"POST /any behind"


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_has_no_body_has_no_length(server: Served, status: int) -> None:
    with server.peer() as peer:
        told = peer.send(get(f"/status/{status}") + post(b"behind")).answer()

        assert told.status == status
        assert "content-length" not in told.fields
        assert peer.answer().body == b"POST /any behind"


def test_a_long_answer_is_whole(server: Served) -> None:
    with server.peer() as peer:
        assert len(peer.send(get("/blob/5000000")).answer().body) == 5_000_000
        assert peer.send(post(b"next")).answer().status == 200


def test_an_application_that_stays_after_its_answer_is_told_to_go(server: Served) -> None:
    with server.peer() as peer:
        assert peer.send(get("/stubborn")).answer().body == b"done"

        assert server.app.saw_disconnect.wait(20)
        assert peer.send(post(b"next")).answer().status == 200
