"""The deadlines of a connection on a manual clock: when each begins, and what does not move it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Final

import pytest

from procession.ingress.asgi_types import ASGIApp, Receive, Scope, Send
from procession.ingress.connection import Connection, Terms
from procession.ingress.deadlines import Sweep
from procession.ingress.house import House
from procession.ingress.http_limits import HttpLimits

HEAD_S: Final = 5.0
BODY_S: Final = 10.0
REQUEST_S: Final = 15.0
IDLE_S: Final = 75.0
LINGER_S: Final = 2.0
HEAD: Final = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n"


class Wire(asyncio.Transport):
    """A transport that remembers what was asked of it."""

    def __init__(self) -> None:
        super().__init__({"peername": ("127.0.0.1", 1), "sockname": ("127.0.0.1", 2)})
        self.written = b""
        self.ended = self.closed = self.aborted = self.paused = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high is not None

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += bytes(data)

    def write_eof(self) -> None:
        self.ended = True

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.aborted = True

    def is_closing(self) -> bool:
        return self.closed or self.aborted

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False


class Scene:
    """One connection, an application that answers when it is let, and a clock that stands still until it is moved."""

    def __init__(self, group: asyncio.TaskGroup, *, app: ASGIApp | None = None) -> None:
        self.now = 100.0
        self.let = asyncio.Event()
        self.house: House[Connection] = House(HttpLimits(), lambda: None)
        self.wire = Wire()
        self._group = group
        self._running: list[asyncio.Task[None]] = []
        self.connection = Connection(
            Terms(
                app=app or self._app,
                limits=HttpLimits(),
                house=self.house,
                now=lambda: self.now,
                start=self._start,
                head_s=HEAD_S,
                body_s=BODY_S,
                request_s=REQUEST_S,
                idle_s=IDLE_S,
                linger_s=LINGER_S,
            )
        )
        self.connection.connection_made(self.wire)

    def _start(self, running: Coroutine[object, object, None]) -> asyncio.Task[None]:
        begun = self._group.create_task(running)
        self._running.append(begun)
        return begun

    async def _app(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.let.wait()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    def receive(self, piece: bytes, *, after_s: float = 0.0) -> None:
        self.now += after_s
        self.connection.data_received(piece)

    async def answered(self) -> None:
        self.let.set()
        await asyncio.gather(*self._running, return_exceptions=True)
        await asyncio.sleep(0)

    @property
    def left_s(self) -> float:
        return self.connection.deadline - self.now


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - of a connection's own state, which rings no bell
            await asyncio.sleep(0)


async def test_the_head_has_its_time_from_the_connection_on() -> None:
    async with asyncio.TaskGroup() as group:
        scene = Scene(group)
        assert scene.left_s == HEAD_S

        scene.receive(HEAD[:10], after_s=3)
        scene.receive(HEAD[10:20], after_s=1)

        assert scene.left_s == HEAD_S - 4


async def test_the_body_has_its_time_from_the_end_of_the_head_on() -> None:
    async with asyncio.TaskGroup() as group:
        scene = Scene(group)

        scene.receive(HEAD, after_s=4)
        assert scene.left_s == BODY_S
        scene.receive(b"a", after_s=9)

        assert scene.left_s == BODY_S - 9


async def test_the_body_has_no_more_time_than_the_whole_request_has_left() -> None:
    async with asyncio.TaskGroup() as group:
        scene = Scene(group)

        scene.receive(HEAD[:-1])
        scene.receive(HEAD[-1:], after_s=7)

        assert scene.left_s == REQUEST_S - 7


async def test_the_answer_has_what_the_whole_request_has_left() -> None:
    async with asyncio.TaskGroup() as group:
        scene = Scene(group)

        scene.receive(HEAD[:-1])
        scene.receive(HEAD[-1:] + b"abc", after_s=4)

        assert scene.left_s == REQUEST_S - 4
        await scene.answered()


async def test_between_two_requests_a_connection_may_be_idle_and_each_request_has_its_time_anew() -> None:
    async with asyncio.TaskGroup() as group:
        scene = Scene(group)
        scene.receive(HEAD + b"abc", after_s=4)
        scene.now += 1

        await scene.answered()

        assert scene.left_s == IDLE_S
        scene.receive(HEAD[:5], after_s=60)
        assert scene.left_s == HEAD_S
        scene.receive(HEAD[5:] + b"abc", after_s=2)
        assert scene.left_s == REQUEST_S - 2
        await scene.answered()


async def test_a_request_that_came_half_while_we_answered_has_its_time_from_when_we_read_on() -> None:
    async with asyncio.TaskGroup() as group:
        scene = Scene(group)
        scene.receive(HEAD + b"abc")
        scene.receive(HEAD[:5], after_s=12)
        assert (scene.wire.paused, scene.left_s) == (True, REQUEST_S - 12)

        await scene.answered()

        assert (scene.wire.paused, scene.left_s) == (False, HEAD_S)


async def test_a_pipelined_request_has_its_time_from_when_its_turn_comes() -> None:
    async with asyncio.TaskGroup() as group:
        scene = Scene(group)
        scene.receive((HEAD + b"abc") * 2)
        scene.now += 10
        scene.let.set()
        await until(lambda: scene.left_s == REQUEST_S)

        assert scene.wire.written.count(b"HTTP/1.1 200") == 1
        await scene.answered()


async def test_what_is_overdue_is_told_then_reset() -> None:
    async with asyncio.TaskGroup() as group:
        scene = Scene(group)
        scene.receive(HEAD[:5])

        scene.now += HEAD_S
        scene.connection.overdue(scene.now)
        assert b" 408 " in scene.wire.written
        assert (scene.wire.ended, scene.wire.aborted) == (True, False)
        assert scene.left_s == LINGER_S

        scene.now += LINGER_S
        scene.connection.overdue(scene.now)
        assert scene.wire.aborted


async def test_a_gone_peer_counts_at_the_house_until_its_exchange_has_ended() -> None:
    async with asyncio.TaskGroup() as group:
        scene = Scene(group)
        scene.receive(HEAD + b"abc")
        await asyncio.sleep(0)

        scene.connection.connection_lost(None)
        assert len(scene.house) == 1
        await scene.answered()

        assert len(scene.house) == 0
        assert scene.wire.written == b""


class Stream:
    """An application that streams until it is told that nobody reads."""

    def __init__(self) -> None:
        self.has_begun = asyncio.Event()
        self.pieces = 0
        self.told: OSError | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        try:
            while True:
                self.has_begun.set()
                await send({"type": "http.response.body", "body": b"x", "more_body": True})
                self.pieces += 1
        except OSError as error:
            self.told = error
            raise


async def test_a_stream_that_waits_for_its_reader_goes_on_when_it_reads() -> None:
    stream = Stream()
    async with asyncio.TaskGroup() as group:
        scene = Scene(group, app=stream)
        scene.connection.pause_writing()
        scene.receive(HEAD + b"abc")
        await stream.has_begun.wait()
        for _ in range(10):
            await asyncio.sleep(0)
        assert stream.pieces == 0

        scene.connection.resume_writing()
        await until(lambda: stream.pieces > 3)
        scene.connection.connection_lost(None)


async def test_a_stream_that_waits_for_its_reader_ends_when_it_is_gone() -> None:
    stream = Stream()
    async with asyncio.TaskGroup() as group:
        scene = Scene(group, app=stream)
        scene.connection.pause_writing()
        scene.receive(HEAD + b"abc")
        await stream.has_begun.wait()

        scene.connection.connection_lost(ConnectionResetError())
        await until(lambda: stream.told is not None)


async def test_a_stream_ends_as_soon_as_the_transport_knows() -> None:
    stream = Stream()
    async with asyncio.TaskGroup() as group:
        scene = Scene(group, app=stream)
        scene.receive(HEAD + b"abc")
        await until(lambda: stream.pieces > 3)

        scene.wire.closed = True
        await until(lambda: stream.told is not None)


async def test_a_stream_whose_reader_keeps_up_starves_nobody() -> None:
    async def streaming(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(1000):
            await send({"type": "http.response.body", "body": b"x", "more_body": True})
        await send({"type": "http.response.body"})

    async with asyncio.TaskGroup() as group:
        scene = Scene(group, app=streaming)
        scene.receive(HEAD + b"abc")
        rounds = 0
        while not scene.wire.written.endswith(b"0\r\n\r\n"):
            await asyncio.sleep(0)
            rounds += 1

    assert rounds >= 1000


async def test_a_stuck_exchange_of_a_gone_peer_is_cancelled_at_its_deadline() -> None:
    async with asyncio.TaskGroup() as group:
        scene = Scene(group)
        scene.receive(HEAD + b"abc")
        await asyncio.sleep(0)
        scene.connection.connection_lost(None)

        scene.connection.overdue(scene.connection.deadline)
        await until(lambda: not len(scene.house))


async def test_one_connection_in_trouble_does_not_end_the_sweep_of_the_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Mortal:
        def __init__(self, *, is_broken: bool) -> None:
            self.deadline = 0.0
            self._is_broken = is_broken
            self.seen = asyncio.Event()

        def overdue(self, now: float) -> None:
            self.deadline = now + 1000
            self.seen.set()
            if self._is_broken:
                raise LookupError("on purpose")

    broken, sound = Mortal(is_broken=True), Mortal(is_broken=False)
    sweep = Sweep(0.001, lambda: [broken, sound])

    sweep.start()
    await asyncio.wait_for(sound.seen.wait(), 20)
    sweep.stop()

    assert broken.seen.is_set()
