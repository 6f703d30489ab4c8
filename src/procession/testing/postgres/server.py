"""A server of one's own: made in a folder, started, stopped, killed, started again, and thrown away.

It keeps every setting that the store insists on (`fsync` above all), so what is shown on it holds elsewhere. A folder
in memory makes syncs cheap without making them untrue: nobody's power is cut.

Postgres refuses to run as root. Where we are root (a container, a CI machine) it runs as `nobody`, and a copy of its
programs is made for it if that user cannot reach them where they are.
"""

import os
import pwd
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final
from urllib.parse import quote

from procession.testing.postgres.programs import PostgresUnavailable, Programs, programs

START_SECONDS_MAX: Final = 60.0
STOP_SECONDS_MAX: Final = 60.0
_LOOK_EVERY: Final = 0.01
_USER: Final = "nobody"
_OWNER: Final = "procession"
_DATABASE: Final = "procession"

_SETTINGS: Final = {
    # What the store insists on, said in so many words, since this is what tests mean to show.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # Small: several of these may run beside one another, and beside what they are there for.
    "shared_buffers": "64MB",
    "max_connections": "80",
    "max_wal_size": "256MB",
    # A deadlock is an error of ours: found soon, and written down.
    "deadlock_timeout": "200ms",
    "log_lock_waits": "on",
    "log_line_prefix": "'%m [%p] '",
    "unix_socket_permissions": "0777",
    "wal_level": "replica",
    "max_wal_senders": "4",
}


class ThrowawayServer:
    """One cluster in one folder, which is empty and which its user can reach: `thrown_away` finds one.

    It is a child of the thread that starts it, and ends with that.
    """

    def __init__(self, folder: Path, *, version: int | None = None, settings: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.programs: Programs = programs(version)
        self.port = _free_port()
        self._password = secrets.token_hex(16)
        self._settings = _SETTINGS | (settings or {})
        self._user = _user() if os.geteuid() == 0 else None
        self._process: subprocess.Popen[bytes] | None = None

    # --- where it is ---

    @property
    def cluster(self) -> Path:
        return self.folder / "data"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def url(self) -> str:
        """By its socket, which is quicker."""
        return self.url_of(_DATABASE)

    def url_of(self, database: str) -> str:
        return f"postgresql://{_OWNER}@/{database}?host={quote(str(self.folder), safe='')}&port={self.port}"

    @property
    def tcp_url(self) -> str:
        """By loopback, where something may stand in between."""
        return f"postgresql://{_OWNER}:{self._password}@127.0.0.1:{self.port}/{_DATABASE}"

    @property
    def pid(self) -> int:
        assert self._process is not None, "it has not been started"
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def logged(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""

    # --- its life ---

    def make(self) -> None:
        """Raises PostgresUnavailable."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._user is not None:
            os.chown(self.folder, self._user.pw_uid, self._user.pw_gid)
            self.programs = reachable(self.programs, self.folder)
        secret = self.folder / "password"
        secret.write_text(self._password, encoding="ascii")
        secret.chmod(0o644)  # the folder is nobody else's
        self._run(
            "initdb", "--pgdata", str(self.cluster), "--username", _OWNER, "--pwfile", str(secret),
            "--auth-local", "trust", "--auth-host", "scram-sha-256", "--encoding", "UTF8", "--locale", "C",
            "--no-instructions",
        )  # fmt: skip
        secret.unlink()
        lines = [f"{name} = {value}\n" for name, value in self._settings.items()]
        with (self.cluster / "postgresql.conf").open("a", encoding="utf-8") as conf:
            conf.writelines(lines)

    def start(self) -> None:
        """Answers when it takes connections. One that was killed recovers first."""
        assert not self.runs, "it runs already"
        until = time.monotonic() + START_SECONDS_MAX
        while not self._start_once(until):
            if time.monotonic() > until:
                raise PostgresUnavailable(f"The server did not start. Its log ends with:\n{self.logged()[-2_000:]}")
        self._found_database()

    def stop(self, *, at_once: bool = False) -> None:
        """In order: clients are thrown out, and a checkpoint is made. At once: without one, so that the next start
        recovers. Idempotent.
        """
        if self._process is None:
            return
        if self.runs:
            self._process.send_signal(signal.SIGQUIT if at_once else signal.SIGINT)
        self._process.wait(STOP_SECONDS_MAX)
        self._process = None

    def kill(self) -> None:
        """The postmaster, with SIGKILL; its children notice, and end."""
        assert self._process is not None, "it has not been started"
        self._process.kill()
        self._process.wait(STOP_SECONDS_MAX)
        self._process = None

    def restart(self) -> None:
        self.stop()
        self.start()

    # --- how ---

    def _start_once(self, until: float) -> bool:
        """False: it ended before it was ready, as it does while children of a killed one are still there."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603  # a program that was looked for
                [
                    *self._as_user(), str(self.programs.path("postgres")), "-D", str(self.cluster),
                    "-k", str(self.folder), "-h", "127.0.0.1", "-p", str(self.port),
                ],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder,
            )  # fmt: skip
        while self._process.poll() is None and time.monotonic() < until:
            if self._is_ready():
                return True
            time.sleep(_LOOK_EVERY)
        return False

    def _is_ready(self) -> bool:
        """As it says of itself in the last line of its pid file, the first being whose it is."""
        try:
            lines = (self.cluster / "postmaster.pid").read_text(encoding="ascii").splitlines()
        except OSError:
            return False
        return len(lines) >= 8 and lines[0] == str(self.pid) and lines[7].strip() == "ready"

    def _found_database(self) -> None:
        """The first time."""
        mark = self.folder / "founded"
        if not mark.exists():
            where = ("--host", str(self.folder), "--port", str(self.port), "--username", _OWNER)
            self._run("createdb", *where, _DATABASE)
            mark.touch()

    def _run(self, program: str, *words: str) -> None:
        done = subprocess.run(  # noqa: S603  # a program that was looked for
            [*self._as_user(), str(self.programs.path(program)), *words],
            capture_output=True,
            text=True,
            timeout=START_SECONDS_MAX,
            cwd=self.folder,
            check=False,
        )
        if done.returncode != 0:
            raise PostgresUnavailable(f"{program} failed: {done.stderr.strip()}")

    def _as_user(self) -> list[str]:
        """Whoever is killed takes its server along: nothing of a test may outlive it."""
        tied = ["setpriv", "--pdeathsig", "QUIT"]
        if self._user is None:
            return tied
        return [*tied, f"--reuid={self._user.pw_uid}", f"--regid={self._user.pw_gid}", "--clear-groups"]


@contextmanager
def thrown_away(*, version: int | None = None, settings: dict[str, str] | None = None) -> Iterator[ThrowawayServer]:
    """A server that runs, in memory where that can be had; nothing of it is left afterwards."""
    memory = Path("/dev/shm")  # noqa: S108  # the folder in it is made with a name that nobody can guess
    with TemporaryDirectory(prefix="procession-", dir=memory if memory.is_dir() else None) as place:
        server = ThrowawayServer(Path(place), version=version, settings=settings)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop(at_once=True)


def reachable(found: Programs, folder: Path) -> Programs:
    """The programs where another user can run them: where they are, or a copy in the folder."""
    if all(place.stat().st_mode & 0o001 for place in (found.folder, *found.folder.parents)):
        return found
    copy = folder / "programs"
    with suppress(FileExistsError):
        shutil.copytree(found.root, copy, symlinks=True)
    return Programs(version=found.version, folder=copy / found.folder.name)


def _user() -> pwd.struct_passwd:
    return pwd.getpwnam(_USER)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
