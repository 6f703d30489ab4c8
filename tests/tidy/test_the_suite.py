"""The floor that all tests stand on: tests/conftest.py keeps what it says."""

import asyncio
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import run_to_the_end


async def test_a_test_may_be_a_coroutine_function() -> None:
    await asyncio.get_running_loop().run_in_executor(None, lambda: None)


@given(st.integers())
async def test_a_property_may_be_a_coroutine_function(number: int) -> None:
    running = await asyncio.get_running_loop().run_in_executor(None, lambda: number)

    assert running == number


def test_a_coroutine_test_that_fails_fails() -> None:
    async def failing() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        run_to_the_end(failing)()


def test_a_coroutine_test_that_leaves_something_running_fails() -> None:
    async def leaving() -> None:
        left.append(asyncio.get_running_loop().create_task(asyncio.Event().wait(), name="forgotten"))

    left: list[asyncio.Task[bool]] = []

    with pytest.raises(AssertionError, match="forgotten"):
        run_to_the_end(leaving)()


def test_a_test_cannot_reach_beyond_loopback() -> None:
    # An address of the range kept for documentation: even without the guard nobody would answer.
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out, pytest.raises(AssertionError, match="loopback"):
        out.connect(("192.0.2.1", 9))


def test_a_test_can_reach_loopback() -> None:
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as here,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out,
    ):
        here.bind(("127.0.0.1", 0))

        out.connect(here.getsockname())
