"""The shadow holds what was synced, wholly or not at all, and nothing else."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from procession.testing.powercut import (
    PowercutBlind,
    PowercutError,
    build_shim,
    counts_of,
    environment,
    restart_on,
    settle_shadow,
)
from procession.testing.powercut.build import COMPILERS

PAGE = 4096
HEAD = "import os, signal, mmap\ndef die(): os.kill(os.getpid(), signal.SIGKILL)\n"


# A compiler that is there but cannot build the shim is a failure, not a reason to look away.
pytestmark = pytest.mark.skipif(not any(map(shutil.which, COMPILERS)), reason="no C compiler")


@pytest.fixture
def disk(tmp_path: Path) -> "Disk":
    return Disk(tmp_path / "root", tmp_path / "shadow")


class Disk:
    """A root and its shadow, and small programs that run on them and kill themselves at the end."""

    def __init__(self, root: Path, shadow: Path) -> None:
        self.root, self.shadow = root, shadow

    def run(self, program: str, **extra: str) -> str:
        environ = {**os.environ, **environment(self.root, self.shadow), **extra}
        done = subprocess.run(
            [sys.executable, "-c", HEAD + program],
            cwd=self.root,
            env=environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, -9), done.stderr
        return done.stdout

    def run_unsettled(self, program: str, **extra: str) -> None:
        """As another process of the same program would go on, which no harness prepares anything for."""
        environ = {
            **os.environ,
            "LD_PRELOAD": str(build_shim()),
            "SH_ROOT": str(self.root),
            "SH_SHADOW": str(self.shadow),
        }
        subprocess.run([sys.executable, "-c", HEAD + program], cwd=self.root, env={**environ, **extra}, check=False)

    def read(self, name: str) -> bytes | None:
        file = self.root / name
        return file.read_bytes() if file.exists() else None


def test_what_was_synced_is_kept_and_what_came_after_is_not(disk: Disk) -> None:
    disk.run(
        "f = os.open('a', os.O_RDWR | os.O_CREAT)\n"
        "os.pwrite(f, b'1' * 10_000, 0); os.fsync(f)\n"
        "os.pwrite(f, b'2' * 10, 5_000); os.fdatasync(f)\n"
        "os.pwrite(f, b'3' * 10, 9_000); die()"
    )

    cut = restart_on(disk.shadow, disk.root)

    assert disk.read("a") == b"1" * 5000 + b"2" * 10 + b"1" * 4990
    assert cut.behind == ("a",)


def test_only_the_changed_pages_are_copied(disk: Disk) -> None:
    disk.run(
        "f = os.open('a', os.O_RDWR | os.O_CREAT)\n"
        f"os.pwrite(f, b'1' * {1000 * PAGE}, 0); os.fsync(f)\n"
        "for page in range(0, 1000, 100):\n"
        f"    os.pwrite(f, b'2', page * {PAGE}); os.fsync(f)\n"
        "die()"
    )

    counts = counts_of(disk.shadow)

    assert (counts.wholes, counts.pages, counts.syncs) == (1, 10, 11)
    restart_on(disk.shadow, disk.root)
    assert (disk.read("a") or b"")[:: 100 * PAGE] == b"2" * 10


def test_a_file_that_was_never_synced_is_gone(disk: Disk) -> None:
    disk.run("f = os.open('a', os.O_RDWR | os.O_CREAT); os.write(f, b'1'); die()")

    cut = restart_on(disk.shadow, disk.root)

    assert disk.read("a") is None
    assert cut.gone == ("a",)


def test_what_lay_there_before_the_first_start_is_on_the_disk(disk: Disk) -> None:
    (disk.root / "below").mkdir(parents=True)
    (disk.root / "below" / "old").write_bytes(b"old")

    disk.run("f = os.open('below/old', os.O_RDWR); os.pwrite(f, b'new', 0); die()")
    restart_on(disk.shadow, disk.root)

    assert disk.read("below/old") == b"old"


@pytest.mark.parametrize(
    "write",
    [
        "os.write(f, b'2' * 6000)",
        "os.pwrite(f, b'2' * 6000, 0)",
        "os.writev(f, [b'2' * 1000, b'2' * 5000])",
        "os.pwritev(f, [b'2' * 1000, b'2' * 5000], 0)",
        "os.pwritev(f, [b'2' * 6000], 0, os.RWF_DSYNC)",
        "os.ftruncate(f, 0); os.write(f, b'2' * 6000)",
        "os.truncate('a', 0); os.write(f, b'2' * 6000)",
        "g = os.open('a', os.O_WRONLY | os.O_TRUNC); os.write(g, b'2' * 6000)",
        "g = os.open('a', os.O_WRONLY | os.O_TRUNC); os.pwrite(g, b'2', 8_990)",
        "g = os.open('a', os.O_WRONLY | os.O_APPEND); os.ftruncate(f, 100); os.write(g, b'2' * 6000)",
        "open('a', 'wb').write(b'2' * 6000)",
        "g = os.open('b', os.O_RDWR | os.O_CREAT); os.write(g, b'2' * 6000); os.sendfile(f, g, 0, 6000)",
        "g = os.open('b', os.O_RDWR | os.O_CREAT); os.write(g, b'2' * 6000); os.copy_file_range(g, f, 6000, 0)",
        "os.posix_fallocate(f, 0, 90_000); os.pwrite(f, b'2' * 6000, 30_000)",
        "os.ftruncate(f, 100); os.ftruncate(f, 20_000)",
        "os.ftruncate(f, 20_000); m = mmap.mmap(f, 20_000); m[5_000:5_003] = b'222'",
        "os.ftruncate(f, 20_000); m = mmap.mmap(f, 20_000); os.fsync(f); m[5_000:5_003] = b'222'",
        "os.pwrite(f, b'2', 5_000_000)",
    ],
)
def test_every_way_of_writing_is_seen_by_the_next_sync(disk: Disk, write: str) -> None:
    disk.run(
        "f = os.open('a', os.O_RDWR | os.O_CREAT); os.pwrite(f, b'1' * 9000, 0); os.fsync(f)\n"
        f"{write}\n"
        "os.fsync(f); os.pwrite(f, b'3', 0); die()"
    )
    expected = b"3" + (disk.read("a") or b"")[1:]

    restart_on(disk.shadow, disk.root)

    kept = disk.read("a") or b""
    assert kept != expected, "the last write was not synced"
    assert kept[1:] == expected[1:]


def test_a_write_only_descriptor_is_seen(disk: Disk) -> None:
    disk.run("f = os.open('a', os.O_WRONLY | os.O_CREAT); os.write(f, b'1'); os.fsync(f); os.write(f, b'2'); die()")

    restart_on(disk.shadow, disk.root)

    assert disk.read("a") == b"1"


def test_a_synced_file_that_is_renamed_keeps_its_bytes(disk: Disk) -> None:
    disk.run(
        "os.mkdir('below'); f = os.open('a', os.O_RDWR | os.O_CREAT); os.write(f, b'1'); os.fsync(f)\n"
        "os.rename('a', 'below/b'); os.write(f, b'2'); os.fsync(f); os.write(f, b'3'); die()"
    )

    restart_on(disk.shadow, disk.root)

    assert (disk.read("a"), disk.read("below/b")) == (None, b"12")


def test_a_file_that_is_renamed_before_its_sync_is_empty(disk: Disk) -> None:
    disk.run(
        "f = os.open('a', os.O_RDWR | os.O_CREAT); os.write(f, b'old'); os.fsync(f)\n"
        "g = os.open('b', os.O_RDWR | os.O_CREAT); os.write(g, b'new'); os.rename('b', 'a'); die()"
    )

    restart_on(disk.shadow, disk.root)

    assert disk.read("a") == b""


def test_a_removed_file_does_not_come_back(disk: Disk) -> None:
    disk.run(
        "os.mkdir('d')\n"
        "for name in ('a', 'b', 'd/c'):\n"
        "    f = os.open(name, os.O_RDWR | os.O_CREAT); os.write(f, b'1'); os.fsync(f)\n"
        "os.unlink('a'); at = os.open('d', os.O_RDONLY); os.unlink('c', dir_fd=at); os.rmdir('d'); die()"
    )

    restart_on(disk.shadow, disk.root)

    assert [disk.read(name) for name in ("a", "b", "d/c")] == [None, b"1", None]


def test_a_file_made_anew_under_an_old_name_holds_nothing_of_the_old_one(disk: Disk) -> None:
    disk.run(
        "for text in (b'first' * 5000, b'second', b'third'):\n"
        "    f = os.open('a', os.O_RDWR | os.O_CREAT | os.O_EXCL); os.write(f, text); os.fsync(f)\n"
        "    if text != b'third': os.unlink('a')\n"
        "    os.close(f)\n"
        "die()"
    )

    restart_on(disk.shadow, disk.root)

    assert disk.read("a") == b"third"


def test_a_sync_does_not_drop_the_locks_of_the_process(disk: Disk) -> None:
    """Closing any descriptor of a file drops all of its POSIX locks, SQLite's among them: the shim must not."""
    out = disk.run(
        "import fcntl, subprocess, sys\n"
        "f = os.open('a', os.O_RDWR | os.O_CREAT); fcntl.lockf(f, fcntl.LOCK_EX); os.write(f, b'1')\n"
        "os.fsync(f); os.write(f, b'2'); os.fsync(f)\n"
        'other = \'import fcntl; fcntl.lockf(open("a", "r+"), fcntl.LOCK_EX | fcntl.LOCK_NB)\'\n'
        "print(subprocess.run([sys.executable, '-c', other], stderr=subprocess.DEVNULL).returncode)"
    )

    assert out.strip() == "1", "the other process must be refused"


