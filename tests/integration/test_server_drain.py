"""A server that stops accepts nothing more, finishes what is under way, and is gone in bounded time."""

import asyncio
from collections.abc import Iterator
from datetime import timedelta

import pytest

from procession.core.errors import Misconfigured
from procession.ingress.http_limits import HttpLimits
from procession.ingress.server import HttpServer, serve_http
from tests.integration.served import LOOPS, SOON, SWEEP, Manners, Peer, Served, get, post, served


@pytest.fixture(params=LOOPS)
def server(request: pytest.FixtureRequest) -> Iterator[Served]:
    with served(loop=str(request.param)) as server:
        yield server


def test_what_is_under_way_is_answered_and_the_connection_closed(server: Served) -> None:
    with server.peer() as peer:
        peer.send(get("/hold"))
        assert server.app.is_held.wait(20)

        server.stop()
        server.ask(lambda it: it.connections)
        assert not server.is_down.is_set()
        server.app.release()

        told = peer.answer()
        assert told.body == b"/hold"
        assert told.fields["connection"] == "close"
        assert peer.rest() == b""
    assert server.is_down.wait(20)


def test_a_half_sent_request_may_still_be_finished(server: Served) -> None:
    with server.peer() as peer:
        peer.send(post(b"0123456789")[:-5])
        server.wait_for_connections(1)
        server.ask(lambda it: it.connections)

        server.stop()
        server.ask(lambda it: it.connections)

        assert peer.send(b"56789").answer().status == 200
        assert peer.rest() == b""
    assert server.is_down.wait(20)


def test_idle_connections_are_closed_at_once_and_new_ones_refused(server: Served) -> None:
    with server.peer() as idle, server.peer() as fresh, server.peer() as busy:
        assert idle.send(post(b"one")).answer().status == 200
        busy.send(get("/hold"))
        assert server.app.is_held.wait(20)
        server.wait_for_connections(3)

        server.stop()

        assert idle.rest() == b""
        assert fresh.rest() == b""
        with pytest.raises(ConnectionError):
            server.peer()
        server.app.release()
        assert busy.answer().status == 200


def test_a_request_that_waits_behind_the_last_is_not_begun(server: Served) -> None:
    with server.peer() as peer:
        peer.send(get("/hold") + post(b"behind"))
        assert server.app.is_held.wait(20)

        server.stop()
        server.ask(lambda it: it.connections)
        server.app.release()

        assert peer.answer().fields["connection"] == "close"
        assert peer.rest() == b""
    assert [path for path, _ in server.app.calls] == ["/hold"]


@pytest.mark.parametrize("loop", LOOPS)
def test_what_takes_longer_than_the_bound_is_cut(loop: str) -> None:
    with served(HttpLimits(drain_ttl=SOON, sweep_every=SWEEP), loop=loop) as server, server.peer() as peer:
        peer.send(get("/hold"))
        assert server.app.is_held.wait(20)

        server.stop()

        assert server.is_down.wait(20)
        assert server.app.was_cancelled.is_set()
        assert peer.rest() == b""


def test_a_second_stop_can_shorten_the_first(server: Served) -> None:
    with server.peer() as peer:
        peer.send(get("/hold"))
        assert server.app.is_held.wait(20)
        server.stop()
        server.ask(lambda it: it.connections)

        server.stop(within=timedelta(0))

        assert server.is_down.wait(20)
        assert server.app.was_cancelled.is_set()


async def test_a_server_that_is_stopped_before_it_runs_does_not_listen() -> None:
    listening: list[int] = []
    server = HttpServer(Manners(), host="127.0.0.1", port=0, on_listening=listening.append)

    server.stop()
    server.stop()
    await server.run()

    assert not listening


async def test_a_port_that_is_taken_is_said_plainly() -> None:
    with served() as server, pytest.raises(Misconfigured, match=f"127.0.0.1:{server.port}"):
        await HttpServer(Manners(), host="127.0.0.1", port=server.port).run()


async def test_a_server_that_is_cancelled_leaves_nothing_behind() -> None:
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    app = Manners()
    running = asyncio.create_task(HttpServer(app, host="127.0.0.1", port=0, on_listening=port.set_result).run())
    with Peer(await port) as peer:
        peer.send(get("/hold"))
        assert await asyncio.to_thread(app.is_held.wait, 20)

        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

        assert app.was_cancelled.is_set()
        assert await asyncio.to_thread(peer.rest) == b""


async def test_serving_ends_when_the_event_is_set() -> None:
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    stopping = asyncio.Event()
    serving = asyncio.create_task(
        serve_http(
            Manners(), host="127.0.0.1", port=0, limits=HttpLimits(), on_listening=port.set_result, stopping=stopping
        )
    )
    with Peer(await port) as peer:
        assert (await asyncio.to_thread(peer.send(post(b"one")).answer)).status == 200

        stopping.set()

        await serving


async def test_serving_on_a_taken_port_does_not_wait_for_the_event() -> None:
    with served() as server, pytest.raises(Misconfigured):
        await serve_http(
            Manners(),
            host="127.0.0.1",
            port=server.port,
            limits=HttpLimits(),
            on_listening=lambda _: None,
            stopping=asyncio.Event(),
        )
