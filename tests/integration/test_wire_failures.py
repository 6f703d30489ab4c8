"""Servers that are away, that break off, that drip, and that never stop."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest

from procession.ports.wire import Doubt, Unsent
from procession.runtime.wire import Wire, WireLimits
from tests.integration.wire_peers import (
    LOCAL,
    LONG,
    OK,
    SHORT,
    Script,
    Visit,
    always_ok,
    answered,
    closing_with,
    not_sent,
    on_each_loop,
    peer,
    request,
    resolves_to,
    saying,
    unclear,
    wire,
)

WHOLE = b"HTTP/1.1 200 OK\r\nserver: a\r\ncontent-length: 10\r\n\r\n0123456789"
CHUNKED = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\n01234\r\n5\r\n56789\r\n0\r\n\r\n"
SMALL = WireLimits(body_bytes_max=10_000, head_bytes_max=4_000, headers_max=50)


@contextmanager
def full() -> Iterator[int]:
    """A port that is listened at, with so many waiting already that nobody else gets through."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)):
            yield port


@on_each_loop
async def test_a_refused_connection_is_not_sent() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        async with wire() as client:
            answer = not_sent(await client.call(request(f"http://127.0.0.1:{sock.getsockname()[1]}/")))

    assert (answer.reason, answer.detail) == (Unsent.UNREACHABLE, "ECONNREFUSED")


@on_each_loop
async def test_where_one_address_refuses_the_next_is_tried() -> None:
    async with peer(always_ok) as there, wire(resolve=resolves_to("127.0.0.9", "127.0.0.1")) as client:
        answer = await client.call(request(f"http://there.test:{there.port}/"))

        assert answered(answer).status == 200


@on_each_loop
async def test_an_address_that_never_answers_is_not_sent() -> None:
    with full() as port:
        async with wire(limits=WireLimits(connect_time_max=timedelta(milliseconds=50))) as client:
            answer = not_sent(await client.call(request(f"http://127.0.0.1:{port}/")))

    assert answer.reason is Unsent.UNREACHABLE


@on_each_loop
async def test_a_deadline_that_passes_while_connecting_is_not_sent() -> None:
    with full() as port:
        async with wire() as client:
            answer = not_sent(await client.call(request(f"http://127.0.0.1:{port}/", deadline=SHORT)))

    assert (answer.reason, answer.detail) == (Unsent.OUT_OF_TIME, "connecting")


@pytest.mark.parametrize("whole", [WHOLE, CHUNKED], ids=["length", "chunks"])
@on_each_loop
async def test_an_answer_that_is_cut_anywhere_is_unclear(whole: bytes) -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.say(whole[:at])
        visit.hang_up()

    async with peer(script) as there, wire() as client:
        for at in range(len(whole)):
            answer = unclear(await client.call(request(there.url)))

            assert answer.reason is (Doubt.CUT if at else Doubt.BROKEN_OFF), at
            assert answer.status in (None, 200)
        assert there.visits == len(there.requests) == len(whole)


@on_each_loop
async def test_an_answer_without_length_that_ends_in_a_reset_is_unclear() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 200 OK\r\n\r\nsome of")
        await there.until(lambda: cut)
        visit.reset()

    cut = False
    async with peer(script) as there, wire() as client, asyncio.TaskGroup() as group:
        call = group.create_task(client.call(request(there.url)))
        await there.until(lambda: bool(there.requests))
        cut = True
        await there.tell()

        assert unclear(await call).reason is Doubt.CUT


@pytest.mark.parametrize(
    "beginning",
    [
        b"",
        b"HTTP/1.1 200 O",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome",
        b"HTTP/1.1 200 OK\r\n\r\nno end in sight",
    ],
)
@on_each_loop
async def test_a_server_that_stops_answering_leaves_the_call_unclear_at_its_deadline(beginning: bytes) -> None:
    async with peer(saying(beginning)) as there, wire() as client:
        answer = unclear(await client.call(request(there.url, deadline=SHORT)))
        await there.until(lambda: there.ended == 1)

        assert answer.reason is Doubt.READ_TIMED_OUT
        assert answer.bytes_written == len(there.requests[0])


@on_each_loop
async def test_a_slow_drip_does_not_move_the_deadline() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.say(b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
        while True:
            await visit.say(b".")
            await asyncio.sleep(0)

    async with peer(script) as there, wire() as client:
        answer = unclear(await client.call(request(there.url, deadline=timedelta(milliseconds=50))))

        assert (answer.reason, answer.status) == (Doubt.READ_TIMED_OUT, 200)


def endless(beginning: bytes, again: bytes) -> Script:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.say(beginning)
        while True:
            await visit.say(again)

    return script


ENDLESS = {
    "body without length": (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1_000),
    "chunks": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 100),
    "one chunk": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nfffffff\r\n", b"x" * 1_000),
    "chunk extension": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;", b"x" * 1_000),
    "trailers": (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", b"x: y\r\n" * 100),
    "headers": (b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 100),
    "one header's value": (b"HTTP/1.1 200 OK\r\nx: ", b"y" * 1_000),
    "one header's name": (b"HTTP/1.1 200 OK\r\n", b"y" * 1_000),
    "reason phrase": (b"HTTP/1.1 200 ", b"y" * 1_000),
    "interim answers": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 10),
    "empty lines": (b"", b"\r\n" * 100),
}


