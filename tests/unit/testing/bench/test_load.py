"""A connection of the load: one request under way, and an answer counts when it is whole."""

import asyncio
from typing import cast

from procession.testing.bench.figures import Answers
from procession.testing.bench.load import Client


class Wire:
    """Takes what is written."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, piece: bytes) -> None:
        self.written.append(piece)


def client(*requests: bytes) -> tuple[Client, Wire, Answers]:
    answers, wire = Answers(), Wire()
    made = Client(answers, iter(requests))
    made.connection_made(cast("asyncio.Transport", wire))
    return made, wire, answers


def test_the_next_request_waits_for_the_whole_answer() -> None:
    made, wire, answers = client(b"one", b"two")
    made.fire()

    made.data_received(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n")
    made.data_received(b"\r\nok")
    assert wire.written == [b"one"]

    made.data_received(b"\n")
    assert wire.written == [b"one", b"two"]
    assert answers.told()["good"] == 1


def test_a_refusal_is_counted_as_one() -> None:
    made, _, answers = client(b"one")
    made.fire()

    made.data_received(b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n")

    assert (answers.told()["good"], answers.refused) == (0, 1)
    assert made.idle


def test_a_connection_that_breaks_under_a_request_has_lost_it() -> None:
    made, _, answers = client(b"one")
    made.fire()

    made.connection_lost(ConnectionResetError())

    assert answers.lost == 1
    assert not made.is_open
