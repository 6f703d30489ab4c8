"""A caller knows what it cannot know, and never takes another call's answer for its own."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from procession.testing.chaos import Answer, Caller, NotSent, Unclear, free_port


class Script(asyncio.Protocol):
    """Answers the requests of all its connections with the next line of a script."""

    def __init__(self, script: list[bytes], made: list["Script"]) -> None:
        self._script = script
        self.made = made
        made.append(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, received: bytes) -> None:
        line = self._script.pop(0)
        if line == b"cut":
            self.transport.abort()
        else:
            self.transport.write(line)


@asynccontextmanager
async def answering(script: Sequence[bytes], patience: timedelta) -> AsyncIterator[tuple[Caller, list[Script]]]:
    made: list[Script] = []
    left = list(script)
    server = await asyncio.get_running_loop().create_server(lambda: Script(left, made), "127.0.0.1", 0)
    async with server, Caller(host="127.0.0.1", port=server.sockets[0].getsockname()[1], patience=patience) as caller:
        yield caller, made


LONG = timedelta(seconds=30)
SHORT = timedelta(milliseconds=50)
ONE = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"
TWO = b"HTTP/1.1 202 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\ntwo\r\n0\r\n\r\n"


async def test_calls_go_over_one_connection() -> None:
    async with answering([ONE, TWO], LONG) as (caller, made):
        answers = [await caller.post("/", {}, b"1"), await caller.get("/")]

        assert answers == [Answer(status=200, body=b"one"), Answer(status=202, body=b"two")]
        assert len(made) == 1


async def test_nobody_there_is_known_as_not_sent() -> None:
    async with Caller(host="127.0.0.1", port=free_port()) as caller:
        with pytest.raises(NotSent):
            await caller.get("/")


@pytest.mark.parametrize("answer", [b"cut", b"no http at all\r\n\r\n", ONE.replace(b"3", b"1000")])
async def test_no_whole_answer_is_unclear_and_the_next_call_takes_a_new_connection(answer: bytes) -> None:
    async with answering([answer, ONE], LONG if answer[:4] != ONE[:4] else SHORT) as (caller, made):
        with pytest.raises(Unclear):
            await caller.get("/")

        assert (await caller.get("/")).status == 200
        assert len(made) == 2


async def test_a_late_answer_is_not_taken_for_the_next_call_s_own() -> None:
    async with answering([b"", TWO], SHORT) as (caller, made):
        with pytest.raises(Unclear):
            await caller.get("/")
        made[0].transport.write(ONE)

        assert (await caller.get("/")).status == 202


async def test_a_connection_that_the_server_closes_after_its_answer_is_not_used_again() -> None:
    async with answering([ONE.replace(b"\r\n", b"\r\nConnection: close\r\n", 1), TWO], LONG) as (caller, made):
        assert (await caller.get("/")).status == 200
        assert (await caller.get("/")).status == 202
        assert len(made) == 2