@pytest.mark.parametrize("kind", ENDLESS)
@on_each_loop
async def test_an_answer_without_end_is_stopped(kind: str) -> None:
    async with peer(endless(*ENDLESS[kind])) as there, wire(limits=SMALL) as client:
        answer = unclear(await client.call(request(there.url)))
        await there.until(lambda: there.ended == 1)

        assert answer.reason is Doubt.OVERSIZED


@pytest.mark.parametrize("length", [10_001, 10**17, 10**19])
@on_each_loop
async def test_a_body_that_is_announced_too_large_is_not_read(length: int) -> None:
    raw = f"HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n".encode()

    async with peer(saying(raw)) as there, wire(limits=SMALL) as client:
        answer = unclear(await client.call(request(there.url)))

        assert answer.reason in (Doubt.OVERSIZED, Doubt.GARBLED)
        await there.until(lambda: there.ended == 1)


CHUNKS = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
JUST_TOO_LARGE = {
    "chunks": CHUNKS % (SMALL.body_bytes_max + 1, b"x" * (SMALL.body_bytes_max + 1)),
    "until the end": b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (SMALL.body_bytes_max + 1),
    "headers": b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n" + b"a: b\r\n" * SMALL.headers_max + b"\r\n",
    "one header": b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\na: " + b"b" * SMALL.head_bytes_max + b"\r\n\r\n",
}


@pytest.mark.parametrize("kind", JUST_TOO_LARGE)
@on_each_loop
async def test_an_answer_right_above_a_bound_is_unclear_though_it_ends(kind: str) -> None:
    async with peer(closing_with(JUST_TOO_LARGE[kind])) as there, wire(limits=SMALL) as client:
        assert unclear(await client.call(request(there.url))).reason is Doubt.OVERSIZED


@on_each_loop
async def test_an_answer_right_at_the_bounds_is_whole() -> None:
    body = b"x" * SMALL.body_bytes_max
    lines = b"a: b\r\n" * (SMALL.headers_max - 1)
    raw = b"HTTP/1.1 200 OK\r\n" + lines + f"content-length: {len(body)}\r\n\r\n".encode() + body

    async with peer(saying(raw)) as there, wire(limits=SMALL) as client:
        answer = answered(await client.call(request(there.url)))

        assert len(answer.headers) == SMALL.headers_max
        assert answer.body == body


@on_each_loop
async def test_a_hundred_thousand_headers_are_too_many() -> None:
    async with peer(closing_with(b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 100_000 + b"\r\n")) as there, wire() as client:
        assert unclear(await client.call(request(there.url))).reason is Doubt.OVERSIZED


@on_each_loop
async def test_a_cancelled_call_closes_its_connection_and_frees_its_place() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        if visit.number > 1:
            await visit.say(OK)
        await visit.end()

    async with peer(script) as there, wire(limits=WireLimits(connections_max=1, idle_ttl=LONG)) as client:
        async with asyncio.TaskGroup() as group:
            call = group.create_task(client.call(request(there.url)))
            await there.until(lambda: len(there.requests) == 1)
            call.cancel()
        assert call.cancelled()
        await there.until(lambda: there.ended == 1)

        answered(await client.call(request(there.url)))

        assert there.visits == 2


@on_each_loop
async def test_after_a_cancelled_call_nobody_gets_its_answer() -> None:
    async def echo(visit: Visit) -> None:
        while True:
            heard = await visit.request()
            await visit.say(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n" + heard[-5:])

    async with peer(echo) as there, wire(limits=WireLimits(connections_max=1)) as client:
        for turns in range(40):
            async with asyncio.TaskGroup() as group:
                call = group.create_task(client.call(request(there.url, body=b"not I")))
                for _ in range(turns):
                    await asyncio.sleep(0)
                call.cancel()

            assert answered(await client.call(request(there.url, body=b"but I"))).body == b"but I"


@on_each_loop
async def test_closing_the_wire_ends_calls_on_either_side_of_the_first_byte() -> None:
    async def silent(visit: Visit) -> None:
        await visit.request()
        await visit.end()

    async with peer(silent) as there, wire(limits=WireLimits(connections_max=1)) as client:
        async with asyncio.TaskGroup() as group:
            begun = group.create_task(client.call(request(there.url)))
            await there.until(lambda: bool(there.requests))
            waiting = group.create_task(client.call(request(there.url)))
            await asyncio.sleep(0)
            await client.close()

        assert unclear(begun.result()).reason is Doubt.CLOSED
        assert not_sent(waiting.result()).reason is Unsent.CLOSED
        assert not_sent(await client.call(request(there.url))).reason is Unsent.CLOSED
        await client.close()
        await there.until(lambda: there.ended == 1)
        assert there.visits == 1


@on_each_loop
async def test_closing_the_wire_while_it_connects_sends_nothing() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        await client.close()
        return ["127.0.0.1"]

    async with peer(always_ok) as there:
        client = Wire(LOCAL, resolve=resolve)
        answer = not_sent(await client.call(request(f"http://there.test:{there.port}/")))

        assert answer.reason is Unsent.CLOSED
        await there.until(lambda: there.ended == there.visits)
        assert not there.requests
