"""Whatever a peer sends, the server holds no more of it than its bounds say, and goes on serving others."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from procession.ingress.http_limits import HttpLimits
from tests.integration.served import LOOPS, SWEEP, Served, get, good_traffic, post, served

CHUNKED = b"POST /any HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture(params=LOOPS)
def loop(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def tight(loop: str) -> Iterator[Served]:
    limits = HttpLimits(
        head_bytes_max=2000, head_fields_max=10, body_bytes_max=5000, pipelined_max=4, sweep_every=SWEEP
    )
    with served(limits, loop=loop) as server, good_traffic(server):
        yield server


def test_a_head_within_its_bound_is_served(tight: Served) -> None:
    with tight.peer() as peer:
        assert peer.send(get("/any", fields=f"X: {'a' * 1900}\r\n")).answer().status == 200


@pytest.mark.parametrize(
    "head",
    [
        get("/any", fields=f"X: {'a' * 2000}\r\n"),
        get("/any", fields=f"{'X' * 2000}: a\r\n"),
        get("/any?" + "a" * 2000),
        get("/any", fields="".join(f"X-{number}: {'a' * 300}\r\n" for number in range(7))),
        get("/any", fields="".join(f"X-{number}: a\r\n" for number in range(10))),
        get("/any", fields="".join(f"X-{number}: a\r\n" for number in range(10_000))),
    ],
    ids=["value", "name", "target", "sum", "fields", "many fields"],
)
def test_a_head_that_is_too_large_is_refused(tight: Served, head: bytes) -> None:
    with tight.peer() as peer:
        peer.send(head)

        assert peer.answer().status == 431
        assert peer.rest() == b""


@pytest.mark.parametrize("beginning", [b"GET /", b"GET / HTTP/1.1\r\nX", b"GET / HTTP/1.1\r\nX: "])
def test_a_head_that_never_ends_is_refused_before_it_is_held(tight: Served, beginning: bytes) -> None:
    with tight.peer() as peer:
        peer.drip(beginning + b"a" * 100_000, every_s=0)

        assert peer.answer().status == 431


def test_a_body_that_announces_too_much_is_refused_before_it_is_sent(tight: Served) -> None:
    with tight.peer() as peer:
        peer.send(b"POST /any HTTP/1.1\r\nHost: h\r\nContent-Length: 5001\r\n\r\n")

        assert peer.answer().status == 413
        assert peer.rest() == b""


def test_a_body_that_announces_too_much_is_not_asked_for(tight: Served) -> None:
    with tight.peer() as peer:
        peer.send(b"POST /any HTTP/1.1\r\nHost: h\r\nContent-Length: 5001\r\nExpect: 100-continue\r\n\r\n")

        assert peer.answer().status == 413


def test_the_largest_body_is_served(tight: Served) -> None:
    with tight.peer() as peer:
        assert peer.send(post(b"a" * 5000)).answer().status == 200
    assert ("/any", b"a" * 5000) in tight.app.calls


def test_a_chunked_body_is_counted_as_it_comes_and_refused_once(tight: Served) -> None:
    with tight.peer() as peer:
        peer.send(CHUNKED + b"400\r\n" + b"a" * 0x400 + b"\r\n")
        peer.send((b"400\r\n" + b"a" * 0x400 + b"\r\n") * 8)

        assert peer.answer().status == 413
        assert peer.rest() == b""
    assert {body for _, body in tight.app.calls} <= {b"good"}


def test_a_peer_that_goes_on_sending_after_the_refusal_still_reads_it(tight: Served) -> None:
    with tight.peer() as peer:
        peer.send(b"POST /any HTTP/1.1\r\nHost: h\r\nContent-Length: 2000000\r\n\r\n" + b"a" * 2_000_000)

        assert peer.answer().status == 413
        assert peer.rest() == b""


@pytest.mark.parametrize("framing", [b"1;" + b"x" * 100_000, b"0\r\nX: " + b"x" * 100_000], ids=["note", "trailer"])
def test_framing_of_chunks_without_a_body_is_bounded(tight: Served, framing: bytes) -> None:
    with tight.peer() as peer:
        peer.send(CHUNKED).drip(framing, every_s=0)

        assert peer.answer().status == 413


def test_trailers_without_end_are_refused(tight: Served) -> None:
    with tight.peer() as peer:
        peer.send(CHUNKED + b"0\r\n" + b"".join(b"X-%d: a\r\n" % number for number in range(1000)))

        assert peer.answer().status == 431


def test_more_pipelined_requests_than_may_wait_are_refused_after_the_answers(tight: Served) -> None:
    with tight.peer() as peer:
        peer.send(get("/hold") + post(b"waits") * 5)

        assert tight.app.is_held.wait(20)
        tight.app.release()
        assert [peer.answer().status for _ in range(6)] == [200, 200, 200, 200, 200, 503]
        assert peer.rest() == b""


def test_large_bodies_share_a_store_and_small_ones_do_not_need_it(loop: str) -> None:
    limits = HttpLimits(body_small_bytes=100, bodies_bytes_max=1000, sweep_every=SWEEP)
    large = post(b"a" * 900)
    with served(limits, loop=loop) as server, good_traffic(server), server.peer() as first, server.peer() as second:
        first.send(large[:-1])
        server.wait_for_connections(3)
        assert first.is_open()

        assert second.send(large).answer().status == 503
        assert server.answers_well()
        assert first.send(b"a").answer().status == 200
        with server.peer() as third:
            assert third.send(large).answer().status == 200


@pytest.mark.parametrize("ending", ["close", "refusal", "answer", "waiting"])
def test_the_room_of_a_body_is_given_back_however_it_ends(loop: str, ending: str) -> None:
    limits = HttpLimits(body_small_bytes=100, body_bytes_max=2000, bodies_bytes_max=1000, sweep_every=SWEEP)
    large = post(b"a" * 900)
    with served(limits, loop=loop) as server:
        for _ in range(3):
            server.app.is_held.clear()
            with server.peer() as peer:
                match ending:
                    case "close":
                        peer.send(large[:-1])
                        server.wait_for_connections(1)
                    case "refusal":
                        peer.send(CHUNKED + b"384\r\n" + b"a" * 900 + b"\r\nnonsense")
                        assert peer.answer().status == 400
                    case "answer":
                        assert peer.send(large).answer().status == 200
                    case _:
                        peer.send(get("/hold", fields="Connection: keep-alive\r\n") + large)
                        assert server.app.is_held.wait(20)
                        peer.reset_at_end()
            if ending == "waiting":
                server.app.release()
            server.wait_for_connections(0)

        with server.peer() as peer:
            assert peer.send(large).answer().status == 200


def test_connections_are_capped_in_all(loop: str) -> None:
    with served(HttpLimits(connections_max=3, sweep_every=SWEEP), loop=loop) as server, ExitStack() as stack:
        peers = [stack.enter_context(server.peer(address=f"127.0.0.{number}")) for number in range(2, 5)]
        server.wait_for_connections(3)

        with server.peer() as late:
            assert late.rest().startswith(b"HTTP/1.1 503")
        assert server.ask(lambda it: it.turned_away) == 1
        assert peers[0].send(post(b"in")).answer().status == 200
        peers[0].socket.close()
        server.wait_for_connections(2)
        with server.peer() as later:
            assert later.send(post(b"in")).answer().status == 200


def test_connections_are_capped_for_each_address(loop: str) -> None:
    with served(HttpLimits(connections_per_ip_max=2, sweep_every=SWEEP), loop=loop) as server, good_traffic(server):
        with server.peer() as first, server.peer() as second, server.peer() as third:
            assert third.rest().startswith(b"HTTP/1.1 503")
            assert [peer.send(post(b"in")).answer().status for peer in (first, second)] == [200, 200]
            assert server.answers_well()
        server.wait_for_connections(1)

        with server.peer() as again:
            assert again.send(post(b"in")).answer().status == 200
