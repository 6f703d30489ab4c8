"""The control socket: how commands reach the engine that owns the store.

A Unix socket of mode 0600 in the data folder. One connection carries one question and one reply, each a frame: four
bytes of length, then JSON (see `verbs`). Who may ask is decided by the kernel, not by what is said: the peer's user
must be ours, or root.

A socket's path may have 107 bytes at most, and a data folder may lie deeper. So neither side names it by its path: the
folder is opened, and the socket named through the open folder, /proc/self/fd/N/control.sock, which is always short.
"""

import asyncio
import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from procession.app.desk import Desk
from procession.app.verbs import answer, refusal
from procession.core.errors import BadRequest, Misconfigured, OutcomeUnknown, ProcessionError
from procession.ports.telemetry import Telemetry
from procession.runtime.service import Service

NAME: Final = "control.sock"
FRAME_BYTES_MAX: Final = 32 * 1024 * 1024
"""Of a question or a reply: a page of lists, or one quarantined body."""
CALLERS_MAX: Final = 64
"""Connected at once: operators and their scripts, not traffic."""
QUESTION_WAIT: Final = timedelta(seconds=10)
"""Until a caller's question is there, whole."""
ANSWER_WAIT: Final = timedelta(seconds=60)
"""How long a command waits for its reply."""
_CREDENTIALS: Final = struct.Struct("3i")
_LENGTH: Final = struct.Struct("!I")


class ControlService(Service):
    """The engine's end."""

    def __init__(self, desk: Desk, folder: Path, telemetry: Telemetry) -> None:
        super().__init__("control", drain_wait=timedelta(seconds=2))
        self._desk = desk
        self._folder = folder
        self._telemetry = telemetry
        self._server: asyncio.Server | None = None
        self._callers: set[asyncio.Task[None]] = set()

    async def body(self, group: asyncio.TaskGroup) -> None:
        def called(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            if len(self._callers) >= CALLERS_MAX or not _is_ours(writer):
                self._telemetry.warn("control.refused")
                writer.close()
                return
            caller = group.create_task(self._answer(reader, writer), name="control-caller")
            self._callers.add(caller)
            caller.add_done_callback(self._callers.discard)

        self._server = await asyncio.start_unix_server(called, sock=_listening(self._folder))

    async def drain(self, wait: timedelta) -> None:
        if self._server is not None:
            self._server.close()
        # Gone from the folder first: a command that comes now finds no engine, rather than one that does not answer.
        (self._folder / NAME).unlink(missing_ok=True)
        if self._callers:
            await asyncio.wait(self._callers, timeout=wait.total_seconds())

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError, TimeoutError):
            try:
                async with asyncio.timeout(QUESTION_WAIT.total_seconds()):
                    question = await _read_frame(reader)
                reply = await self._reply(question)
                if len(reply) > FRAME_BYTES_MAX:
                    reply = refusal(BadRequest("the answer is too large: ask for less, by --limit"))
                writer.write(_LENGTH.pack(len(reply)) + reply)
                await writer.drain()
            finally:
                writer.close()

    async def _reply(self, question: bytes) -> bytes:
        try:
            return await answer(self._desk, question)
        except Exception as bug:  # noqa: BLE001 - the edge of the engine: a question must not be able to end it
            self._telemetry.warn("control.failed", error=type(bug).__name__)
            return refusal(ProcessionError(f"the engine failed at it: {type(bug).__name__}"))


class ControlLine:
    """A command's end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def ask(self, question: bytes) -> bytes:
        with _named(self._folder) as name:
            try:
                reader, writer = await asyncio.open_unix_connection(name)
            except OSError as error:
                raise Misconfigured(f"the engine on {self._folder} cannot be reached: {error.strerror}") from None
        try:
            async with asyncio.timeout(ANSWER_WAIT.total_seconds()):
                writer.write(_LENGTH.pack(len(question)) + question)
                await writer.drain()
                return await _read_frame(reader)
        except (OSError, asyncio.IncompleteReadError, TimeoutError):
            raise OutcomeUnknown(
                f"the engine on {self._folder} did not answer: whether it has done it is not known; look, and ask again"
            ) from None
        finally:
            writer.close()


def engine_runs(folder: Path) -> bool:
    """Somebody listens on the folder's control socket."""
    if not (folder / NAME).exists():
        return False
    with _named(folder) as name, socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(name)
        except PermissionError:
            raise Misconfigured(
                f"the engine on {folder} runs as another user: run this command as that user, or as root"
            ) from None
        except OSError:
            # The file is what a crashed engine has left behind.
            return False
        return True


def _listening(folder: Path) -> socket.socket:
    """Nobody can connect before `listen`, so at no moment is the socket open to others."""
    if engine_runs(folder):
        raise Misconfigured(f"an engine runs on {folder} already: stop it first, or name another folder by --data")
    (folder / NAME).unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    try:
        with _named(folder) as name:
            listener.bind(name)
        (folder / NAME).chmod(0o600)
        listener.listen(CALLERS_MAX)
        listener.settimeout(0)
    except OSError as error:
        listener.close()
        raise Misconfigured(f"no control socket in {folder}: {error.strerror or error}") from None
    return listener


@contextmanager
def _named(folder: Path) -> Iterator[str]:
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{opened}/{NAME}"
    finally:
        os.close(opened)


def _is_ours(writer: asyncio.StreamWriter) -> bool:
    peer: socket.socket = writer.get_extra_info("socket")
    return is_ours(peer)


def is_ours(peer: socket.socket) -> bool:
    """As the kernel says: the user that opened the other end."""
    credentials = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    _, user, _ = _CREDENTIALS.unpack(credentials)
    return user in (os.getuid(), 0)


async def _read_frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = _LENGTH.unpack(await reader.readexactly(_LENGTH.size))
    if length > FRAME_BYTES_MAX:
        raise OSError("a frame that is too large")
    return await reader.readexactly(length)