def test_two_processes_share_what_they_wrote(disk: Disk) -> None:
    disk.run(
        "import sys\n"
        "f = os.open('a', os.O_RDWR | os.O_CREAT); os.write(f, b'1'); os.fsync(f)\n"
        "if (child := os.fork()) == 0: os.pwrite(os.open('a', os.O_RDWR), b'2', 1); die()\n"
        "os.waitpid(child, 0); os.fsync(f); os.pwrite(f, b'3', 0); die()"
    )

    restart_on(disk.shadow, disk.root)

    assert disk.read("a") == b"12"


def test_pages_that_were_not_synced_may_leak(disk: Disk) -> None:
    disk.run(
        f"f = os.open('a', os.O_RDWR | os.O_CREAT); os.pwrite(f, b'1' * {4 * PAGE}, 0); os.fsync(f)\n"
        f"os.pwrite(f, b'2' * {3 * PAGE}, 0); die()"
    )

    cut = restart_on(disk.shadow, disk.root, leak=lambda _name, page: page == 1)

    assert disk.read("a") == b"1" * PAGE + b"2" * PAGE + b"1" * (2 * PAGE)
    assert cut.leaked == 1


def test_a_shim_that_was_never_loaded_is_not_believed(disk: Disk) -> None:
    environment(disk.root, disk.shadow)

    with pytest.raises(PowercutBlind):
        restart_on(disk.shadow, disk.root)


