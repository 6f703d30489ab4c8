"""Where a request ends and the next begins is never in doubt: what is not clear is refused, and its connection."""

import socket
from collections.abc import Iterator

import pytest

from tests.integration.served import LOOPS, Served, get, good_traffic, post, served

LINE = b"POST /any HTTP/1.1\r\n"
HOST = b"Host: h\r\n"
SMUGGLED = get("/smuggled")

MALFORMED = {
    "length twice, alike": LINE + HOST + b"Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
    "length twice, different": LINE + HOST + b"Content-Length: 3\r\nContent-Length: 30\r\n\r\nabc",
    "length as a list": LINE + HOST + b"Content-Length: 3, 3\r\n\r\nabc",
    "negative length": LINE + HOST + b"Content-Length: -1\r\n\r\n",
    "length with a sign": LINE + HOST + b"Content-Length: +3\r\n\r\nabc",
    "hexadecimal length": LINE + HOST + b"Content-Length: 0x3\r\n\r\nabc",
    "length in words": LINE + HOST + b"Content-Length: three\r\n\r\nabc",
    "empty length": LINE + HOST + b"Content-Length:\r\n\r\nabc",
    "length with a space inside": LINE + HOST + b"Content-Length: 1 1\r\n\r\nabc",
    "length beyond 64 bits": LINE + HOST + b"Content-Length: 99999999999999999999999\r\n\r\n",
    "length and chunks": LINE + HOST + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "chunks and length": LINE + HOST + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
    "a coding that is not chunked": LINE + HOST + b"Transfer-Encoding: gzip\r\n\r\n0\r\n\r\n",
    "a coding besides chunked": LINE + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "chunked twice": LINE + HOST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    "chunked in two fields": LINE + HOST + b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "almost chunked": LINE + HOST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "identity": LINE + HOST + b"Transfer-Encoding: identity\r\n\r\nabc",
    "chunks in HTTP/1.0": b"POST /any HTTP/1.0\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "folded field": LINE + HOST + b"X-Folded: a\r\n b\r\n\r\n",
    "fold before the first field": LINE + b" Host: h\r\n\r\n",
    "bare line feeds": b"GET /any HTTP/1.1\nHost: h\n\n",
    "a bare line feed after a field": LINE + b"Host: h\nX: y\r\n\r\n",
    "a bare carriage return": LINE + b"Host: h\rX: y\r\n\r\n",
    "NUL in a value": LINE + HOST + b"X: a\0b\r\n\r\n",
    "space before the colon": LINE + HOST + b"Content-Length : 3\r\n\r\nabc",
    "field without a name": LINE + HOST + b": b\r\n\r\n",
    "bracket in a name": LINE + HOST + b"X(: b\r\n\r\n",
    "no Host": LINE + b"Content-Length: 0\r\n\r\n",
    "Host twice": LINE + HOST + HOST + b"Content-Length: 0\r\n\r\n",
    "an unknown method": b"FETCH /any HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tab in the first line": b"GET\t/any HTTP/1.1\r\n" + HOST + b"\r\n",
    "a control character in the target": b"GET /\x01 HTTP/1.1\r\n" + HOST + b"\r\n",
    "UTF-8 in the target": "GET /é HTTP/1.1\r\n".encode() + HOST + b"\r\n",
    "a fragment in the target": b"GET /a#b HTTP/1.1\r\n" + HOST + b"\r\n",
    "TLS to a plain port": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "HTTP/2 preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "CONNECT": b"CONNECT h:443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "WebSocket": get("/any", fields="Connection: Upgrade\r\nUpgrade: websocket\r\n"),
    "HTTP/2 by upgrade": post(b"abc", fields="Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"),
    "a size of a chunk that is none": LINE + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "a negative chunk": LINE + HOST + b"Transfer-Encoding: chunked\r\n\r\n-1\r\na\r\n",
    "a chunk beyond 64 bits": LINE + HOST + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 17 + b"\r\na\r\n",
    "a chunk that is longer than it says": LINE + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n",
    "chunks with bare line feeds": LINE + HOST + b"Transfer-Encoding: chunked\r\n\r\n1\na\n0\n\n",
}


