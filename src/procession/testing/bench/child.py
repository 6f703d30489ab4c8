"""Processes of a measure: started, asked, and stopped by their own handle."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Self, cast

import msgspec

from procession.testing.bench.figures import Figures
from procession.testing.bench.ground import APPLICATION, PATIENCE_S, Ground
from procession.testing.bench.load import Order

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_STOP_S: Final = 60.0


class Child:
    """One that says in its first line, as JSON, which port it listens on."""

    def __init__(self, command: Sequence[str], *, folder: Path, environment: dict[str, str] | None = None) -> None:
        self._errors = (folder / "child.err").open("ab")
        self._process = subprocess.Popen(  # noqa: S603 - our own commands
            list(command), cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=self._errors, text=True
        )
        self._error_file = folder / "child.err"
        self.port = cast("int", self.line()["port"])

    @property
    def pid(self) -> int:
        return self._process.pid

    def line(self) -> dict[str, object]:
        """The next line that it prints."""
        assert self._process.stdout is not None
        readable, _, _ = select.select([self._process.stdout], [], [], PATIENCE_S)
        line = self._process.stdout.readline() if readable else ""
        if not line:
            self._process.kill()
            raise RuntimeError(f"a child did not come up: {self._error_file.read_text()[-2000:]}")
        return cast("dict[str, object]", json.loads(line))

    def stop(self) -> None:
        """Calmly; what cannot do so in time is killed."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    # --- what it costs ---

    def cpu_s(self) -> float:
        return cpu_s(self.pid)

    def rss_mb(self) -> float:
        return self._status("VmRSS:")

    def rss_peak_mb(self) -> float:
        return self._status("VmHWM:")

    def _status(self, field: str) -> float:
        text = Path(f"/proc/{self.pid}/status").read_text()
        line = next(line for line in text.splitlines() if line.startswith(field))
        return int(line.split()[1]) / 1024


def cpu_s(pid: int) -> float:
    """Seconds of processor time that a process has taken so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def engine(ground: Ground, *options: str, plays: bool = True) -> Child:
    """A real `procession serve` on the ground's store."""
    reach = ("--allow-private", "127.0.0.0/8", "--outbound-ports", "1-65535")
    application = (APPLICATION,) if plays else ("--only", "ingress,upkeep")
    command = ground.command("serve", *application, "--port", "0", "--json", *reach, *options)
    return Child(command, folder=ground.folder, environment=ground.environment)


def other(module: str, folder: Path, *arguments: str) -> Child:
    """A module of the bench, run as a process."""
    folder.mkdir(parents=True, exist_ok=True)
    return Child([sys.executable, "-m", f"procession.testing.bench.{module}", *arguments], folder=folder)


class Load:
    """A load under way."""

    def __init__(self, order: Order) -> None:
        command = [sys.executable, "-m", "procession.testing.bench.load", msgspec.json.encode(order).decode()]
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    @property
    def is_over(self) -> bool:
        return self._process.poll() is not None

    def answers(self) -> Figures:
        """Wait for its end."""
        out, said = self._process.communicate()
        if self._process.returncode:
            raise RuntimeError(f"the load failed: {said[-2000:]}")
        return cast("Figures", json.loads(out))


def loaded(order: Order) -> Figures:
    return Load(order).answers()


def nap() -> None:
    """Between two looks at something."""
    time.sleep(0.02)