def test_the_power_is_not_cut_under_a_living_process(disk: Disk) -> None:
    environ = {**os.environ, **environment(disk.root, disk.shadow)}
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"], env=environ, stdin=-1, stdout=-1
    ) as alive:
        assert alive.stdout is not None
        alive.stdout.readline()

        with pytest.raises(PowercutError, match="still writes"):
            restart_on(disk.shadow, disk.root)

        alive.kill()


def test_a_root_within_its_shadow_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PowercutError, match="apart"):
        environment(tmp_path / "shadow" / "root", tmp_path / "shadow")


GENERATIONS = (
    "f = os.open('a', os.O_RDWR | os.O_CREAT)\n"
    "for generation in range(1, 4):\n"
    f"    for page in range(0, 16, 2): os.pwrite(f, bytes([generation]) * {PAGE}, page * {PAGE})\n"
    f"    os.ftruncate(f, {PAGE} * (16 + generation)); os.fsync(f); print(generation, flush=True)\n"
    "die()"
)


def test_a_kill_at_any_write_of_a_sync_leaves_it_whole_or_out(disk: Disk) -> None:
    died_inside = settled = 0
    for at in range(1, 1000):
        disk = Disk(disk.root.with_name(f"root{at}"), disk.shadow.with_name(f"shadow{at}"))
        synced = [int(line) for line in disk.run(GENERATIONS, SH_DIE_AT=str(at)).split()]
        settled += settle_shadow(disk.shadow)

        restart_on(disk.shadow, disk.root)

        _assert_one_generation(disk.read("a"), last_synced=max(synced, default=0))
        if synced == [1, 2, 3]:
            break
        died_inside += 1
    assert died_inside > 40, (
        "the sweep must go through the writes of whole copies, of journals and of their application"
    )
    assert settled > 10, "some kills must fall into the application of a sync"


def test_a_killed_sync_is_taken_up_by_the_next_process(disk: Disk) -> None:
    """Without a power cut between them: the second process syncs a byte, and with it what the first had left."""
    for at in range(2, 60, 3):
        disk = Disk(disk.root.with_name(f"root{at}"), disk.shadow.with_name(f"shadow{at}"))
        disk.run(GENERATIONS, SH_DIE_AT=str(at))
        left = disk.read("a")
        disk.run("f = os.open('a', os.O_RDWR); os.fsync(f); die()")

        restart_on(disk.shadow, disk.root)

        assert disk.read("a") == left


def test_a_second_kill_while_the_first_is_being_made_good_tears_nothing(disk: Disk) -> None:
    applying = 58  # while the third generation is being applied
    for at in range(1, 60, 3):
        disk = Disk(disk.root.with_name(f"root{at}"), disk.shadow.with_name(f"shadow{at}"))
        disk.run(GENERATIONS, SH_DIE_AT=str(applying))
        (journal,) = disk.shadow.glob(".powercut/*.journal")
        assert journal.read_bytes()[:8] != bytes(8), "the first kill must fall into the application of a sync"
        again = f"f = os.open('a', os.O_RDWR); os.pwrite(f, b'9' * {PAGE}, {7 * PAGE}); os.fsync(f)"
        disk.run_unsettled(again, SH_DIE_AT=str(at))

        restart_on(disk.shadow, disk.root)

        _assert_one_generation(disk.read("a"))


def _assert_one_generation(kept: bytes | None, last_synced: int | None = None) -> None:
    if kept is None:
        assert not last_synced
        return
    found = {kept[page * PAGE] for page in range(0, 16, 2)} | {kept[page * PAGE + PAGE - 1] for page in range(0, 16, 2)}
    assert len(found) == 1, f"torn: generations {sorted(found)}"
    (generation,) = found
    assert last_synced is None or generation in (last_synced, last_synced + 1)
    assert len(kept) == PAGE * (16 + generation)
