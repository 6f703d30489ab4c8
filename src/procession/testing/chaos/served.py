"""A child process under test: started, watched for health, paused, killed and started again on the same folder."""

import asyncio
import os
import signal
import socket
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Final, Self

from procession.ports.clock import Clock
from procession.runtime.crashpoint import NAMES, last_words
from procession.testing.chaos.caller import Caller, NotSent, Unclear

_POLL: Final = timedelta(milliseconds=10)
_HEALTH_PATIENCE: Final = timedelta(seconds=1)
_SHOWN_MAX: Final = 2000


class NotHealthy(Exception):
    """The process ended, or did not become healthy in time; the text shows the end of its standard error."""


def free_port() -> int:
    """A loopback port that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


class Served:
    """One process at a time, in a process group of its own, with its output in files that grow over the restarts."""

    def __init__(
        self,
        *,
        argv: Sequence[str],
        folder: Path,
        port: int,
        clock: Clock,
        environ: Mapping[str, str] | None = None,
        output: Path | None = None,
        health: str = "/health",
    ) -> None:
        self.port = port
        self.folder = folder
        self.stdout = (output or folder) / "served.out"
        self.stderr = (output or folder) / "served.err"
        self.starts = 0
        self._argv = tuple(argv)
        self._environ = dict(os.environ if environ is None else environ)
        self._clock = clock
        self._health = health
        self._process: asyncio.subprocess.Process | None = None
        self._err_from = 0

    @property
    def pid(self) -> int:
        return self._started.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def exit_status(self) -> int | None:
        """Of the last process: negative for a signal, None while it runs."""
        return self._started.returncode

    @property
    def died_at(self) -> str | None:
        """The crash point at which the last process died, if it was one."""
        said = self._said()
        return next((name for name in sorted(NAMES) if last_words(name) in said), None)

    async def start(self, extra: Mapping[str, str] | None = None) -> None:
        """Starts it anew; `extra` is added to the environment of this one start."""
        if self.is_running:
            raise RuntimeError("It runs already: kill() or terminate() it first.")
        self.starts += 1
        self._err_from = self.stderr.stat().st_size if self.stderr.exists() else 0
        with self.stdout.open("ab") as out, self.stderr.open("ab") as err:
            self._process = await asyncio.create_subprocess_exec(
                *self._argv,
                cwd=self.folder,
                env={**self._environ, **(extra or {})},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )

    async def wait_until_healthy(self, within: timedelta) -> timedelta:
        """Polls until `GET /health` answers 200; answers how long that took."""
        begun = self._clock.monotonic()
        try:
            async with asyncio.timeout(within.total_seconds()):
                while not await self._is_healthy():
                    if await self._ends_within(_POLL):
                        raise NotHealthy(
                            f"It ended with {self.exit_status} before it was healthy.\n{self._said()[-_SHOWN_MAX:]}"
                        )
        except TimeoutError:
            raise NotHealthy(f"It was not healthy within {within}.\n{self._said()[-_SHOWN_MAX:]}") from None
        return timedelta(seconds=self._clock.monotonic() - begun)

    def pause(self) -> None:
        """SIGSTOP to the whole group: its clock goes on, it does not."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    async def kill(self) -> None:
        """SIGKILL to the whole group, and waits for the end; nothing happens to one that has ended."""
        self._signal(signal.SIGKILL)
        await self.wait()

    async def terminate(self, within: timedelta) -> int:
        """SIGTERM, and waits for the end, which it answers; TimeoutError when it does not come."""
        self._signal(signal.SIGTERM)
        async with asyncio.timeout(within.total_seconds()):
            return await self.wait()

    async def wait(self) -> int:
        return await self._started.wait()

    async def restart(self, within: timedelta, extra: Mapping[str, str] | None = None) -> timedelta:
        """Kills what still runs, starts anew on the same folder, and waits for health."""
        if self.is_running:
            await self.kill()
        await self.start(extra)
        return await self.wait_until_healthy(within)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.is_running:
            await self.kill()

    @property
    def _started(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError("It was never started.")
        return self._process

    def _signal(self, number: signal.Signals) -> None:
        if self.is_running:
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                return  # it ended by itself, and we have not yet heard of it

    async def _is_healthy(self) -> bool:
        async with Caller(host="127.0.0.1", port=self.port, patience=_HEALTH_PATIENCE) as caller:
            try:
                return (await caller.get(self._health)).status == 200
            except (NotSent, Unclear):
                return False

    async def _ends_within(self, duration: timedelta) -> bool:
        try:
            async with asyncio.timeout(duration.total_seconds()):
                await self.wait()
        except TimeoutError:
            return False
        return True

    def _said(self) -> str:
        """What this start has written to its standard error."""
        with self.stderr.open("rb") as err:
            err.seek(self._err_from)
            return err.read().decode(errors="replace")
