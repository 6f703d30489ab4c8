"""A master key that somebody else's program has: it wraps, what it wrapped is bound, and little is kept."""

import base64
import os
import sys
from datetime import timedelta
from hashlib import sha256
from pathlib import Path

import pytest

from procession.app.key_program import key_program
from procession.core.errors import Misconfigured
from procession.core.limits import OPEN_KEY_TTL, OPEN_KEYS_MAX
from procession.testing.stand_ins import ManualClock
from procession.vault import CommandKey, GivenMasters, WrongKey
from tests.unit.vault.strongbox import ACME, BOLT, TOKEN, Strongbox, master

PLACE = ("data key", "acme", "1")


class Keeper:
    """A program that keeps what it is given, and answers a receipt for it."""

    def __init__(self) -> None:
        self.kept: dict[bytes, bytes] = {}
        self.asked: list[str] = []
        self.answer: bytes | None = None

    async def __call__(self, verb: str, plain: bytes) -> bytes:
        self.asked.append(verb)
        if self.answer is not None:
            return self.answer
        given = base64.b64decode(plain)
        if verb == "wrap":
            self.kept[sha256(given).digest()] = given
            return base64.b64encode(sha256(given).digest()) + b"\n"
        if given not in self.kept:
            raise Misconfigured("refused")
        return base64.b64encode(self.kept[given])


async def test_a_program_wraps_and_the_master_key_is_never_here() -> None:
    box, keeper = Strongbox(), Keeper()
    vault = box.vault(GivenMasters(CommandKey(keeper, ManualClock())))

    await vault.seal(ACME, TOKEN, b"the plain token", "tester")

    assert await box.vault(GivenMasters(CommandKey(keeper, ManualClock()))).open(ACME, TOKEN) == b"the plain token"
    assert not any(key in box.tables.sealing_keys[ACME, 1].box for key in keeper.kept.values())


async def test_a_key_that_was_wrapped_for_another_tenant_does_not_unwrap() -> None:
    key = CommandKey(Keeper(), ManualClock())
    box = await key.wrap(b"k" * 32, PLACE)

    assert await key.unwrap(box, PLACE) == b"k" * 32
    for elsewhere in (("data key", "bolt", "1"), ("data key", "acme", "2")):
        with pytest.raises(WrongKey, match="belongs to another tenant"):
            await key.unwrap(box, elsewhere)


async def test_what_was_unwrapped_is_kept_for_a_while_and_no_longer() -> None:
    clock, keeper = ManualClock(), Keeper()
    key = CommandKey(keeper, clock)
    box = await key.wrap(b"k" * 32, PLACE)
    keeper.asked.clear()

    for _ in range(3):
        assert await key.unwrap(box, PLACE) == b"k" * 32
    assert keeper.asked == ["unwrap"]

    clock.move(OPEN_KEY_TTL + timedelta(seconds=1))
    keeper.kept.clear()
    with pytest.raises(Misconfigured, match="refused"):
        await key.unwrap(box, PLACE)


async def test_only_so_many_keys_are_kept() -> None:
    key = CommandKey(Keeper(), ManualClock())
    for number in range(OPEN_KEYS_MAX + 10):
        place = ("data key", str(number), "1")
        await key.unwrap(await key.wrap(b"k" * 32, place), place)

    assert len(key._kept) == OPEN_KEYS_MAX
    assert "kkk" not in repr(key._kept)


@pytest.mark.parametrize("answer", [b"", b"not base64 !", b"\n"])
async def test_a_program_that_answers_nothing_of_use_is_named_and_not_quoted(answer: bytes) -> None:
    keeper = Keeper()
    keeper.answer = answer

    with pytest.raises(Misconfigured, match="one line of base64") as raised:
        await CommandKey(keeper, ManualClock()).wrap(b"k" * 32, PLACE)

    assert "not base64" not in str(raised.value)


async def test_a_program_that_does_not_wrap_is_refused() -> None:
    async def echo(verb: str, plain: bytes) -> bytes:
        del verb
        return plain

    with pytest.raises(Misconfigured, match="does not wrap"):
        await CommandKey(echo, ManualClock()).wrap(b"k" * 32, PLACE)


async def test_a_key_moves_from_a_master_key_to_a_program_and_back() -> None:
    box, keeper = Strongbox(), Keeper()
    program = CommandKey(keeper, ManualClock())
    for tenant in (ACME, BOLT):
        await box.vault().seal(tenant, TOKEN, b"plain", "tester")

    assert (await box.vault(GivenMasters(program, master(b"m"))).rotate_master("anna")).keys == 2
    assert await box.vault(GivenMasters(program)).open(ACME, TOKEN) == b"plain"
    assert (await box.vault(GivenMasters(master(b"n"), program)).rotate_master("anna")).keys == 2

    assert await box.vault(GivenMasters(master(b"n"))).open(BOLT, TOKEN) == b"plain"


# --- the program itself ---

PROGRAM = """
import base64, os, sys
assert "PROCESSION_MASTER_KEY" not in os.environ
given = base64.b64decode(sys.stdin.buffer.read())
print(base64.b64encode(bytes(byte ^ 0x55 for byte in given)).decode())
"""


def program(folder: Path, text: str) -> str:
    (folder / "a key program.py").write_text(text)
    return f'{sys.executable} "{folder / "a key program.py"}"'


async def test_a_real_program_gets_one_line_and_answers_one(tmp_path: Path) -> None:
    environment = {**os.environ, "PROCESSION_MASTER_KEY": "not for others"}
    key = CommandKey(key_program(program(tmp_path, PROGRAM), environment), ManualClock())

    box = await key.wrap(b"k" * 32, PLACE)

    assert await key.unwrap(box, PLACE) == b"k" * 32
    assert b"kkk" not in box


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("/nowhere/at-all", "cannot be run"),
        ("false", "failed with status 1"),
        ("", "names no program"),
        ('"open', "cannot be read"),
    ],
)
async def test_a_program_that_fails_is_told_in_words(command: str, says: str) -> None:
    with pytest.raises(Misconfigured, match=says):
        await key_program(command, os.environ)("wrap", b"")
