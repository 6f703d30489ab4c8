"""A served child is started, watched, paused, killed and started again."""

import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import psutil
import pytest

from procession.app.system import SystemClock
from procession.testing.chaos import Caller, NotHealthy, Served, Unclear, free_port

SOON = timedelta(seconds=30)

PROGRAM = """
import http.server, os, pathlib, signal, sys
starts = pathlib.Path("starts")
starts.write_text(starts.read_text() + "x" if starts.exists() else "x")
if os.environ.get("FAILS"):
    sys.exit("no luck today")
from procession.runtime.crashpoint import crashpoint
left = int(os.environ.get("UNREADY", "0"))
class Door(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        global left
        crashpoint("settle.after")
        left -= 1
        print(left, flush=True)
        self.send_response(503 if left >= 0 else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()
signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Door).serve_forever()
"""


@asynccontextmanager
async def served_in(folder: Path) -> AsyncIterator[Served]:
    port = free_port()
    argv = [sys.executable, "-c", PROGRAM, str(port)]
    async with Served(argv=argv, folder=folder, port=port, clock=SystemClock()) as served:
        yield served


async def test_it_is_started_and_becomes_healthy(tmp_path: Path) -> None:
    async with served_in(tmp_path) as served:
        await served.start()

        assert await served.wait_until_healthy(SOON) > timedelta(0)
        assert served.is_running

    assert served.exit_status == -signal.SIGKILL, "leaving the block stops it"


async def test_one_that_answers_503_is_not_yet_healthy(tmp_path: Path) -> None:
    async with served_in(tmp_path) as served:
        await served.start({"UNREADY": "3"})

        await served.wait_until_healthy(SOON)

        assert served.stdout.read_text().split() == ["2", "1", "0", "-1"]


async def test_a_kill_and_a_restart_go_on_in_the_same_folder(tmp_path: Path) -> None:
    async with served_in(tmp_path) as served:
        await served.restart(SOON)
        first = served.pid
        await served.restart(SOON)

        assert served.pid != first
        assert served.starts == 2
        assert (tmp_path / "starts").read_text() == "xx"


async def test_one_that_ends_at_once_says_why(tmp_path: Path) -> None:
    async with served_in(tmp_path) as served:
        await served.start({"FAILS": "1"})

        with pytest.raises(NotHealthy, match="no luck today"):
            await served.wait_until_healthy(SOON)


async def test_what_an_earlier_start_said_is_not_shown_again(tmp_path: Path) -> None:
    async with served_in(tmp_path) as served:
        await served.start({"FAILS": "1"})
        await served.wait()
        await served.start({"PROCESSION_CRASHPOINT": "settle.after:1"})

        with pytest.raises(NotHealthy) as failed:
            await served.wait_until_healthy(SOON)

        assert "no luck today" not in str(failed.value)


async def test_a_paused_one_does_not_answer_until_it_is_resumed(tmp_path: Path) -> None:
    async with served_in(tmp_path) as served:
        await served.restart(SOON)
        served.pause()
        async with Caller(host="127.0.0.1", port=served.port, patience=timedelta(seconds=0.2)) as caller:
            with pytest.raises(Unclear):
                await caller.get("/health")
        assert psutil.Process(served.pid).status() == psutil.STATUS_STOPPED

        served.resume()

        await served.wait_until_healthy(SOON)


async def test_a_paused_one_can_be_killed(tmp_path: Path) -> None:
    async with served_in(tmp_path) as served:
        await served.restart(SOON)
        served.pause()

        await served.kill()

        assert served.exit_status == -signal.SIGKILL


async def test_terminate_lets_it_end_by_itself(tmp_path: Path) -> None:
    async with served_in(tmp_path) as served:
        await served.restart(SOON)

        assert await served.terminate(SOON) == 7


async def test_the_crash_point_at_which_it_died_is_known(tmp_path: Path) -> None:
    async with served_in(tmp_path) as served:
        await served.start({"PROCESSION_CRASHPOINT": "settle.after:2"})
        await served.wait_until_healthy(SOON)
        before = served.died_at

        async with Caller(host="127.0.0.1", port=served.port) as caller:
            with pytest.raises(Unclear):
                await caller.get("/health")

        assert await served.wait() == -signal.SIGKILL
        assert (before, served.died_at) == (None, "settle.after")

        await served.restart(SOON)

        assert served.died_at is None


async def test_a_second_start_beside_the_first_is_refused(tmp_path: Path) -> None:
    async with served_in(tmp_path) as served:
        await served.start()

        with pytest.raises(RuntimeError, match="runs already"):
            await served.start()