@pytest.fixture(params=LOOPS)
def server(request: pytest.FixtureRequest) -> Iterator[Served]:
    with served(loop=str(request.param)) as server:
        yield server


@pytest.mark.parametrize("head", MALFORMED.values(), ids=MALFORMED)
def test_what_is_not_clear_is_refused_and_nothing_behind_it_is_read(server: Served, head: bytes) -> None:
    with server.peer() as peer, good_traffic(server):
        peer.send(head + SMUGGLED)

        assert peer.answer().status == 400
        assert peer.rest() == b""
    assert {body for _, body in server.app.calls} == {b"good"}


@pytest.mark.parametrize("version", [b"HTTP/0.9", b"HTTP/2.0"])
def test_another_version_is_refused_by_name(server: Served, version: bytes) -> None:
    with server.peer() as peer:
        peer.send(b"GET / " + version + b"\r\nHost: h\r\n\r\n")

        assert peer.answer().status in (400, 505)
        assert peer.rest() == b""


def test_a_request_of_the_first_http_is_refused(server: Served) -> None:
    with server.peer() as peer:
        peer.send(b"GET /\r\n\r\n")

        assert peer.answer().status == 505


def test_a_connection_is_used_again(server: Served) -> None:
    with server.peer() as peer:
        for number in range(20):
            told = peer.send(post(b"%d" % number)).answer()

            assert told.body == b"POST /any %d" % number
            assert "connection" not in told.fields


def test_answers_name_neither_the_server_nor_the_time(server: Served) -> None:
    with server.peer() as peer:
        fields = peer.send(post(b"")).answer().fields

        assert set(fields) == {"content-length"}


def test_a_request_that_comes_byte_by_byte_is_whole(server: Served) -> None:
    with server.peer() as peer:
        peer.drip(post(b"slow but sure", path="/bytes"), every_s=0)

        assert peer.answer().body == b"POST /bytes slow but sure"


def test_a_chunked_body_is_put_together_and_the_connection_goes_on(server: Served) -> None:
    chunked = LINE + HOST + b"Transfer-Encoding: chunked\r\n\r\n3;note=x\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: t\r\n\r\n"
    with server.peer() as peer:
        for _ in range(2):
            assert peer.send(chunked).answer().body == b"POST /any abcde"


def test_trailers_reach_neither_this_request_nor_the_next(server: Served) -> None:
    chunked = b"POST /fields HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-One: 1\r\nX-Two: 2\r\n\r\n"
    with server.peer() as peer:
        peer.send(chunked + get("/fields"))

        assert peer.answer().body == b"host,transfer-encoding"
        assert peer.answer().body == b"host"


