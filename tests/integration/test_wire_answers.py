"""Whole answers, in every shape that servers give them."""

import pytest

from procession.ports.wire import Doubt
from tests.integration.wire_peers import (
    OK,
    Visit,
    always_ok,
    answered,
    closing_with,
    on_each_loop,
    peer,
    request,
    saying,
    unclear,
    wire,
)


@on_each_loop
async def test_a_request_goes_out_as_it_was_asked_for() -> None:
    async with peer(always_ok) as there, wire() as client:
        answer = answered(await client.call(request(there.url, headers=(("x-test", "1"),))))

        assert (answer.status, answer.body) == (200, b"ok")
        assert there.requests == [
            b"POST /hooks/acme?key=s3cret HTTP/1.1\r\n"
            + f"host: 127.0.0.1:{there.port}\r\n".encode()
            + b"accept-encoding: identity\r\nx-test: 1\r\ncontent-length: 5\r\n\r\nhello"
        ]


@on_each_loop
async def test_one_connection_serves_call_after_call() -> None:
    async with peer(always_ok) as there, wire() as client:
        for _ in range(5):
            answered(await client.call(request(there.url)))

        assert (there.visits, len(there.requests)) == (1, 5)


WHOLE = {
    "chunked": (
        b"HTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n4;x=y\r\n two\r\n0\r\nTrailer: x\r\n\r\n",
        201,
        b"one two",
    ),
    "no content": (b"HTTP/1.1 204 No Content\r\n\r\n", 204, b""),
    "empty": (b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", 202, b""),
    "interim answers before it": (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK,
        200,
        b"ok",
    ),
    "no reason phrase": (b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok", 200, b"ok"),
    "redirect": (b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 0\r\n\r\n", 302, b""),
    "server error": (b"HTTP/1.1 503 Away\r\nretry-after: 3\r\ncontent-length: 1\r\n\r\nx", 503, b"x"),
    "gzip, untouched": (
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 4\r\n\r\n\x1f\x8b\x08\x00",
        200,
        b"\x1f\x8b\x08\x00",
    ),
    "an offer to upgrade": (
        b"HTTP/1.1 200 OK\r\nconnection: Upgrade\r\nupgrade: h2c\r\ncontent-length: 2\r\n\r\nok",
        200,
        b"ok",
    ),
}


@pytest.mark.parametrize("shape", WHOLE)
@on_each_loop
async def test_a_whole_answer_is_read_and_its_connection_used_again(shape: str) -> None:
    raw, status, body = WHOLE[shape]

    async with peer(saying(raw, OK)) as there, wire() as client:
        first = answered(await client.call(request(there.url)))
        answered(await client.call(request(there.url)))

        assert (first.status, first.body) == (status, body)
        assert there.visits == 1


ENDING = {
    "connection: close": (b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok", b"ok"),
    "http/1.0": (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok", b"ok"),
    "neither length nor chunks": (b"HTTP/1.1 200 OK\r\n\r\nall of it", b"all of it"),
    "neither, and empty": (b"HTTP/1.0 200 OK\r\nserver: old\r\n\r\n", b""),
}


@pytest.mark.parametrize("shape", ENDING)
@on_each_loop
async def test_an_answer_that_ends_its_connection_is_whole_and_the_connection_is_not_used_again(shape: str) -> None:
    raw, body = ENDING[shape]

    async with peer(closing_with(raw)) as there, wire() as client:
        for _ in range(2):
            assert answered(await client.call(request(there.url))).body == body

        assert there.visits == 2


@pytest.mark.parametrize("head", [b"HTTP/1.1 200 OK\r\nconnection: close", b"HTTP/1.0 200 OK\r\nserver: old"])
@on_each_loop
async def test_a_connection_that_was_to_end_is_not_used_again_even_if_it_lives_on(head: bytes) -> None:
    async with peer(saying(head + b"\r\ncontent-length: 2\r\n\r\nok", OK)) as there, wire() as client:
        for _ in range(2):
            answered(await client.call(request(there.url)))

        assert there.visits == 2


@on_each_loop
async def test_the_headers_of_interim_answers_are_not_those_of_the_answer() -> None:
    async with peer(saying(b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + OK)) as there, wire() as client:
        assert answered(await client.call(request(there.url))).headers == (("content-length", "2"),)


@on_each_loop
async def test_an_answer_drips_in_byte_by_byte() -> None:
    raw = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX-Name: some value\r\ncontent-length: 2\r\n\r\nok"

    async def script(visit: Visit) -> None:
        await visit.request()
        for byte in raw:
            await visit.say(bytes([byte]))
        await visit.end()

    async with peer(script) as there, wire() as client:
        answer = answered(await client.call(request(there.url)))

        assert answer.body == b"ok"
        assert answer.headers == (("x-name", "some value"), ("content-length", "2"))


@on_each_loop
async def test_the_answer_to_a_head_has_no_body_whatever_its_length_says() -> None:
    raw = b"HTTP/1.1 200 OK\r\ncontent-length: 9000000\r\n\r\n"

    async with peer(saying(raw)) as there, wire() as client:
        answer = answered(await client.call(request(there.url, method="HEAD", body=b"")))

        assert (answer.status, answer.body) == (200, b"")


@pytest.mark.parametrize("junk", [OK, b"junk", b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhe"])
@on_each_loop
async def test_what_follows_an_answer_unasked_costs_the_connection_but_not_the_answer(junk: bytes) -> None:
    first = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfirst"

    async with peer(saying(first + junk)) as there, wire() as client:
        for _ in range(2):
            assert answered(await client.call(request(there.url))).body == b"first"

        assert there.visits == 2


@on_each_loop
async def test_what_is_said_on_a_resting_connection_is_nobodys_answer() -> None:
    async def script(visit: Visit) -> None:
        await visit.request()
        await visit.say(OK)
        if visit.number == 1:
            await visit.say(b"HTTP/1.1 500 Not Yours\r\ncontent-length: 0\r\n\r\n")
        await visit.end()

    async with peer(script) as there, wire() as client:
        answered(await client.call(request(there.url)))
        await there.until(lambda: there.ended == 1)

        assert answered(await client.call(request(there.url))).status == 200
        assert there.visits == 2


@on_each_loop
async def test_an_answer_before_the_request_is_whole_is_an_answer_and_ends_the_connection() -> None:
    async def script(visit: Visit) -> None:
        await visit.reader.readuntil(b"\r\n\r\n")
        await visit.say(b"HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\n\r\n")
        await visit.end()

    async with peer(script) as there, wire() as client:
        answer = await client.call(request(there.url, body=bytes(50_000_000)))

        assert answered(answer).status == 413
        await there.until(lambda: there.ended == 1)


@pytest.mark.parametrize(
    "raw",
    [
        b"not http at all\r\n\r\n",
        b"\x16\x03\x01\x02\x00" * 20,
        b"HTTP/1.1 20 OK\r\n\r\n",
        b"HTTP/1.1 999 What\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\nxx\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\n\r\n",
    ],
)
@on_each_loop
async def test_what_is_not_an_answer_leaves_the_call_unclear(raw: bytes) -> None:
    async with peer(saying(raw)) as there, wire() as client:
        assert unclear(await client.call(request(there.url))).reason is Doubt.GARBLED
        await there.until(lambda: there.ended == 1)
