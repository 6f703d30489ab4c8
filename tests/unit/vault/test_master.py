"""Master keys: where they come from, which one wraps, and a file that fits the rows whatever stops the process."""

import base64
import os
from pathlib import Path

import pytest

from procession.app.system import SystemChance
from procession.core.errors import BadRequest, Misconfigured
from procession.ports.vault import Masters
from procession.vault import MasterKey, OwnMasters, masters_from
from tests.unit.vault.strongbox import master


def encoded(letter: bytes) -> str:
    return base64.b64encode(letter * 32).decode()


def found(path: Path, *, create: bool = False, **variables: str) -> Masters:
    environment = {f"PROCESSION_MASTER_{name}": value for name, value in variables.items()}
    return masters_from(environment, path, SystemChance(), create=create)


def keys_of(masters: Masters) -> list[bytes]:
    return [wrap.key for wrap in masters.wraps if isinstance(wrap, MasterKey)]


def test_the_master_key_of_the_embedded_default_is_made_once_for_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "data" / "master.key"

    made = found(path, create=True)

    assert path.stat().st_mode & 0o777 == 0o600
    assert keys_of(found(path, create=True)) == keys_of(made)
    assert [each.name for each in path.parent.iterdir()] == ["master.key"]
    assert base64.b64encode(keys_of(made)[0]).decode() not in repr(made.wraps)


def test_a_draft_that_a_dead_process_left_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / f"master.key.{os.getpid()}.new").write_text("half")

    assert len(keys_of(found(tmp_path / "master.key", create=True))) == 1


def test_a_master_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    found(path, create=True)
    path.chmod(0o640)

    with pytest.raises(Misconfigured, match="chmod 600"):
        found(path)


def test_a_master_key_that_is_gone_is_not_made_anew(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="put it back"):
        found(tmp_path / "master.key")

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", ["", "short", encoded(b"a") + "\nshort", "\xff\xfe"])
def test_what_is_no_key_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "master.key"
    path.write_bytes(text.encode("latin-1"))
    path.chmod(0o600)

    with pytest.raises(Misconfigured, match="32 random bytes in base64"):
        found(path)
    with pytest.raises(Misconfigured, match="32 random bytes in base64"):
        found(tmp_path / "other.key", KEY=text or "short")


def test_what_the_environment_holds_wraps_and_all_others_still_unwrap(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    path.write_text(encoded(b"f"))
    path.chmod(0o600)

    assert keys_of(found(path)) == [b"f" * 32]
    assert keys_of(found(path, KEY=encoded(b"n"))) == [b"n" * 32, b"f" * 32]
    assert keys_of(found(path, KEY=encoded(b"n"), KEY_OLD=encoded(b"o"))) == [b"n" * 32, b"o" * 32, b"f" * 32]
    assert keys_of(found(path, KEY_OLD=encoded(b"o"))) == [b"f" * 32, b"o" * 32]


def test_a_program_wraps_unless_the_environment_holds_a_key(tmp_path: Path) -> None:
    program, path = master(b"p"), tmp_path / "none"

    def first(**variables: str) -> object:
        environment = {f"PROCESSION_MASTER_{name}": value for name, value in variables.items()}
        return masters_from(environment, path, SystemChance(), command=program, create=False).wraps[0]

    assert first() is program
    assert first(KEY_OLD=encoded(b"o")) is program
    assert first(KEY=encoded(b"n")) is not program


def test_only_a_master_key_of_ours_is_replaced_by_us(tmp_path: Path) -> None:
    with pytest.raises(BadRequest, match="not ours to make"):
        found(tmp_path / "none", KEY=encoded(b"n")).renew()


def test_both_keys_are_in_the_file_before_the_new_one_wraps_and_until_the_old_one_is_done_with(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    masters = found(path, create=True)
    [old] = keys_of(masters)

    masters.renew()
    new, still = keys_of(masters)
    assert (still, new != old) == (old, True)
    assert keys_of(found(path)) == [new, old]
    assert path.stat().st_mode & 0o777 == 0o600

    masters.retire()
    assert keys_of(found(path)) == keys_of(masters) == [new]
    assert [each.name for each in tmp_path.iterdir()] == ["master.key"]


def test_a_file_that_cannot_be_written_changes_no_key() -> None:
    def full(_: object) -> None:
        raise OSError("no room")

    masters = OwnMasters((b"m" * 32,), full, SystemChance(), origin="test")

    with pytest.raises(OSError, match="no room"):
        masters.renew()

    assert keys_of(masters) == [b"m" * 32]


def test_a_replacement_is_durable_before_its_name_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "master.key"
    masters = found(path, create=True)
    before, said = path.read_text(), list[str]()
    sync = os.fsync

    def synced(descriptor: int) -> None:
        said.append("new" if path.read_text() != before else "old")
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", synced)
    masters.renew()

    # The draft while the old file still has the name, then the folder in which the new one has it.
    assert said == ["old", "new"]
