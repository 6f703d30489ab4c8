"""The control socket: whose it is, where it lies, and what becomes of callers who misbehave."""

import asyncio
import os
import socket
import stat
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from procession.app import control
from procession.app.control import NAME, ControlLine, ControlService, engine_runs
from procession.app.desk import Desk
from procession.core.errors import BadRequest, Misconfigured, OutcomeUnknown, ProcessionError
from tests.unit.app.scene import scene


@asynccontextmanager
async def _listening(folder: Path) -> AsyncIterator[Desk]:
    world, here = await scene()
    service = ControlService(here, folder, world.telemetry)
    async with asyncio.TaskGroup() as group:
        await service.start(group)
        try:
            yield Desk(line=ControlLine(folder))
        finally:
            await service.stop()


async def test_a_question_is_answered_over_the_socket(tmp_path: Path) -> None:
    async with _listening(tmp_path) as desk:
        assert engine_runs(tmp_path)
        assert (await desk.counts()).accepted == 0

    assert not engine_runs(tmp_path)
    assert not (tmp_path / NAME).exists()


async def test_a_question_that_the_engine_fails_at_does_not_end_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> bytes:
        raise OverflowError("Python int too large to convert to SQLite INTEGER")

    async with _listening(tmp_path) as desk:
        with monkeypatch.context() as patched:
            patched.setattr(control, "answer", broken)
            with pytest.raises(ProcessionError, match="OverflowError"):
                await desk.counts()

        assert (await desk.counts()).accepted == 0


async def test_the_socket_is_its_owners_only(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        async with _listening(tmp_path):
            mode = stat.S_IMODE((tmp_path / NAME).stat().st_mode)
    finally:
        os.umask(before)

    assert mode == 0o600


async def test_a_folder_may_lie_deeper_than_a_sockets_name_can_be_long(tmp_path: Path) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    deep.mkdir(parents=True)

    async with _listening(deep) as desk:
        assert (await desk.counts()).accepted == 0
        assert (deep / NAME).is_socket()


async def test_a_socket_that_a_crash_left_behind_is_replaced(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(tmp_path / NAME))
    assert not engine_runs(tmp_path)

    async with _listening(tmp_path) as desk:
        assert (await desk.counts()).accepted == 0


async def test_a_second_engine_on_the_folder_is_refused(tmp_path: Path) -> None:
    async with _listening(tmp_path) as desk:
        with pytest.raises(BaseExceptionGroup) as caught:
            async with _listening(tmp_path):
                pass

        assert caught.group_contains(Misconfigured, match="already")
        assert (await desk.counts()).accepted == 0


async def test_another_users_question_is_not_heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "_is_ours", lambda _: False)

    async with _listening(tmp_path) as desk:
        with pytest.raises(OutcomeUnknown, match="did not answer"):
            await desk.counts()


def test_the_kernel_says_who_the_peer_is(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert control.is_ours(ours)
        monkeypatch.setattr(os, "getuid", lambda: 12345)

        assert control.is_ours(ours) == (os.geteuid() == 0)


@pytest.mark.parametrize("rude", [b"", b"\x00\x00", struct.pack("!I", 2**31), struct.pack("!I", 5) + b"{}"])
async def test_a_caller_who_goes_away_or_says_too_much_harms_nobody(tmp_path: Path, rude: bytes) -> None:
    async with _listening(tmp_path) as desk:
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / NAME))
        writer.write(rude)
        writer.write_eof()

        assert await reader.read() == b""
        writer.close()
        assert (await desk.counts()).accepted == 0


async def test_a_caller_who_says_nothing_does_not_keep_the_engine_from_stopping(tmp_path: Path) -> None:
    async with _listening(tmp_path):
        _, writer = await asyncio.open_unix_connection(str(tmp_path / NAME))

    writer.close()
    assert not (tmp_path / NAME).exists()


async def test_an_answer_that_is_too_large_is_refused_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with _listening(tmp_path) as desk:
        monkeypatch.setattr(control, "FRAME_BYTES_MAX", 100)

        with pytest.raises(BadRequest, match="too large"):
            await desk.counts()


async def test_where_nobody_listens_a_line_says_so(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="cannot be reached"):
        await Desk(line=ControlLine(tmp_path)).counts()