def test_a_length_among_the_trailers_is_refused(server: Served) -> None:
    with server.peer() as peer:
        peer.send(LINE + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 5\r\n\r\n" + SMUGGLED)

        assert peer.answer().status == 400
        assert peer.rest() == b""


def test_pipelined_requests_are_answered_in_order(server: Served) -> None:
    with server.peer() as peer:
        peer.send(get("/hold") + b"".join(post(b"%d" % number) for number in range(10)))

        assert server.app.is_held.wait(20)
        assert len(server.app.calls) == 1
        assert peer.is_open()
        server.app.release()
        assert peer.answer().body == b"/hold"
        assert [peer.answer().body for _ in range(10)] == [b"POST /any %d" % number for number in range(10)]


def test_what_is_pipelined_in_another_segment_waits_its_turn_too(server: Served) -> None:
    with server.peer() as peer:
        peer.send(get("/hold"))
        assert server.app.is_held.wait(20)

        peer.send(post(b"one")).send(post(b"two")[:-1])
        server.ask(lambda it: it.connections)
        server.app.release()

        assert peer.answer().body == b"/hold"
        assert peer.answer().body == b"POST /any one"
        assert peer.send(b"o").answer().body == b"POST /any two"


def test_a_refusal_does_not_overtake_the_answers_before_it(server: Served) -> None:
    with server.peer() as peer:
        peer.send(get("/hold") + post(b"one") + b"nonsense\r\n\r\n" + SMUGGLED)

        assert server.app.is_held.wait(20)
        server.app.release()
        assert [peer.answer().status for _ in range(3)] == [200, 200, 400]
        assert peer.rest() == b""
    assert "/smuggled" not in [path for path, _ in server.app.calls]


def test_nothing_is_read_behind_a_request_that_calls_itself_the_last(server: Served) -> None:
    with server.peer() as peer:
        peer.send(get("/last", fields="Connection: close\r\n") + SMUGGLED)

        told = peer.answer()
        assert told.body == b"GET /last "
        assert told.fields["connection"] == "close"
        assert peer.rest() == b""
    assert [path for path, _ in server.app.calls] == ["/last"]


def test_a_peer_that_is_asked_to_wait_is_told_to_go_on(server: Served) -> None:
    whole = post(b"abc", fields="Expect: 100-continue\r\n")
    with server.peer() as peer:
        peer.send(whole[:-3])

        assert peer.answer().status == 100
        assert peer.send(b"abc").answer().body == b"POST /any abc"


def test_going_on_is_not_said_in_the_middle_of_another_answer(server: Served) -> None:
    waiting = post(b"abc", fields="Expect: 100-continue\r\n")
    with server.peer() as peer:
        peer.send(get("/hold") + waiting[:-3])

        assert server.app.is_held.wait(20)
        server.app.release()
        assert [peer.answer().status for _ in range(2)] == [200, 100]
        assert peer.send(b"abc").answer().body == b"POST /any abc"


def test_another_expectation_is_refused(server: Served) -> None:
    with server.peer() as peer:
        assert peer.send(post(b"abc", fields="Expect: a-miracle\r\n")).answer().status == 417


def test_an_old_client_gets_its_answer_and_the_end(server: Served) -> None:
    with server.peer() as peer:
        peer.send(b"GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")

        told = peer.answer()
        assert told.body == b"GET /old "
        assert told.fields["connection"] == "close"
        assert peer.rest() == b""


def test_a_target_with_an_authority_is_understood(server: Served) -> None:
    with server.peer() as peer:
        assert peer.send(b"GET http://h:80/a%20b?c HTTP/1.1\r\nHost: h\r\n\r\n").answer().body == b"GET /a b "


def test_a_peer_that_has_closed_its_side_still_gets_its_answers(server: Served) -> None:
    with server.peer() as peer:
        peer.send(get("/hold") + post(b"one"))
        assert server.app.is_held.wait(20)
        peer.socket.shutdown(socket.SHUT_WR)
        server.ask(lambda it: it.connections)
        server.app.release()

        assert peer.answer().body == b"/hold"
        assert peer.answer().body == b"POST /any one"
        assert peer.rest() == b""
    server.wait_for_connections(0)


def test_a_peer_that_has_closed_its_side_behind_its_only_request_gets_the_answer(server: Served) -> None:
    with server.peer() as peer:
        peer.send(get("/hold"))
        assert server.app.is_held.wait(20)
        peer.socket.shutdown(socket.SHUT_WR)
        server.ask(lambda it: it.connections)
        assert peer.is_open()
        server.app.release()

        told = peer.answer()
        assert told.body == b"/hold"
        assert told.fields["connection"] == "close"
        assert peer.rest() == b""


def test_a_peer_that_closes_its_side_in_the_middle_of_a_request_gets_nothing(server: Served) -> None:
    with server.peer() as peer:
        peer.send(post(b"0123456789")[:-5])
        peer.socket.shutdown(socket.SHUT_WR)

        assert peer.rest() == b""
    server.wait_for_connections(0)


def test_a_peer_that_leaves_in_the_middle_of_its_request_costs_nothing(server: Served) -> None:
    with good_traffic(server):
        with server.peer() as peer:
            peer.send(post(b"0123456789")[:-5])

        server.wait_for_connections(1)


def test_a_peer_that_leaves_before_its_answer_does_not_end_what_was_begun(server: Served) -> None:
    with good_traffic(server):
        with server.peer() as peer:
            peer.send(get("/hold"))
            assert server.app.is_held.wait(20)
        server.app.release()

        server.wait_for_connections(1)
    assert not server.app.was_cancelled.is_set()


def test_an_application_can_watch_for_the_end_of_its_peer(server: Served) -> None:
    with server.peer() as peer:
        peer.send(get("/watch"))
        assert server.app.is_held.wait(20)
        peer.reset_at_end()

    assert server.app.saw_disconnect.wait(20)
